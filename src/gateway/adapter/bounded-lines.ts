import { rename } from 'node:fs/promises';
import { resolve } from 'node:path';
import { errorCode } from '../../adapter/node/error-code.ts';
import { APPEND_FLAGS, openPrivate } from '../../adapter/node/private-file.ts';

/** Lines in a file of limited size. */
export type BoundedLines = {
  /** Adds a line later. Never throws and never waits: what cannot be written is lost, and reported once. */
  readonly write: (line: string) => void;
  /** Resolves when what was added is written, or lost. */
  readonly flush: () => Promise<void>;
};

type BoundedLinesNeeds = {
  readonly path: string;
  /** Of this file. The one before it, with `.1` at its end, has the same. */
  readonly limitBytes: number;
  /** Called with the system's code for the first of several failures in a row. */
  readonly onLost: (code: string) => void;
};

/** A disk that hangs must not fill the memory. */
const MAX_WAITING = 100;

/**
 * Opens a file for lines that only its owner may read. When a line would make it longer than the limit, the file becomes the one
 * before, in place of an older one. Rejects with the system's error, or one of `openPrivate`, where the file cannot be written.
 * No directory is made: a mistyped path is one of the errors.
 */
export const openBoundedLines = async (needs: BoundedLinesNeeds): Promise<BoundedLines> => {
  const path = resolve(needs.path);
  let waiting = 0;
  let isLosing = false;
  let last = Promise.resolve();

  const lose = (error: unknown): void => {
    if (!isLosing) needs.onLost(errorCode(error) ?? 'unknown');
    isLosing = true;
  };
  const open = () => openPrivate(path, APPEND_FLAGS);
  /** Whether the file had room for them. */
  const append = async (bytes: Buffer): Promise<boolean> => {
    const file = await open();
    try {
      const { size } = await file.stat();
      if (size > 0 && size + bytes.byteLength > needs.limitBytes) return false;
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten === bytes.byteLength) return true;
      // The next line would go on in this one, and no reader takes the two.
      await file.truncate(size);
      throw Object.assign(new Error('The disk did not take the whole line'), { code: 'ENOSPC' });
    } finally {
      await file.close();
    }
  };
  const writeLine = async (line: string): Promise<void> => {
    const bytes = Buffer.from(`${line}\n`, 'utf8');
    if (!(await append(bytes))) {
      await rename(path, `${path}.1`);
      await append(bytes);
    }
    isLosing = false;
  };

  await (await open()).close();
  return {
    write(line) {
      if (waiting >= MAX_WAITING) return lose(Object.assign(new Error('Too many lines wait'), { code: 'EBUSY' }));
      waiting += 1;
      last = last
        .then(() => writeLine(line))
        .catch(lose)
        .finally(() => {
          waiting -= 1;
        });
    },
    flush: () => last,
  };
};
