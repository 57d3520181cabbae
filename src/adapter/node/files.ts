import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { SessionDocumentError } from '../../agent/session/document.ts';

/** Whether the system says that what was to be made is there already. */
export const isThere = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST';

/**
 * Makes a directory for its owner alone, and those above it. Node's own way to do so never ends where the system says that
 * there is none above, as /proc does.
 */
export const makeDirectory = (path: string): void => {
  const parent = dirname(path);
  if (existsSync(path) || parent === path) return;
  makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!isThere(error)) throw error;
  }
};

const LINE_FEED = 0x0a;

const isNoUtf8 = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA';

const textOf = (pieces: readonly Uint8Array[]): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  } catch (error) {
    throw isNoUtf8(error) ? new SessionDocumentError(['expected UTF-8']) : error;
  }
};

/**
 * The lines of a document, without their breaks, each whole; the last one needs none. A line that is longer than it may be,
 * or no UTF-8, is a `SessionProblem`.
 */
export async function* documentLines(chunks: AsyncIterable<Uint8Array>, limitBytes: number): AsyncGenerator<string> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  const add = (piece: Uint8Array): void => {
    bytes += piece.length;
    if (bytes > limitBytes) throw new SessionDocumentError([`expected lines of at most ${limitBytes} bytes`]);
    if (piece.length > 0) pieces.push(piece);
  };
  for await (const chunk of chunks) {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      add(rest.subarray(0, end));
      const line = textOf(pieces);
      pieces = [];
      bytes = 0;
      rest = rest.subarray(end + 1);
      yield line;
    }
    add(rest);
  }
  if (pieces.length > 0) yield textOf(pieces);
}
