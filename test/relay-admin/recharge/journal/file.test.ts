import * as assert from 'uvu/assert';
import { createJournal, type Journal, type JournalFile } from '../../../../src/relay-admin/recharge/journal.ts';
import { describe } from '../../../check.ts';
import { createIds, createMemoryFile } from '../../harness/world.ts';
import { AT, assertUnavailable, draft, processes, settlement } from './world.ts';

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
