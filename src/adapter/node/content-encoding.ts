import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { HttpClientError } from '../../core/http/client.ts';
import { errorCode } from './error-code.ts';

const DECODERS: Readonly<Record<string, (body: Buffer, limits: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

const TOO_LARGE = 'ERR_BUFFER_TOO_LARGE';

/**
 * A body as it was before its content encoding. We ask for none, and proxies in front of a backend encode all the same.
 * Undefined when it has none. Rejects with an `HttpClientError`: `ANSWER_TOO_LARGE` over `limitBytes`,
 * `ANSWER_ENCODING` for an encoding that is unknown or broken.
 */
export const decodeContent = (
  body: Buffer,
  encoding: string | null,
  limitBytes: number,
): Promise<Buffer> | undefined => {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return undefined;
  const decode = DECODERS[name];
  if (decode === undefined) return Promise.reject(new HttpClientError('ANSWER_ENCODING'));
  return decode(body, { maxOutputLength: limitBytes }).catch((error: unknown) => {
    throw new HttpClientError(errorCode(error) === TOO_LARGE ? 'ANSWER_TOO_LARGE' : 'ANSWER_ENCODING');
  });
};
