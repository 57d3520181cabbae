import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { createJournalReader } from '../../../src/console/adapter/journal-reader.ts';
import type { ReadJournal } from '../../../src/console/recharges/recharge-reading.ts';
import { describe } from '../../check.ts';
import { createConsoleWorld } from '../harness/world.ts';
import { claimOf, followJournal, listsOf, NOW, withJournal } from './world.ts';

describe('the recharges of a journal', (check) => {
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
