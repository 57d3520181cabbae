import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import {
  type ClaimEntry,
  createJournal,
  type Journal,
  type JournalFile,
  type SettlementEntry,
} from '../../../src/relay-admin/recharge/journal.ts';

import { UNKNOWN_REASONS } from '../../../src/relay-admin/relay/response.ts';
import { describe, rejection } from '../../check.ts';
import { createIds, createMemoryFile } from '../harness/world.ts';

const AT = Date.UTC(2026, 0, 1);

type Draft = Omit<ClaimEntry, 'kind' | 'by'>;
/** A claim whose token and key hashes end in the given numbers. */
const draft = (token: number, key: number, more: Partial<Draft> = {}): Draft => ({
  at: AT,
  token: `a${String(token).padStart(63, '0')}`,
  key: `b${String(key).padStart(63, '0')}`,
  marker: `rc_${String(key).padStart(16, '0')}`,
  userId: 7,
  amount: '12.5',
  balanceBefore: '10',
  ...more,
});
type Settled = Omit<SettlementEntry, 'kind'>;
const settlement = (by: string, more: Partial<Settled> = {}): Settled => ({
  at: AT,
  by,
  state: 'accepted_unverified',
  isAccepted: false,
  ...more,
});

/** Some processes on one file. */
const processes = (count: number) => {
  const file = createMemoryFile();
  const newId = createIds();
  const journals = Array.from({ length: count }, () => createJournal(file.open(), newId));
  const [first, second = first] = journals;
  if (first === undefined || second === undefined) throw new Error('No process');
  return { file, journals, first, second, another: () => createJournal(file.open(), newId) };
};

const assertUnavailable = async (promise: Promise<unknown>, why?: string): Promise<void> => {
  const error = await rejection(promise);
  assert.instance(error, RelayError);
  const { detail } = error as RelayError;
  assert.is(detail.kind, 'journal-unavailable');
  if (why !== undefined) assert.equal(detail, { kind: 'journal-unavailable', why });
};

describe('the seal of a journal', (check) => {
  check('is made at first use, and is the same ever after', async () => {
    const { file, first } = processes(1);
    assert.is(file.lines.length, 0);
    const seal = await first.tokenSecret();
    assert.ok(seal.length >= 64);
    assert.is(await first.tokenSecret(), seal);
    assert.is(file.lines.length, 1);
  });

  check('is the same for every process, also for those that make one at once', async () => {
    const { journals, another } = processes(5);
    const seals = await Promise.all(journals.map((journal) => journal.tokenSecret()));
    assert.is(new Set(seals).size, 1);
    assert.is(await another().tokenSecret(), seals[0]);
  });

  check('is not made anew by a process that begins later', async () => {
    const { file, first, another } = processes(1);
    const seal = await first.tokenSecret();
    assert.is(await another().tokenSecret(), seal);
    assert.is(file.lines.length, 1);
  });

  check('is the first one in the file, whatever comes behind it', async () => {
    const { file, first, another } = processes(1);
    const seal = await first.tokenSecret();
    file.lines.push(JSON.stringify({ kind: 'seal', secret: 'x'.repeat(72) }));
    assert.is(await first.tokenSecret(), seal);
    assert.is(await another().tokenSecret(), seal);
  });

  check('of another file is another', async () => {
    const newId = createIds();
    const [one, other] = [createMemoryFile(), createMemoryFile()].map((file) => createJournal(file.open(), newId));
    assert.is.not(await one?.tokenSecret(), await other?.tokenSecret());
  });

  check('that a crash cut short is no seal', async () => {
    const { file, first } = processes(1);
    file.lines.push('{"kind":"seal","secret":"short"}', '{"kind":"seal","secret":"0123456789012345678901234567890123');
    assert.ok((await first.tokenSecret()).length >= 64);
    assert.is(file.lines.length, 3);
  });
});

describe('a claim', (check) => {
  check('is on record with its token and its key from then on, here and everywhere', async () => {
    const { first, second } = processes(2);
    const { claim, isOwn } = await first.claim(draft(1, 1));
    assert.ok(isOwn);
    const { by, kind, ...reported } = claim;
    assert.equal(reported, draft(1, 1));
    assert.equal(first.findByToken(draft(1, 1).token), { claim, settlement: undefined });
    assert.equal(first.findByKey(draft(1, 1).key), { claim, settlement: undefined });
    assert.is(second.findByToken(draft(1, 1).token), undefined);
    await second.refresh();
    assert.equal(second.findByToken(draft(1, 1).token), { claim, settlement: undefined });
  });

  check('is in the file before it counts', async () => {
    const { file, first } = processes(1);
    const { claim } = await first.claim(draft(1, 1));
    assert.equal(JSON.parse(file.lines[0] ?? ''), claim);
  });

  const CLASHES: readonly (readonly [string, Draft])[] = [
    ['the same pair', draft(1, 1)],
    ['the token with another key', draft(1, 2)],
    ['the key with another token', draft(2, 1)],
  ];
  for (const [what, later] of CLASHES) {
    check(`is lost to an earlier one of ${what}, in this process and in another`, async () => {
      for (const count of [1, 2]) {
        const { first, second } = processes(count);
        const { claim } = await first.claim(draft(1, 1));
        assert.equal(await second.claim(later), { claim, isOwn: false });
        // The loser binds nothing.
        if (later.token !== claim.token) assert.is(second.findByToken(later.token), undefined);
        if (later.key !== claim.key) assert.is(second.findByKey(later.key), undefined);
      }
    });
  }

  check('for another pair is no one else’s', async () => {
    const { first, second } = processes(2);
    assert.ok((await first.claim(draft(1, 1))).isOwn);
    assert.ok((await second.claim(draft(2, 2))).isOwn);
    assert.ok((await first.claim(draft(3, 3))).isOwn);
  });

  check('may be made by any number at once, and one has it', async () => {
    const { journals, another } = processes(10);
    const claimed = await Promise.all(journals.map((journal) => journal.claim(draft(1, 1))));
    assert.is(claimed.filter(({ isOwn }) => isOwn).length, 1);
    assert.is(new Set(claimed.map(({ claim }) => claim.by)).size, 1);
    const late = another();
    await late.refresh();
    assert.is(late.findByToken(draft(1, 1).token)?.claim.by, claimed[0]?.claim.by);
  });

  check('that was lost frees the other half of its pair for a later one', async () => {
    const { first, second, another } = processes(2);
    await first.claim(draft(1, 1));
    assert.not((await second.claim(draft(2, 1))).isOwn);
    const late = await first.claim(draft(2, 2));
    assert.ok(late.isOwn);
    const fresh = another();
    await fresh.refresh();
    assert.equal(fresh.findByToken(draft(2, 2).token)?.claim, late.claim);
  });

  check('of whatever pairs in whatever order has one owner, and every process says the same one', async () => {
    const attempt = fc.record({ process: fc.nat(2), token: fc.nat(3), key: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(fc.array(attempt, { maxLength: 20 }), async (attempts) => {
        const { journals, another } = processes(3);
        const claimed = await Promise.all(
          attempts.map(({ process, token, key }) => journals[process]?.claim(draft(token, key))),
        );
        const owned = claimed.flatMap((one) => (one?.isOwn ? [one.claim] : []));
        assert.is(new Set(owned.map(({ token }) => token)).size, owned.length);
        assert.is(new Set(owned.map(({ key }) => key)).size, owned.length);
        for (const journal of [...journals, another()]) {
          await journal.refresh();
          for (const claim of owned) {
            assert.equal(journal.findByToken(claim.token)?.claim, claim);
            assert.equal(journal.findByKey(claim.key)?.claim, claim);
          }
          assert.is(journal.unresolvedOf(7).length, owned.length);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('a settlement', (check) => {
  type Part = Partial<Settled>;
  const DOUBT: Part = { state: 'accepted_unverified', isAccepted: false, doubt: 'no-answer' };
  const ACCEPTED: Part = { state: 'accepted_unverified', isAccepted: true };
  const VERIFIED: Part = { state: 'verified', isAccepted: true, result: { outcome: 'verified' } };
  const REFUSED: Part = { state: 'not_applied', isAccepted: false, status: 429, isProven: true };
  /** As releases before 2026-11 wrote it, which took the relay at its word. */
  const UNCHECKED: Part = { state: 'not_applied', isAccepted: false, status: 400 };
  /** As builds of 2026-11 wrote it, which had looked at the history but not always at the balance. */
  const HALF_CHECKED = { ...UNCHECKED, isHistoryRead: true };
  const UNSENT: Part = { state: 'not_applied', isAccepted: false, status: 0 };

  const after = async (...parts: readonly Part[]) => {
    const { first, another } = processes(1);
    const { claim } = await first.claim(draft(1, 1));
    for (const part of parts) await first.settle(settlement(claim.by, part));
    const late = another();
    await late.refresh();
    assert.equal(late.findByToken(claim.token), first.findByToken(claim.token));
    return { known: first.findByToken(claim.token)?.settlement, isOpen: first.unresolvedOf(7).length === 1 };
  };

  /** What was settled, in order; which of it counts, and whether that leaves the recharge unresolved. */
  const ORDERS: readonly (readonly [string, readonly Part[], Part | undefined, boolean])[] = [
    ['nothing', [], undefined, true],
    ['a doubt', [DOUBT], DOUBT, true],
    ['an acceptance', [ACCEPTED], ACCEPTED, true],
    ['a proof', [VERIFIED], VERIFIED, false],
    ['a refusal', [REFUSED], REFUSED, false],
    ['a doubt, then a proof', [DOUBT, VERIFIED], VERIFIED, false],
    ['a doubt, then a refusal', [DOUBT, REFUSED], REFUSED, false],
    ['a doubt, then an acceptance', [DOUBT, ACCEPTED], ACCEPTED, true],
    ['an acceptance, then a proof', [ACCEPTED, VERIFIED], VERIFIED, false],
    ['a proof, then a doubt', [VERIFIED, DOUBT], VERIFIED, false],
    ['a proof, then an acceptance', [VERIFIED, ACCEPTED], VERIFIED, false],
    ['a proof, then a refusal', [VERIFIED, REFUSED], VERIFIED, false],
    ['a refusal, then a doubt', [REFUSED, DOUBT], REFUSED, false],
    ['a refusal, then a proof', [REFUSED, VERIFIED], REFUSED, false],
    ['a refusal without proof', [UNCHECKED], { state: 'accepted_unverified', doubt: 'refused' }, true],
    ['a refusal with half a proof', [HALF_CHECKED], { state: 'accepted_unverified', doubt: 'refused' }, true],
    ['a refusal without proof, then with it', [UNCHECKED, REFUSED], REFUSED, false],
    ['a connection that was never made', [UNSENT], UNSENT, false],
  ];
  for (const [what, parts, expected, isOpen] of ORDERS) {
    check(`of ${what} is known for what weighs most, everywhere`, async () => {
      const { known, isOpen: open } = await after(...parts);
      if (expected === undefined) assert.is(known, undefined);
      else for (const [name, value] of Object.entries(expected)) assert.equal(known?.[name as keyof Settled], value);
      assert.is(open, isOpen);
    });
  }

  check('of a doubt after an acceptance takes nothing back', async () => {
    const { known, isOpen } = await after(ACCEPTED, DOUBT);
    assert.equal([known?.isAccepted, known?.doubt, isOpen], [true, 'no-answer', true]);
    assert.is((await after(ACCEPTED, DOUBT, DOUBT)).known?.isAccepted, true);
  });

  check('of another doubt is known for the later', async () => {
    const { known } = await after(DOUBT, { ...DOUBT, doubt: 'in-progress', at: AT + 1 });
    assert.equal([known?.doubt, known?.at], ['in-progress', AT + 1]);
  });

  check('is kept with every doubt there is', async () => {
    for (const doubt of UNKNOWN_REASONS) assert.is((await after({ doubt })).known?.doubt, doubt);
  });

  check('of a claim that lost says nothing about the one that counts', async () => {
    const { file, first, second } = processes(2);
    await first.claim(draft(1, 1));
    await second.claim(draft(1, 1));
    const loser = JSON.parse(file.lines[1] ?? '').by;
    await second.settle(settlement(loser, VERIFIED));
    assert.is(second.findByToken(draft(1, 1).token)?.settlement, undefined);
    assert.is(second.unresolvedOf(7).length, 1);
  });

  check('that came into the file before its claim counts all the same', async () => {
    const { file, first, another } = processes(1);
    const { claim } = await first.claim(draft(1, 1));
    await first.settle(settlement(claim.by, VERIFIED));
    file.lines.reverse();
    const late = another();
    await late.refresh();
    assert.is(late.findByToken(claim.token)?.settlement?.state, 'verified');
  });
});

describe('the recharges of a user that no one knows the outcome of', (check) => {
  check('are those of that user, the oldest first', async () => {
    const { first, second } = processes(2);
    const claims = [];
    for (const [index, userId] of [7, 8, 7, 7].entries())
      claims.push((await (index % 2 ? second : first).claim(draft(index, index, { userId }))).claim);
    await second.refresh();
    await first.refresh();
    await first.settle(settlement(claims[2]?.by ?? '', { state: 'not_applied', status: 0 }));
    await second.refresh();
    for (const journal of [first, second]) {
      assert.equal(
        journal.unresolvedOf(7).map(({ claim }) => claim),
        [claims[0], claims[3]],
      );
      assert.equal(
        journal.unresolvedOf(8).map(({ claim }) => claim),
        [claims[1]],
      );
      assert.equal(journal.unresolvedOf(9), []);
    }
  });
});

describe('a line', (check) => {
  const whole = JSON.stringify({ ...draft(1, 1), kind: 'claim', by: 'x' });
  const ALIEN = [
    '',
    ' ',
    '{',
    'null',
    '7',
    '[]',
    '"claim"',
    '{}',
    '{"kind":"claim"}',
    '{"kind":"other","at":1}',
    '{"kind":"__proto__"}',
    '\u0000\u0000\u0000\u0000',
    '<html>',
    whole.slice(0, -1),
    whole.slice(1),
    `${whole}${whole}`,
    whole.replace('"kind":"claim"', '"kind":"Claim"'),
    whole.replace(/"token":"a/, '"token":"A'),
    whole.replace(/"token":"a0/, '"token":"a'),
    whole.replace('"userId":7', '"userId":"7"'),
    whole.replace('"userId":7', '"userId":7.5'),
    whole.replace(`"at":${AT}`, '"at":"now"'),
    whole.replace(`"at":${AT}`, '"at":8640000000000001'),
    whole.replace(`"at":${AT}`, '"at":-1'),
    whole.replace('"amount":"12.5"', '"amount":12.5'),
  ];
  check('that is torn or of somebody else is passed over, and what follows is not', async () => {
    const { file, first } = processes(1);
    file.lines.push(...ALIEN);
    await first.refresh();
    assert.is(first.findByToken(draft(1, 1).token), undefined);
    assert.is(first.unresolvedOf(7).length, 0);
    file.lines.push(...ALIEN, whole, ...ALIEN);
    await first.refresh();
    assert.is(first.findByToken(draft(1, 1).token)?.claim.by, 'x');
  });

  check('with more in it than we know is read for what we know', async () => {
    const { file, first } = processes(1);
    file.lines.push(JSON.stringify({ ...JSON.parse(whole), future: { a: 1 } }));
    await first.refresh();
    assert.is(first.findByToken(draft(1, 1).token)?.claim.by, 'x');
  });

  check('never holds a line break, whatever is written', async () => {
    const { file, first } = processes(1);
    const marker = 'two\nlines\u2028\r';
    await first.claim(draft(1, 1, { marker }));
    await first.note({ tool: 'a\nb', subject: 1, change: { rpm_limit: 5 }, state: 'sent', at: AT });
    assert.ok(file.lines.every((line) => !/[\r\n]/.test(line)));
    assert.is(first.findByToken(draft(1, 1).token)?.claim.marker, marker);
  });
});

describe('a note', (check) => {
  check('is written down and decides nothing', async () => {
    const { file, first } = processes(1);
    await first.note({ tool: 'update_user_limits', subject: 7, change: { rpm_limit: 60 }, state: 'sent', at: AT });
    assert.equal(JSON.parse(file.lines[0] ?? ''), {
      kind: 'note',
      tool: 'update_user_limits',
      subject: 7,
      change: { rpm_limit: 60 },
      state: 'sent',
      at: AT,
    });
    assert.is(first.unresolvedOf(7).length, 0);
  });
});

describe('a journal', (check) => {
  check('does one thing at a time with its file, however much is asked at once', async () => {
    const real = createMemoryFile().open();
    let underWay = 0;
    const alone = async <T>(work: () => Promise<T>): Promise<T> => {
      underWay += 1;
      assert.is(underWay, 1);
      await new Promise((resolve) => setImmediate(resolve));
      const done = await work();
      underWay -= 1;
      return done;
    };
    const file: JournalFile = {
      append: (line) => alone(() => real.append(line)),
      readNew: () => alone(() => real.readNew()),
    };
    const journal = createJournal(file, createIds());
    const [, , claimed] = await Promise.all([
      journal.tokenSecret(),
      journal.refresh(),
      journal.claim(draft(1, 1)),
      journal.settle(settlement('x')),
      journal.note({ tool: 't', subject: 1, change: {}, state: 'sent', at: AT }),
      journal.claim(draft(2, 2)),
    ]);
    assert.ok(claimed.isOwn);
  });
});

describe('a journal whose file fails', (check) => {
  const canary = 'EACCES: /srv/canary';
  const failing = (what: 'append' | 'readNew'): JournalFile => ({
    ...createMemoryFile().open(),
    [what]: async () => {
      throw Object.assign(new Error(canary), { code: 'EACCES' });
    },
  });
  const VERBS: Readonly<Record<string, (journal: Journal) => Promise<unknown>>> = {
    refresh: (journal) => journal.refresh(),
    seal: (journal) => journal.tokenSecret(),
    claim: (journal) => journal.claim(draft(1, 1)),
    settle: (journal) => journal.settle(settlement('x')),
    note: (journal) => journal.note({ tool: 't', subject: 1, change: {}, state: 'sent', at: AT }),
  };
  for (const [verb, run] of Object.entries(VERBS)) {
    check(`to be read is unavailable for ${verb}, and says the system's code and nothing else`, () =>
      assertUnavailable(run(createJournal(failing('readNew'), createIds())), 'EACCES'),
    );
    if (verb !== 'refresh')
      check(`to be written is unavailable for ${verb}, and says the system's code and nothing else`, () =>
        assertUnavailable(run(createJournal(failing('append'), createIds())), 'EACCES'),
      );
  }

  check('to keep what was written to it is unavailable, and gives no claim away', async () => {
    const forgetful: JournalFile = { append: async () => {}, readNew: async () => [] };
    const journal = createJournal(forgetful, createIds());
    await assertUnavailable(journal.claim(draft(1, 1)));
    await assertUnavailable(journal.tokenSecret());
  });

  check('at once, and not by a promise, is unavailable too', async () => {
    const rude: JournalFile = {
      append: () => {
        throw new Error(canary);
      },
      readNew: () => {
        throw new Error(canary);
      },
    };
    await assertUnavailable(createJournal(rude, createIds()).refresh(), 'no code');
    await assertUnavailable(createJournal(rude, createIds()).claim(draft(1, 1)));
  });

  check('works again when the file does, in the order in which it was asked', async () => {
    const file = createMemoryFile();
    const real = file.open();
    let isBroken = true;
    const flaky: JournalFile = {
      append: (line) => (isBroken ? Promise.reject(new Error(canary)) : real.append(line)),
      readNew: () => real.readNew(),
    };
    const journal = createJournal(flaky, createIds());
    await assertUnavailable(journal.claim(draft(1, 1)));
    isBroken = false;
    const [claimed] = await Promise.all([journal.claim(draft(1, 1)), journal.settle(settlement('x'))]);
    assert.ok(claimed.isOwn);
    assert.equal(
      file.lines.map((line) => JSON.parse(line).kind),
      ['claim', 'settlement'],
    );
  });

  check('after it took a claim leaves the claim unresolved for everybody', async () => {
    const file = createMemoryFile();
    const real = file.open();
    const half: JournalFile = {
      readNew: () => real.readNew(),
      append: async (line) => {
        await real.append(line);
        throw new Error('The disk did not say that it is safe');
      },
    };
    const newId = createIds();
    await assertUnavailable(createJournal(half, newId).claim(draft(1, 1)));
    const late = createJournal(file.open(), newId);
    await late.refresh();
    assert.is(late.unresolvedOf(7).length, 1);
    assert.not((await late.claim(draft(1, 1))).isOwn);
  });
});
