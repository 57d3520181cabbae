import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { JournalFile } from '../../relay-admin/recharge/journal.ts';
import { errorCode } from '../node/error-code.ts';
import { makeDirectory } from '../node/files.ts';

const LINE_BREAK = 0x0a;
const READ_BYTES = 1024 * 1024;

const isMissing = (error: unknown): boolean => errorCode(error) === 'ENOENT';

/** Non-blocking: opening a pipe would wait for its other end, which may never come. Windows has neither of the two flags. */
const SAFE_FLAGS = (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
const READ_FLAGS = constants.O_RDONLY | SAFE_FLAGS;
const APPEND_FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | SAFE_FLAGS;

/** Why a journal is refused: the system's own code for a symbolic link, and codes of our own. */
type Refusal = 'ELOOP' | 'ENOTREG' | 'ENOTOWNER' | 'EMODE';

const OTHERS = 0o007;
const GROUP = 0o070;

/** The user and group of this process; `undefined` where the system has none, or Deno was not allowed to tell. */
const processIds = (): { readonly uid: number | undefined; readonly gid: number | undefined } => {
  try {
    return { uid: process.geteuid?.(), gid: process.getegid?.() };
  } catch {
    return { uid: undefined, gid: undefined };
  }
};

/**
 * Why a file cannot be the journal. Another user who can write it could remove a claim, and so allow a second credit. Access of
 * the process's own group is accepted: Kubernetes gives it to volumes (`fsGroup`).
 */
const findRefusal = (file: Stats, isLink: boolean): Refusal | undefined => {
  if (isLink) return 'ELOOP';
  // Pipes and devices would discard the lines or hang.
  if (!file.isFile()) return 'ENOTREG';
  const { uid, gid } = processIds();
  if (uid === undefined) return undefined;
  if (file.uid !== uid) return 'ENOTOWNER';
  const isOpen = (file.mode & OTHERS) !== 0 || ((file.mode & GROUP) !== 0 && file.gid !== gid);
  return isOpen ? 'EMODE' : undefined;
};

/** Opens the journal. Throws an error with a code of `Refusal`, besides the system's own. */
const openRegular = async (path: string, flags: number): Promise<FileHandle> => {
  const file = await open(path, flags, 0o600);
  try {
    // Deno with restricted permissions follows links in spite of the flag.
    const [opened, named] = [await file.stat(), await lstat(path)];
    const code = findRefusal(opened, named.isSymbolicLink());
    if (code !== undefined) throw Object.assign(new Error('Not a file that can be the journal'), { code });
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
};

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

/**
 * A journal in a file that only its owner may read. The file is opened for each use, so that a file that was moved away is
 * not written to any more. Several processes may share it on a local file system, where appending is atomic and all of them
 * see the same order.
 */
export const createJournalFile = (given: string): JournalFile => {
  const path = resolve(given);
  /** How far the file was read, and the identity of that file. */
  let offset = 0;
  let identity = '';
  return {
    async append(line) {
      makeDirectory(dirname(path));
      const file = await openRegular(path, APPEND_FLAGS);
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
    async readNew() {
      const file = await openRegular(path, READ_FLAGS).catch((error: unknown) => {
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
