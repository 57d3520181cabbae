import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import * as assert from 'uvu/assert';
import { createJournalFile } from '../../../src/adapter/files/journal.ts';
import type { JournalFile } from '../../../src/relay-admin/recharge/journal.ts';
import { COMPILE_CACHE, describe, rejection } from '../../check.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** Runs `body` with the path of a journal in a directory of its own, which is gone afterwards. */
const inDirectory = async (body: (path: string, directory: string) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'journal-'));
  try {
    await body(join(directory, 'data', 'journal.jsonl'), directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
const linesIn = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');

const NOBODY = 65_534;

/** Root writes wherever it likes, so for the time of `body` it is somebody whom permission bits bind. */
const withoutPrivileges = async (directory: string, body: () => Promise<void>): Promise<void> => {
  if (process.geteuid?.() !== 0) return body();
  chownSync(directory, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  try {
    await body();
  } finally {
    process.seteuid?.(0);
  }
};

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
    const module = join(import.meta.dirname, '../../../src/adapter/files/journal.ts');
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

describe('a journal file that cannot be used', (check) => {
  const rejectsBoth = async (file: JournalFile): Promise<void> => {
    assert.instance(await rejection(file.append('1')), Error);
    assert.instance(await rejection(file.readNew()), Error);
  };

  check('because it is a directory is no empty journal', () =>
    inDirectory(async (path) => {
      mkdirSync(path, { recursive: true });
      await rejectsBoth(createJournalFile(path));
    }),
  );

  check('because its directory is a file is no empty journal', () =>
    inDirectory(async (path, directory) => {
      writeFileSync(join(directory, 'data'), '');
      await rejectsBoth(createJournalFile(path));
    }),
  );

  check('because it is a pipe or a device takes no line, is no empty journal and blocks no one', () =>
    inDirectory(async (_path, directory) => {
      const pipe = join(directory, 'pipe');
      assert.is(spawnSync('mkfifo', [pipe]).status, 0);
      for (const path of [pipe, '/dev/null']) {
        const file = createJournalFile(path);
        for (const use of [() => file.append('1'), () => file.readNew()])
          assert.is(((await rejection(use())) as { code?: string }).code, 'ENOTREG', path);
      }
    }),
  );

  const codesOf = async (file: JournalFile): Promise<readonly (string | undefined)[]> => {
    const codes: (string | undefined)[] = [];
    for (const use of [() => file.append('1'), () => file.readNew()])
      codes.push(((await rejection(use())) as { code?: string }).code);
    return codes;
  };

  check('because it is a symbolic link takes no line, and what it leads to stays as it was', () =>
    inDirectory(async (path, directory) => {
      await createJournalFile(path).append('1');
      const link = join(directory, 'link.jsonl');
      symlinkSync(path, link);
      assert.equal(await codesOf(createJournalFile(link)), ['ELOOP', 'ELOOP']);
      assert.equal(linesIn(path), ['1']);
      // A link to nothing is not followed to make a file, either.
      const nowhere = join(directory, 'nowhere.jsonl');
      symlinkSync(join(directory, 'target.jsonl'), nowhere);
      assert.is((await codesOf(createJournalFile(nowhere)))[0], 'ELOOP');
      assert.not(existsSync(join(directory, 'target.jsonl')));
      // A link on the way to it is somebody's own arrangement of directories.
      symlinkSync(join(directory, 'data'), join(directory, 'way'));
      await createJournalFile(join(directory, 'way', 'journal.jsonl')).append('2');
      assert.equal(linesIn(path), ['1', '2']);
    }),
  );

  check('because others may read or write it takes no line', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      await file.append('1');
      for (const mode of [0o602, 0o604, 0o606, 0o666, 0o644]) {
        chmodSync(path, mode);
        assert.equal(await codesOf(file), ['EMODE', 'EMODE'], mode.toString(8));
      }
      // A volume of Kubernetes is open to the process's own group.
      chmodSync(path, 0o660);
      await file.append('2');
      assert.equal(linesIn(path), ['1', '2']);
    }),
  );

  const root = process.geteuid?.() === 0 ? undefined : 'the rights of root';
  check.needing(root, 'because it is of another owner or open to another group takes no line', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      await file.append('1');
      chownSync(path, NOBODY, 0);
      assert.equal(await codesOf(file), ['ENOTOWNER', 'ENOTOWNER']);
      chownSync(path, 0, NOBODY);
      chmodSync(path, 0o660);
      assert.equal(await codesOf(file), ['EMODE', 'EMODE']);
      chmodSync(path, 0o600);
      await file.append('2');
      assert.equal(linesIn(path), ['1', '2']);
    }),
  );

  check('because it may not be read is no empty journal', () =>
    inDirectory((path, directory) =>
      withoutPrivileges(directory, async () => {
        await createJournalFile(path).append('1');
        chmodSync(path, 0o000);
        await rejectsBoth(createJournalFile(path));
      }),
    ),
  );

  check('because its directory may not be written takes no line and has none', () =>
    inDirectory((path, directory) =>
      withoutPrivileges(directory, async () => {
        mkdirSync(join(directory, 'data'));
        chmodSync(join(directory, 'data'), 0o500);
        assert.instance(await rejection(createJournalFile(path).append('1')), Error);
        assert.equal(await createJournalFile(path).readNew(), []);
      }),
    ),
  );

  check('because its directory may not be entered is no empty journal', () =>
    inDirectory((path, directory) =>
      withoutPrivileges(directory, async () => {
        await createJournalFile(path).append('1');
        chmodSync(join(directory, 'data'), 0o000);
        await rejectsBoth(createJournalFile(path));
        chmodSync(join(directory, 'data'), 0o700);
      }),
    ),
  );
});

type Settling = 'datasync' | 'sync';

/** Runs `body` while files, or for `sync` directories, are settled on the disk by `settle`. */
const whileSettling = async (
  name: Settling,
  settle: (real: () => Promise<void>) => Promise<void>,
  body: () => Promise<void>,
): Promise<void> => {
  const handle = await open(tmpdir(), 'r');
  const prototype: Record<Settling, () => Promise<void>> = Object.getPrototypeOf(handle);
  await handle.close();
  const real = prototype[name];
  prototype[name] = function (this: FileHandle) {
    return settle(() => real.call(this));
  };
  try {
    await body();
  } finally {
    prototype[name] = real;
  }
};

describe('a line of a journal file', (check) => {
  for (const [name, what] of [
    ['datasync', 'it is on the disk'],
    ['sync', 'the name of its file is on the disk'],
  ] as const) {
    check(`is not said to be safe before ${what}`, () =>
      inDirectory(async (path) => {
        const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const seen: string[] = [];
        const settle = async (real: () => Promise<void>) => {
          seen.push(readFileSync(path, 'utf8'));
          reached.resolve();
          await released.promise;
          await real();
          seen.push('settled');
        };
        await whileSettling(name, settle, async () => {
          const reported = createJournalFile(path)
            .append('1')
            .then(() => seen.push('told'));
          await Promise.race([reached.promise, reported]);
          // Time enough for an append that does not wait.
          await new Promise((done) => setTimeout(done, 30));
          assert.equal(seen, ['1\n']);
          released.resolve();
          await reported;
          assert.equal(seen, ['1\n', 'settled', 'told']);
        });
      }),
    );

    check(`is not said to be safe when it is unknown whether ${what}`, () =>
      inDirectory(async (path) => {
        const broken = Object.assign(new Error('broken'), { code: 'EIO' });
        await whileSettling(
          name,
          () => Promise.reject(broken),
          async () => assert.is(await rejection(createJournalFile(path).append('1')), broken),
        );
        await createJournalFile(path).append('2');
        assert.equal(linesIn(path), ['1', '2']);
      }),
    );
  }

  check('is settled each time, and the name of its file once', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      const settled: Settling[] = [];
      const noting = (name: Settling) => (real: () => Promise<void>) => {
        settled.push(name);
        return real();
      };
      await whileSettling('sync', noting('sync'), () =>
        whileSettling('datasync', noting('datasync'), async () => {
          for (const line of ['1', '2', '3']) await file.append(line);
        }),
      );
      assert.equal(settled, ['datasync', 'sync', 'datasync', 'datasync']);
    }),
  );
});

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

const ADAPTER = resolve(import.meta.dirname, '../../../src/adapter/files/journal.ts');
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
