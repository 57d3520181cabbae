import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';

/** Non-blocking: opening a pipe would wait for its other end, which may never come. Windows has neither of the two flags. */
const SAFE_FLAGS = (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
/** For reading a file that is there. */
export const READ_FLAGS = constants.O_RDONLY | SAFE_FLAGS;
/** For adding to a file, which is created if it is not there. */
export const APPEND_FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | SAFE_FLAGS;

/** Why a file is refused: the system's own code for a symbolic link, and codes of our own. */
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
 * Why a file is not private. Another user who can write a journal could remove a claim, and so allow a second credit. Access of
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

/** Opens a file that only this user may read and write. Throws an error with a code of `Refusal`, besides the system's own. */
export const openPrivate = async (path: string, flags: number): Promise<FileHandle> => {
  const file = await open(path, flags, 0o600);
  try {
    // Deno with restricted permissions follows links in spite of the flag.
    const [opened, named] = [await file.stat(), await lstat(path)];
    const code = findRefusal(opened, named.isSymbolicLink());
    if (code !== undefined) throw Object.assign(new Error('Not a file that only its owner may read'), { code });
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
};
