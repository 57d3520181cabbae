import type { Clock } from '../../../../src/core/clock.ts';
import { jsonResponse } from '../../../../src/core/http/response.ts';
import { termsUnaccepted, wrongKey } from '../../../../src/demo/relay/auth.ts';
import { guardError, htmlPage, internalError, refusedResponse } from '../../../../src/demo/relay/envelope.ts';
import { storeUnavailable } from '../../../../src/demo/relay/idempotency.ts';

/** Details of faults that a test sets. */
export type FaultSettings = {
  /** Where every redirect points. */
  location: string;
  /** How long `slow` and `late` take. */
  delayMs: number;
  /** The `Retry-After` of faults that have one; undefined omits it. */
  retryAfterSeconds: number | undefined;
};

const HUGE_BYTES = 50 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const SQUEEZED_CHUNK_BYTES = 1024;
const DRIP_MS = 1000;
const HEAD = '{"code":0,"message":"success","data":{"id":2,"notes":"';

/** The response to an aborted request; no one reads it. */
const gone = (): Response => new Response(null, { status: 499 });

/** Resolves with true after the delay, or with false as soon as the caller disconnects. */
export const pause = (clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const leave = () => {
      cancel();
      resolve(false);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', leave);
      resolve(true);
    });
    signal.addEventListener('abort', leave, { once: true });
  });

/** Answers only after the caller has disconnected. */
const never = ({ signal }: Request): Promise<Response> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(gone());
    else signal.addEventListener('abort', () => resolve(gone()), { once: true });
  });

const hugeBody = (): ReadableStream<Uint8Array<ArrayBuffer>> => {
  let leftBytes = HUGE_BYTES;
  const chunk = new Uint8Array(CHUNK_BYTES).fill(0x61);
  return new ReadableStream(
    {
      start: (controller) => controller.enqueue(new TextEncoder().encode(HEAD)),
      pull(controller) {
        leftBytes -= CHUNK_BYTES;
        if (leftBytes >= 0) return controller.enqueue(chunk.slice());
        controller.enqueue(new TextEncoder().encode('"}}'));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
};

let squeezed: Promise<Uint8Array<ArrayBuffer>> | undefined;

/** The same in gzip, which is made once: it takes a fifth of a second. */
const bombBody = (): ReadableStream<Uint8Array<ArrayBuffer>> => {
  let at = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        squeezed ??= new Response(hugeBody().pipeThrough(new CompressionStream('gzip')))
          .arrayBuffer()
          .then((bytes) => new Uint8Array(bytes));
        const bytes = await squeezed;
        controller.enqueue(bytes.slice(at, at + SQUEEZED_CHUNK_BYTES));
        at += SQUEEZED_CHUNK_BYTES;
        if (at >= bytes.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
};

const dripBody = (clock: Clock): ReadableStream<Uint8Array> => {
  let cancel = (): void => {};
  return new ReadableStream(
    {
      pull: (controller) =>
        new Promise((resolve) => {
          cancel = clock.after(DRIP_MS, () => {
            controller.enqueue(new TextEncoder().encode(' '));
            resolve();
          });
        }),
      cancel: () => cancel(),
    },
    { highWaterMark: 0 },
  );
};

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

/** Every line of the request's head, its key among them, in the body, in a header and in the reason phrase. */
const echo = (status: number, { headers }: Request): Response => {
  const key = headers.get('x-api-key') ?? '';
  const head = Object.fromEntries(headers);
  const body = {
    code: status,
    message: `cannot handle x-api-key: ${key}`,
    reason: key,
    metadata: head,
    data: { head },
  };
  return new Response(JSON.stringify(body), {
    status,
    statusText: `Bad ${key}`,
    headers: { ...JSON_TYPE, 'x-echo': key },
  });
};

const retryAfter = ({ retryAfterSeconds }: FaultSettings): Readonly<Record<string, string>> =>
  retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };

type ResponseNeeds = {
  readonly clock: Clock;
  readonly settings: FaultSettings;
  readonly drop: ((request: Request) => void) | undefined;
};

/** The faulty responses, by name: what a client sees, whether or not the platform did its work. */
export const createFaultResponses = ({ clock, settings, drop }: ResponseNeeds) => ({
  /** The connection breaks; where no test can break it, an empty 502, as from a proxy. */
  drop(request: Request): Response {
    drop?.(request);
    return new Response(null, { status: 502 });
  },
  never,
  echo,
  internal: internalError,
  storeUnavailable,
  terms: termsUnaccepted,
  unauthorized: wrongKey,
  forbidden: (): Response => guardError(403, 'FORBIDDEN', 'Admin access required'),
  notFound: (): Response => refusedResponse({ status: 404, message: 'user not found', reason: 'USER_NOT_FOUND' }),
  unavailable: (): Response => jsonResponse(503, { code: 503, message: 'service unavailable' }, retryAfter(settings)),
  rateLimited: (): Response =>
    jsonResponse(429, { code: 429, message: 'too many requests', reason: 'PANEL_RATE_LIMITED' }, retryAfter(settings)),
  html: (): Response => htmlPage(200, 'Relay'),
  badGateway: (): Response => htmlPage(502, 'Bad gateway'),
  misdirected: (): Response => htmlPage(421, 'Misdirected request'),
  garbage: (): Response => new Response('{"code":0,"message":"success","data":{"id":', { headers: JSON_TYPE }),
  wrongShape: (): Response => jsonResponse(200, { code: 0, message: 'success', data: { user: 'ok' } }),
  redirect: (status: number): Response => new Response(null, { status, headers: { location: settings.location } }),
  notModified: (): Response => new Response(null, { status: 304, headers: { etag: '"demo"' } }),
  huge: (): Response => new Response(hugeBody(), { headers: JSON_TYPE }),
  /** The same, squeezed into few bytes on the wire. */
  bomb: (): Response => new Response(bombBody(), { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }),
  /** One byte a second, for as long as it is read. */
  drip: (): Response => new Response(dripBody(clock), { headers: JSON_TYPE }),
});

export type FaultResponses = ReturnType<typeof createFaultResponses>;
