import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openBoundedLines } from '../../../src/gateway/adapter/bounded-lines.ts';
import { describe, rejection } from '../../check.ts';

const inDirectory = async (body: (directory: string) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-lines-'));
  try {
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
const opened = async (path: string, limitBytes = 1000) => {
  const lost: string[] = [];
  return { lost, ...(await openBoundedLines({ path, limitBytes, onLost: (code) => lost.push(code) })) };
};

describe('lines in a bounded file', (check) => {
  check('are read by their owner alone, and added to those of before', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'lines.jsonl');
      const first = await opened(path);
      first.write('one');
      first.write('two');
      await first.flush();
      const second = await opened(path);
      second.write('three');
      await second.flush();
      assert.is(readFileSync(path, 'utf8'), 'one\ntwo\nthree\n');
      assert.is(statSync(path).mode & 0o777, 0o600);
      assert.equal([...first.lost, ...second.lost], []);
    }),
  );
  check('take the space of two files, whatever is written', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'lines.jsonl');
      const { write, flush, lost } = await opened(path);
      for (let count = 0; count < 300; count += 1) {
        write(`${String(count).padStart(3, '0')} ${'é'.repeat(40)}`);
        if (count % 50 === 49) await flush();
      }
      const [now, before] = [path, `${path}.1`].map((name) => readFileSync(name, 'utf8'));
      assert.ok(statSync(path).size <= 1000 && statSync(`${path}.1`).size <= 1000);
      assert.is(statSync(`${path}.1`).mode & 0o777, 0o600);
      const numbers = `${before}${now}`.split('\n').flatMap((line) => (line === '' ? [] : Number(line.slice(0, 3))));
      assert.equal(
        numbers,
        Array.from({ length: numbers.length }, (_, index) => 300 - numbers.length + index),
      );
      assert.is(existsSync(`${path}.2`), false);
      assert.equal(lost, []);
    }),
  );
  check('are refused at the start where others may read them, or nobody may write', () =>
    inDirectory(async (directory) => {
      const open = join(directory, 'open');
      writeFileSync(open, '');
      chmodSync(open, 0o644);
      const link = join(directory, 'link');
      symlinkSync(open, link);
      for (const [path, code] of [
        [open, 'EMODE'],
        [link, 'ELOOP'],
        [directory, 'EISDIR'],
      ] as const)
        assert.is(((await rejection(opened(path))) as { code?: string }).code, code);
    }),
  );
  check('are lost where they cannot be written, which is told once until one can', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'lines.jsonl');
      const { write, flush, lost } = await opened(path);
      chmodSync(path, 0o644);
      for (const line of ['a', 'b']) write(line);
      await flush();
      chmodSync(path, 0o600);
      write('c');
      await flush();
      assert.equal([lost, readFileSync(path, 'utf8')], [['EMODE'], 'c\n']);
      chmodSync(path, 0o644);
      write('d');
      await flush();
      assert.equal(lost, ['EMODE', 'EMODE']);
    }),
  );
  check('are whole or not there where the disk takes only a part, and that is told', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'lines.jsonl');
      const { write, flush, lost } = await opened(path);
      write('one');
      await flush();
      const file = await open(path);
      const handles = Object.getPrototypeOf(file) as Pick<FileHandle, 'write'>;
      await file.close();
      const whole = handles.write;
      handles.write = function (this: FileHandle, bytes: Uint8Array) {
        return Reflect.apply(whole, this, [bytes.subarray(0, 2)]);
      } as FileHandle['write'];
      write('two');
      await flush();
      handles.write = whole;
      write('three');
      await flush();
      assert.equal([lost, readFileSync(path, 'utf8')], [['ENOSPC'], 'one\nthree\n']);
    }),
  );
  check('do not fill the memory while the disk takes none', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'lines.jsonl');
      const { write, flush, lost } = await opened(path, 1_000_000);
      for (let count = 0; count < 500; count += 1) write('x');
      await flush();
      assert.equal([lost, readFileSync(path, 'utf8').length], [['EBUSY'], 200]);
    }),
  );
});
