import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { SessionDocumentError } from '../../agent/session/document.ts';
import { errorCode } from './error-code.ts';

/** Whether a file could not be created because it exists. */
export const isThere = (error: unknown): boolean => errorCode(error) === 'EEXIST';

/**
 * Creates the directory of a file that a service is about to create, with access for the owner only, and returns whether it was
 * missing. Its parent has to exist: no default needs more, and a mistyped path should not begin a new tree beside the old one.
 */
export const makeDirectoryOf = (file: string): boolean => {
  const path = dirname(file);
  if (existsSync(path)) return false;
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (!isThere(error)) throw error;
    return false;
  }
};

const LINE_FEED = 0x0a;

const isNoUtf8 = (error: unknown): boolean => errorCode(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA';

const decodeUtf8 = (pieces: readonly Uint8Array[]): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  } catch (error) {
    throw isNoUtf8(error) ? new SessionDocumentError(['expected UTF-8']) : error;
  }
};

/**
 * The lines of a document, without their line breaks. The last line needs no line break. Throws a `SessionDocumentError` for a line
 * over the limit, and for invalid UTF-8.
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
      const line = decodeUtf8(pieces);
      pieces = [];
      bytes = 0;
      rest = rest.subarray(end + 1);
      yield line;
    }
    add(rest);
  }
  if (pieces.length > 0) yield decodeUtf8(pieces);
}
