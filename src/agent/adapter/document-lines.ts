import { errorCode } from '../../adapter/node/error-code.ts';
import { SessionDocumentError } from '../session/document.ts';

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
