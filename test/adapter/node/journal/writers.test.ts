import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import * as assert from 'uvu/assert';
import { createJournalFile } from '../../../../src/adapter/node/journal.ts';
import { describe } from '../../../check.ts';
import { COMPILE_CACHE } from '../../../compile-cache.ts';
import { inDirectory, linesIn } from './world.ts';

const ADAPTER = resolve(import.meta.dirname, '../../../../src/adapter/node/journal.ts');

/** Adds lines for ever, and says of each that it is safe. */
const WRITER = `
  import { createJournalFile } from ${JSON.stringify(ADAPTER)};
  const [path, name] = process.argv.slice(1);
  const file = createJournalFile(path);
  for (let index = 0; ; index++) {
    await file.append(JSON.stringify({ name, index, padding: 'x'.repeat(index % 5000) }));
    process.stdout.write(name + ' ' + index + '\\n');
  }
`;

/** Starts a process that writes, and kills it once it has said that `count` lines are safe. Returns how many it said. */
const writeUntilKilled = async (path: string, name: string, count: number): Promise<number> => {
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', WRITER, '--', path, name], {
    env: { ...process.env, ...COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let reported = 0;
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      assert.is(line, `${name} ${reported}`);
      reported += 1;
      if (reported === count) child.kill('SIGKILL');
    }
  } finally {
    child.kill('SIGKILL');
    await closed;
  }
  return reported;
};

/** Adds one line that is longer than a file may be, and says how that went. */
const LONG_WRITER = `
  import { createJournalFile } from ${JSON.stringify(ADAPTER)};
  const [path] = process.argv.slice(1);
  const told = await createJournalFile(path).append('x'.repeat(100_000)).then(() => 'safe', () => 'not safe');
  process.stdout.write(told);
`;

describe('a journal file that is shared', (check) => {
  const LINES = 200;

  /** Long enough that some cross the borders of pages. */
  const lineOf = (writer: string, index: number): string =>
    JSON.stringify({ writer, index, padding: 'ä€'.repeat(index) });

  check('by two that write at once loses and tears no line, and has one order for both', () =>
    inDirectory(async (path) => {
      const writers = ['a', 'b'].map((name) => ({ name, file: createJournalFile(path), read: [] as string[] }));
      await Promise.all(
        writers.map(async ({ name, file, read }) => {
          for (let index = 0; index < LINES; index++) {
            await file.append(lineOf(name, index));
            const fresh = await file.readNew();
            read.push(...fresh);
            // What was added is there to be read: a journal decides by it.
            assert.ok(fresh.includes(lineOf(name, index)));
          }
        }),
      );
      for (const { file, read } of writers) read.push(...(await file.readNew()));
      const [one, other] = writers;
      assert.equal(one?.read, other?.read);
      assert.equal(one?.read, linesIn(path));
      for (const { name } of writers) {
        const written = Array.from({ length: LINES }, (_, index) => lineOf(name, index));
        assert.equal(
          one?.read.filter((line) => JSON.parse(line).writer === name),
          written,
        );
      }
    }),
  );

  check('by two that begin it at once has the lines of both', () =>
    inDirectory(async (path) => {
      await Promise.all(Array.from({ length: 20 }, (_, index) => createJournalFile(path).append(`line ${index}`)));
      assert.equal(linesIn(path).length, 20);
      assert.is(new Set(linesIn(path)).size, 20);
    }),
  );
});

describe('a file that may not grow', (check) => {
  check('takes half a line, which is not said to be safe, and keeps the next one whole', () =>
    inDirectory(async (path) => {
      await createJournalFile(path).append('first');
      const limited = 'ulimit -f 8; exec "$0" --no-warnings --input-type=module -e "$1" -- "$2"';
      const child = spawn('sh', ['-c', limited, process.execPath, LONG_WRITER, path], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const closed = once(child, 'close');
      let reported = '';
      for await (const text of child.stdout.setEncoding('utf8')) reported += text;
      await closed;
      assert.is(reported, 'not safe');
      await createJournalFile(path).append('last');
      const lines = linesIn(path);
      assert.equal([lines.length, lines[0], lines[2]], [3, 'first', 'last']);
      assert.match(lines[1] ?? '', /^x+$/);
      assert.ok((lines[1] ?? '').length < 100_000);
    }),
  );
});

describe('a process that is killed while it writes', (check) => {
  check('has left every line that it said was safe, and the next process goes on behind it', () =>
    inDirectory(async (path) => {
      for (const [round, count] of [1, 17, 60].entries()) {
        const reported = await writeUntilKilled(path, `round${round}`, count);
        assert.ok(reported >= count);
        await createJournalFile(path).append(`after ${round}`);
        const lines = await createJournalFile(path).readNew();
        const safe = lines.filter((line) => line.startsWith(`{"name":"round${round}"`) && line.endsWith('}'));
        assert.ok(safe.length >= reported, `${safe.length} of ${reported}`);
        for (let index = 0; index < reported; index++) assert.is(JSON.parse(safe[index] ?? '{}').index, index);
        assert.is(lines.at(-1), `after ${round}`);
      }
    }),
  );

  check('beside another takes nothing of the other with it', () =>
    inDirectory(async (path) => {
      const counts = await Promise.all([writeUntilKilled(path, 'a', 30), writeUntilKilled(path, 'b', 60)]);
      const lines = await createJournalFile(path).readNew();
      for (const [index, name] of ['a', 'b'].entries()) {
        const own = lines.filter((line) => line.startsWith(`{"name":"${name}"`) && line.endsWith('}'));
        assert.ok(own.length >= (counts[index] ?? 0), `${name}: ${own.length} of ${counts[index]}`);
        for (const [place, line] of own.entries()) assert.is(JSON.parse(line).index, place);
      }
    }),
  );
});
