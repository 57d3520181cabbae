import { type CoreFault, Fault } from '../../../../src/core/fault.ts';
import { readJson } from '../../../../src/core/http/body.ts';
import { rejection } from '../../../check.ts';

/** The largest body that is read here. */
export const LIMIT_BYTES = 64;

/** Of a caller that never leaves. */
export const NEVER = new AbortController().signal;
/** Reads a body of JSON as a service does. */
export const read = (request: Request, limitBytes = LIMIT_BYTES): Promise<unknown> =>
  readJson(request, { limitBytes, signal: NEVER });
/** The detail of the fault that ends a reading. */
export const faultOf = async (reading: Promise<unknown>): Promise<CoreFault> => {
  const thrown = await rejection(reading);
  if (thrown instanceof Fault) return thrown.detail;
  throw thrown;
};

/** What a request may send as its body. */
export type Sent = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
/** A request with this body: JSON, unless its headers say otherwise. */
export const posting = (
  body: Sent | null,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Request =>
  new Request('http://gateway.test/', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === null ? {} : { body, duplex: 'half' }),
    ...(signal === undefined ? {} : { signal }),
  } as RequestInit);
/** The bytes of texts, and of numbers as they are. */
export const bytes = (...parts: readonly (string | readonly number[])[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(parts.flatMap((part) => (typeof part === 'string' ? [...new TextEncoder().encode(part)] : [...part])));
/** A body whose connection breaks as soon as it is read. */
export const breaking = () =>
  new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.error(new TypeError('terminated'));
      },
    },
    { highWaterMark: 0 },
  );
/** A body of unknown length that counts what is taken from it. */
export const flowing = (chunks: Iterable<Uint8Array>) => {
  const source = chunks[Symbol.iterator]();
  const taken = { bytes: 0, isCancelled: false, isOver: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = source.next();
        if (done) {
          taken.isOver = true;
          return controller.close();
        }
        taken.bytes += value.byteLength;
        controller.enqueue(value);
      },
      cancel() {
        taken.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { taken, body };
};
/** Blanks in chunks of this size, without end. */
export function* endless(chunkBytes: number): Generator<Uint8Array> {
  for (;;) yield new Uint8Array(chunkBytes).fill(0x20);
}
/** A text of JSON of so many bytes. */
export const padded = (totalBytes: number): string => `"${'x'.repeat(totalBytes - 2)}"`;
