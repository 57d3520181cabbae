import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import * as assert from 'uvu/assert';
import { createJournalFile } from '../../../../src/adapter/node/journal.ts';
import { describe, rejection } from '../../../check.ts';
import { inDirectory, linesIn } from './world.ts';

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
