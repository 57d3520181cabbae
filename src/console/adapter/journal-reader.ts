import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { errorCode } from '../../adapter/node/error-code.ts';

/** Far longer than any line: one that does not end in it is skipped. */
const PIECE_BYTES = 1024 * 1024;
const LINE_BREAK = 10;
/** How much of what was read is compared before more is read. */
const COMPARED_BYTES = 256;

type LineSink = {
  readonly take: (line: string) => void;
  /** The lines of another file follow. */
  readonly restart: () => void;
};

/** The name of a file that is not there yet, in a folder that is; or the system's code of why it cannot be read. */
type ReadFailure = { readonly missingFile: string } | { readonly code: string };

const isFolder = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
};

/**
 * Reads another program's journal, to which lines are only added: all of it in the first call, in pieces of 1 MiB, and what was added
 * in the next ones. Where the file is another than before it begins again. It writes nothing and does not mind whose the file is. Pipes
 * and devices are refused with `ENOTREG`. Call it once at a time. Never rejects.
 */
export const createJournalReader = (path: string): ((sink: LineSink) => Promise<ReadFailure | undefined>) => {
  /** Where the next line begins, and what stands before it. */
  let position = 0;
  let before = Buffer.alloc(0);
  const isSameFile = async (file: FileHandle): Promise<boolean> => {
    const start = position - before.length;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(before.length), 0, before.length, start);
    return buffer.subarray(0, bytesRead).equals(before);
  };
  const readOn = async (file: FileHandle, { take }: LineSink): Promise<void> => {
    const piece = Buffer.alloc(PIECE_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, position);
      const lineBreak = bytesRead === 0 ? -1 : piece.lastIndexOf(LINE_BREAK, bytesRead - 1);
      // The last line is still being written.
      if (lineBreak === -1 && bytesRead < PIECE_BYTES) return;
      const end = lineBreak === -1 ? bytesRead : lineBreak + 1;
      position += end;
      before = Buffer.from(piece.subarray(Math.max(0, end - COMPARED_BYTES), end));
      if (lineBreak === -1) continue;
      for (const line of piece.toString('utf8', 0, lineBreak).split('\n')) if (line !== '') take(line);
    }
  };
  return async (sink) => {
    try {
      const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
      try {
        if (!(await file.stat()).isFile()) return { code: 'ENOTREG' };
        if (!(await isSameFile(file))) {
          position = 0;
          before = Buffer.alloc(0);
          sink.restart();
        }
        await readOn(file, sink);
        return undefined;
      } finally {
        await file.close();
      }
    } catch (error) {
      const code = errorCode(error) ?? 'no code';
      return code === 'ENOENT' && (await isFolder(dirname(path))) ? { missingFile: basename(path) } : { code };
    }
  };
};
