import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { createJournalFile } from '../../src/adapter/files/journal.ts';
import { createJournalReader } from '../../src/adapter/files/journal-reader.ts';
import { createJournalRecharges } from '../../src/console/recharges/journal-entries.ts';
import { RECHARGES_SHOWN, toRechargeLists } from '../../src/console/recharges/recharge-lists.ts';
import type { ReadJournal } from '../../src/console/recharges/recharge-reading.ts';
import { createJournal } from '../../src/relay-admin/recharge/journal.ts';
import { describe } from '../check.ts';
import { createConsoleWorld } from './harness/world.ts';

const NOW = Date.UTC(2026, 0, 1);
const hash = (char: string) => char.repeat(64);

/** A journal in a file, written with relay admin's own code. */
const withJournal = async <T>(
  body: (path: string, journal: ReturnType<typeof createJournal>) => Promise<T>,
): Promise<T> => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-journal-'));
  const path = join(directory, 'journal.jsonl');
  let ids = 0;
  const journal = createJournal(createJournalFile(path), () => `an-id-of-twenty-characters-${ids++}`);
  try {
    return await body(path, journal);
  } finally {
    rmSync(directory, { recursive: true });
  }
};
/** The lists of a journal, read again with each call. */
const followJournal = (path: string) => {
  const recharges = createJournalRecharges(RECHARGES_SHOWN);
  const read = createJournalReader(path);
  return async () => {
    const failure = await read(recharges);
    if (failure !== undefined) throw new Error(JSON.stringify(failure));
    return toRechargeLists(recharges, NOW);
  };
};
const listsOf = (path: string) => followJournal(path)();
const claimOf = (char: string, at: number) => ({
  ...{ at, token: hash(char), key: hash(char), marker: `rc_${char.repeat(16)}` },
  ...{ userId: 7, amount: '12.5', balanceBefore: '3.5' },
});

describe('the recharges of a journal', (check) => {
  check('are verified, refused or in doubt as relay admin itself takes them, the newest first', async () => {
    await withJournal(async (path, journal) => {
      await journal.tokenSecret();
      const ids: string[] = [];
      for (const [each, char] of [...'abcdef'].entries())
        ids.push((await journal.claim(claimOf(char, NOW - 1_000_000 + each))).claim.by);
      const [a = '', b = '', c = '', d = '', e = ''] = ids;
      const by = { at: NOW - 500_000 };
      await journal.settle({
        ...by,
        by: a,
        state: 'verified',
        isAccepted: true,
        result: { balance_after: '16', email: 'x' },
      });
      await journal.settle({ ...by, by: b, state: 'not_applied', isAccepted: false, status: 0 });
      await journal.settle({ ...by, by: c, state: 'not_applied', isAccepted: false, status: 409, isProven: true });
      // An unproven refusal, and an answer that never came.
      await journal.settle({ ...by, by: d, state: 'not_applied', isAccepted: false, status: 409 });
      await journal.settle({ ...by, by: e, state: 'accepted_unverified', isAccepted: false, doubt: 'timed-out' });
      await journal.note({ at: NOW, tool: 'update_user_limits', subject: 7, change: { rpm: 5 }, state: 'sent' });
      const { inDoubt, refused, verified, leftOut } = await listsOf(path);
      const references = (rows: readonly { readonly reference: string }[]) =>
        rows.map(({ reference }) => reference[3]).join('');
      assert.equal([references(inDoubt), references(refused), references(verified), leftOut], ['fed', 'cb', 'a', 0]);
      assert.equal(verified[0], {
        ...{ reference: `rc_${'a'.repeat(16)}`, at: NOW - 1_000_000, user: 'user 7', amount: '12.5', before: '3.5' },
        ...{ after: '16', settled: NOW - 500_000 },
      });
      assert.equal(
        inDoubt.map(({ reason }) => reason),
        [
          'It was about to be sent, and no outcome was written: the process may have ended in between.',
          'The relay did not answer in time.',
          'The relay refused it, and what was read afterwards does not prove that nothing was credited.',
        ],
      );
      assert.match(inDoubt[0]?.check?.[0] ?? '', 'Search the balance history of user 7 for rc_ffff');
      // They are the ones that relay admin warns of.
      assert.equal(
        journal
          .unresolvedOf(7)
          .map(({ claim }) => claim.marker)
          .reverse(),
        inDoubt.map(({ reference }) => reference),
      );
    });
  });

  check('hold nothing of the journal but these members: no hash, no secret', async () => {
    await withJournal(async (path, journal) => {
      const secret = await journal.tokenSecret();
      const { claim } = await journal.claim(claimOf('a', NOW));
      await journal.settle({
        at: NOW,
        by: claim.by,
        state: 'verified',
        isAccepted: true,
        result: { advice: 'canary' },
      });
      const text = JSON.stringify(await listsOf(path));
      for (const hidden of [secret, hash('a'), claim.by, 'canary']) assert.not.ok(text.includes(hidden), hidden);
    });
  });

  check('count the first claim of a token, and the outcome that was proven', async () => {
    await withJournal(async (path, journal) => {
      const { claim } = await journal.claim(claimOf('a', NOW - 900_000));
      await journal.claim({ ...claimOf('a', NOW - 800_000), key: hash('b'), amount: '99' });
      await journal.settle({ at: 1, by: claim.by, state: 'accepted_unverified', isAccepted: true });
      const before = await listsOf(path);
      assert.match(before.inDoubt[0]?.reason ?? '', 'said that it credited it');
      await journal.settle({ at: 2, by: claim.by, state: 'verified', isAccepted: true });
      await journal.settle({ at: 3, by: claim.by, state: 'accepted_unverified', isAccepted: false });
      const { inDoubt, verified } = await listsOf(path);
      assert.equal([inDoubt.length, verified.map(({ amount }) => amount)], [0, ['12.5']]);
    });
  });

  check('are read in spite of lines that are damaged, cut or of a later release', async () => {
    await withJournal(async (path, journal) => {
      await journal.claim(claimOf('a', NOW - 1000));
      appendFileSync(
        path,
        'canary\n{"kind":"later"}\n{"kind":"claim","at":1}\n[]\n{"kind":"settlement","by":7}\n{"kind":"cl',
      );
      const { inDoubt } = await listsOf(path);
      assert.equal(
        inDoubt.map(({ reason }) => reason),
        ['It was sent a moment ago and may still run.'],
      );
    });
  });

  check('in doubt are never pushed out by newer ones, in a journal of whatever length', async () => {
    await withJournal(async (path) => {
      const line = (each: number, kind: object) => `${JSON.stringify({ at: each, by: `b${each}`, ...kind })}\n`;
      const claim = (each: number, more: object = {}) =>
        line(each, {
          ...claimOf('a', each),
          ...{ kind: 'claim', token: `t${each}`, key: `k${each}`, marker: `rc_${each}` },
          ...more,
        });
      const verified = (each: number) => line(each, { kind: 'settlement', state: 'verified', isAccepted: true });
      const padding = 'ü'.repeat(4000);
      const lines = Array.from({ length: 3000 }, (_, each) =>
        each === 0 ? claim(0) : `${claim(each, { padding })}${verified(each)}`,
      );
      writeFileSync(path, lines.join(''));
      assert.ok(statSync(path).size > 20 * 1024 * 1024);
      const read = followJournal(path);
      const seen = async () => {
        const { inDoubt, verified: shown, leftOut } = await read();
        return [inDoubt.map(({ reference }) => reference), shown.length, leftOut];
      };
      assert.equal(await seen(), [['rc_0'], 1000, 2000]);
      // Its outcome may come late, and a copy of it counts as little as before.
      appendFileSync(path, `${claim(4000, { token: 't0' })}${claim(4001)}${verified(0)}`);
      assert.equal(await seen(), [['rc_4001'], 999, 2001]);
    });
  });

  check('are counted once by token and key, and cost no more the longer the journal is', () => {
    const recharges = createJournalRecharges(RECHARGES_SHOWN);
    let next = 0;
    const line = (by: number, token = by) =>
      JSON.stringify({ ...claimOf('a', NOW), kind: 'claim', by: `${by}`, token: `t${token}`, key: `k${by}` });
    /** The processor time of 5,000 claims. */
    const cost = (): number => {
      const lines = Array.from({ length: 5000 }, () => line(next++));
      const before = process.cpuUsage();
      for (const one of lines) recharges.take(one);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const costs = Array.from({ length: 16 }, cost);
    const count = recharges.count();
    recharges.take(line(next, next - 20_000));
    assert.equal([count, recharges.count()], [80_000, 80_000]);
    const [first, last] = [Math.min(...costs.slice(0, 4)), Math.min(...costs.slice(-4))];
    assert.ok(last < 2 * first, `${last} us after ${first} us at first`);
  });

  check('are read on where the journal goes on, and anew where another file is in its place', async () => {
    await withJournal(async (path) => {
      const entry = (char: string) =>
        `${JSON.stringify({ ...claimOf(char, 1), kind: 'claim', by: char, marker: `rc_${char}` })}\n`;
      const read = followJournal(path);
      const seen = async () => (await read()).inDoubt.map(({ reference }) => reference).join(' ');
      const [half, rest] = [entry('b').slice(0, 50), entry('b').slice(50)];
      writeFileSync(path, `${entry('a')}${half}`);
      assert.is(await seen(), 'rc_a');
      appendFileSync(path, rest);
      assert.is(await seen(), 'rc_b rc_a');
      writeFileSync(path, `${'x'.repeat(3_000_000)}\n${entry('c')}`);
      assert.is(await seen(), 'rc_c');
      writeFileSync(path, entry('d'));
      assert.is(await seen(), 'rc_d');
      rmSync(path);
      assert.match(String(await read().catch((error: unknown) => error)), 'missingFile');
      writeFileSync(path, `${entry('e')}${entry('f')}`);
      assert.is(await seen(), 'rc_f rc_e');
    });
  });

  check('in doubt are a metric, as long as the journal can be read', async () => {
    const claim = JSON.stringify({ kind: 'claim', by: 'b', ...claimOf('a', 0) });
    const journals: readonly (ReadJournal | undefined)[] = [
      async ({ take }) => void take(claim),
      async () => undefined,
      async () => ({ code: 'EACCES' }),
      undefined,
    ];
    for (const [index, readJournal] of journals.entries()) {
      const world = await createConsoleWorld(readJournal === undefined ? {} : { readJournal });
      await world.send('GET', '/metrics');
      assert.equal(world.counted, [`recharges in doubt ${['1', '0', 'unknown', 'unknown'][index]}`]);
      world.stop();
    }
  });

  check('are read once for all who ask at a time, and again after five seconds', async () => {
    let reads = 0;
    const readJournal: ReadJournal = async ({ take }) => {
      reads += 1;
      if (reads === 1) take(JSON.stringify({ kind: 'claim', by: 'b', ...claimOf('a', 0) }));
      return undefined;
    };
    const world = await createConsoleWorld({ readJournal });
    const ann = await world.as('ann');
    const answers = [...Array.from({ length: 20 }, () => world.send('GET', '/metrics')), ann('GET', '/api/recharges')];
    assert.ok((await Promise.all(answers)).every(({ status }) => status === 200));
    assert.is(reads, 1);
    await world.clock.advance(5000);
    assert.is(((await (await ann('GET', '/api/recharges')).json()) as { inDoubt: unknown[] }).inDoubt.length, 1);
    assert.is(reads, 2);
    world.stop();
  });

  check('of a file that is none, or is not there, are said with the code of the system', async () => {
    await withJournal(async (path) => {
      const read = (at: string) => createJournalReader(at)({ take: assert.unreachable, restart: () => {} });
      assert.equal(await read(path), { missingFile: 'journal.jsonl' });
      assert.equal(await read(join(path, 'j.jsonl')), { code: 'ENOENT' });
      assert.equal(await read(tmpdir()), { code: 'ENOTREG' });
      writeFileSync(path, '');
      assert.is(await read(path), undefined);
    });
  });

  check('of a journal that is not there are never an empty list without a word', async () => {
    const cases = [
      [{ missingFile: 'j.jsonl' }, 200, 'j.jsonl'],
      [{ code: 'ENOENT' }, 503, 'its folder is not there'],
      [{ code: 'EACCES' }, 503, 'may read the file'],
      [{ code: 'ENOTREG' }, 503, 'names a folder'],
    ] as const;
    for (const [journal, status, expected] of cases) {
      const world = await createConsoleWorld({ readJournal: async () => journal });
      const answer = await (await world.as('vera'))('GET', '/api/recharges');
      assert.is(answer.status, status);
      assert.match(await answer.text(), expected);
      world.stop();
    }
  });
});
