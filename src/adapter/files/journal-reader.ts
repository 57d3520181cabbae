import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { errorCode } from '../node/error-code.ts';

/** Years of recharges, at about a kilobyte each. */
const LIMIT_BYTES = 16 * 1024 * 1024;

/** A file's last whole lines; the name of a file that is not there yet, in a folder that is; or the system's code of why not. */
export type JournalReading =
  | { readonly lines: readonly string[] }
  | { readonly missingFile: string }
  | { readonly code: string };

const isFolder = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
};

/**
 * Reads the end of another program's journal: at most 16 MiB. It writes nothing and does not mind whose the file is. Pipes and
 * devices are refused with `ENOTREG`.
 */
export const readJournalLines = async (path: string): Promise<JournalReading> => {
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return { code: 'ENOTREG' };
      const start = Math.max(0, stats.size - LIMIT_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size - start), 0, stats.size - start, start);
      const lines = buffer.subarray(0, bytesRead).toString('utf8').split('\n');
      // The last one is still being written, or empty; the first may be cut.
      return { lines: lines.slice(start === 0 ? 0 : 1, -1).filter((line) => line !== '') };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = errorCode(error) ?? 'no code';
    return code === 'ENOENT' && (await isFolder(dirname(path))) ? { missingFile: basename(path) } : { code };
  }
};
