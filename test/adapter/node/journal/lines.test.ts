import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { createJournalFile } from '../../../../src/adapter/node/journal.ts';
import { describe } from '../../../check.ts';
import { inDirectory, linesIn } from './world.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('a journal file', (check) => {
  check('is made at the first line, for its owner alone, and so is its directory', () =>
    inDirectory(async (path, directory) => {
      const file = createJournalFile(path);
      assert.not(existsSync(join(directory, 'data')));
      await file.append('{"a":1}');
      assert.is(readFileSync(path, 'utf8'), '{"a":1}\n');
      assert.is(modeOf(path), '600');
      assert.is(modeOf(join(directory, 'data')), '700');
    }),
  );

  const proc = existsSync('/proc/self') ? undefined : 'a /proc';

  check.needing(proc, 'is refused where no directory can be made, and not tried for ever', async () => {
    // A process of its own, which can be ended.
    const module = join(import.meta.dirname, '../../../../src/adapter/node/journal.ts');
    const script = `import { createJournalFile } from ${JSON.stringify(module)};
      for (const path of ['/proc/none/journal.jsonl', '/proc/none/deep/er/journal.jsonl'])
        await createJournalFile(path).append('{}').catch(({ code }) => console.log('refused', code));`;
    const child = spawnSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 10_000,
      killSignal: 'SIGKILL',
    });
    assert.equal([child.signal, child.stdout], [null, 'refused ENOENT\nrefused ENOENT\n']);
  });

  check('that is not there has no lines and is not made by reading', () =>
    inDirectory(async (path, directory) => {
      assert.equal(await createJournalFile(path).readNew(), []);
      assert.not(existsSync(join(directory, 'data')));
    }),
  );

  check('gives each whole line once, also those that others added', () =>
    inDirectory(async (path) => {
      const [one, other] = [createJournalFile(path), createJournalFile(path)];
      await one.append('1');
      assert.equal(await one.readNew(), ['1']);
      assert.equal(await one.readNew(), []);
      await other.append('2');
      await one.append('3');
      assert.equal(await one.readNew(), ['2', '3']);
      assert.equal(await other.readNew(), ['1', '2', '3']);
      assert.equal(await createJournalFile(path).readNew(), ['1', '2', '3']);
    }),
  );

  check('holds a line back until it has its end', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      await file.append('1');
      appendFileSync(path, '{"half":');
      assert.equal(await file.readNew(), ['1']);
      assert.equal(await file.readNew(), []);
      appendFileSync(path, '2}\n');
      assert.equal(await file.readNew(), ['{"half":2}']);
    }),
  );

  check('with a line that a crash cut short keeps the next one whole', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      await file.append('1');
      appendFileSync(path, '{"torn":');
      await file.append('2');
      await file.append('3');
      assert.equal(await file.readNew(), ['1', '{"torn":', '2', '3']);
      assert.is(readFileSync(path, 'utf8'), '1\n{"torn":\n2\n3\n');
    }),
  );

  check('with nothing but a torn line keeps the next one whole', () =>
    inDirectory(async (path) => {
      mkdirSync(resolve(path, '..'));
      writeFileSync(path, '\u00e4'.slice(0, 1), { mode: 0o600 });
      await createJournalFile(path).append('1');
      assert.equal(linesIn(path), ['\u00e4', '1']);
    }),
  );

  check('that was moved away is begun anew and read from its beginning', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      await file.append('old 1');
      await file.append('old 2');
      await file.readNew();
      renameSync(path, `${path}.old`);
      assert.equal(await file.readNew(), []);
      await file.append('new 1 that is longer than all that was there');
      assert.equal(linesIn(`${path}.old`), ['old 1', 'old 2']);
      assert.equal(await file.readNew(), ['new 1 that is longer than all that was there']);
      assert.is(modeOf(path), '600');
    }),
  );

  check('that was moved away and replaced in between is read from its beginning', () =>
    inDirectory(async (path) => {
      const [file, other] = [createJournalFile(path), createJournalFile(path)];
      await file.append('old');
      await file.readNew();
      renameSync(path, `${path}.old`);
      await other.append('new 1');
      await other.append('new 2');
      assert.equal(await file.readNew(), ['new 1', 'new 2']);
    }),
  );

  check('that was deleted and made anew is read from its beginning, though it may have the number of the old', () =>
    inDirectory(async (path) => {
      const [file, other] = [createJournalFile(path), createJournalFile(path)];
      for (let round = 0; round < 5; round++) {
        rmSync(path, { force: true });
        await other.append(`${round} first`);
        await other.append(`${round} second`);
        assert.equal(await file.readNew(), [`${round} first`, `${round} second`]);
      }
    }),
  );

  check('whose directory was deleted is made again', () =>
    inDirectory(async (path, directory) => {
      const file = createJournalFile(path);
      await file.append('1');
      rmSync(join(directory, 'data'), { recursive: true });
      assert.equal(await file.readNew(), []);
      await file.append('2');
      assert.equal(await file.readNew(), ['2']);
      assert.equal([modeOf(path), modeOf(join(directory, 'data'))], ['600', '700']);
    }),
  );

  check('that was cut down is read from its beginning', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      for (const line of ['one', 'two', 'three']) await file.append(line);
      await file.readNew();
      truncateSync(path, 4);
      assert.equal(await file.readNew(), ['one']);
      truncateSync(path, 0);
      assert.equal(await file.readNew(), []);
      await file.append('again');
      assert.equal(await file.readNew(), ['again']);
    }),
  );

  check('is the same file for a relative path, wherever the process goes then', () =>
    inDirectory(async (_path, directory) => {
      const before = process.cwd();
      try {
        process.chdir(directory);
        const file = createJournalFile('./journal.jsonl');
        process.chdir(before);
        await file.append('1');
        assert.equal(linesIn(join(directory, 'journal.jsonl')), ['1']);
      } finally {
        process.chdir(before);
      }
    }),
  );

  check('keeps letters of several bytes whole where it is read in pieces', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      // Of an odd length, so that letters lie across every border of a piece, at every offset.
      const lines = Array.from({ length: 5 }, (_, index) => `${'x'.repeat(index)}${'€😀ä'.repeat(120_000)}`);
      for (const line of lines) await file.append(line);
      assert.ok(statSync(path).size > 4 * 1024 * 1024);
      const read = await file.readNew();
      assert.is(read.length, lines.length);
      for (const [index, line] of lines.entries()) assert.ok(read[index] === line, `line ${index}`);
    }),
  );

  check('asked twice at once loses no line for later', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      for (const line of ['1', '2', '3']) await file.append(line);
      const both = await Promise.all([file.readNew(), file.readNew()]);
      assert.equal([...new Set(both.flat())], ['1', '2', '3']);
      await file.append('4');
      assert.equal(await file.readNew(), ['4']);
    }),
  );
});
