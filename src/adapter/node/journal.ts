import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode } from './error-code.ts';
import { makeDirectoryOf } from './files.ts';
import { APPEND_FLAGS, openPrivate, READ_FLAGS } from './private-file.ts';

const LINE_BREAK = 0x0a;
const READ_BYTES = 1024 * 1024;

const isMissing = (error: unknown): boolean => errorCode(error) === 'ENOENT';

/** A new file survives a crash only once its directory is synced. */
const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(dirname(path), 'r');
  await directory.sync().finally(() => directory.close());
};

const readLastByte = async (file: FileHandle, size: number): Promise<number | undefined> => {
  if (size === 0) return undefined;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0];
};

const readBytes = async (file: FileHandle, start: number, end: number): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for (let position = start; position < end; ) {
    const wanted = Math.min(READ_BYTES, end - position);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted), 0, wanted, position);
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
  return Buffer.concat(chunks);
};

/** What to tell an operator of a path that has no journal yet; undefined where it has one. A mistyped path has none. */
export const missingJournal = (given: string): string | undefined => {
  const path = resolve(given);
  if (existsSync(path)) return undefined;
  const directory = dirname(path);
  if (existsSync(directory) || existsSync(dirname(directory)))
    return `there is no file ${path}: the first preview begins a new one`;
  return `there is no directory ${dirname(directory)}: previews and recharges are refused until it is made or the path is put right`;
};

/**
 * A journal in a file that only its owner may read. The file is opened for each use, so that a file that was moved away is
 * not written to any more. Several processes may share it on a local file system, where appending is atomic and all of them
 * see the same order.
 */
export const createJournalFile = (given: string) => {
  const path = resolve(given);
  /** How far the file was read, and the identity of that file. */
  let offset = 0;
  let identity = '';
  return {
    async append(line: string): Promise<void> {
      makeDirectoryOf(path);
      const file = await openPrivate(path, APPEND_FLAGS);
      try {
        const { size } = await file.stat();
        // A line that was cut short by a crash must not run into this one.
        const start = size === 0 || (await readLastByte(file, size)) === LINE_BREAK ? '' : '\n';
        const bytes = Buffer.from(`${start}${line}\n`, 'utf8');
        const { bytesWritten } = await file.write(bytes);
        if (bytesWritten !== bytes.byteLength) throw new Error('The disk did not take the whole line');
        await file.datasync();
        if (size === 0) await syncDirectory(path);
      } finally {
        await file.close();
      }
    },
    async readNew(): Promise<readonly string[]> {
      const file = await openPrivate(path, READ_FLAGS).catch((error: unknown) => {
        if (isMissing(error)) return undefined;
        throw error;
      });
      if (file === undefined) return [];
      try {
        const { size, dev, ino, birthtimeMs } = await file.stat();
        // The inode number alone is reused for new files.
        const found = `${dev}:${ino}:${birthtimeMs}`;
        const start = identity === found && size >= offset ? offset : 0;
        const bytes = await readBytes(file, start, size);
        // A line without a line break is still being written, and is read once it has one.
        const whole = bytes.lastIndexOf(LINE_BREAK) + 1;
        offset = start + whole;
        identity = found;
        return bytes
          .subarray(0, whole)
          .toString('utf8')
          .split('\n')
          .filter((line) => line !== '');
      } finally {
        await file.close();
      }
    },
  };
};
