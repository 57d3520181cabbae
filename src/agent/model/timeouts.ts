import { untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { ModelError } from './types.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;

/**
 * Follows the bytes of an event stream, and says of each piece whether it holds anything of an event: comments and empty
 * lines say nothing, and keep a connection awake on which nothing happens.
 */
export const createSseContentDetector = (): ((bytes: Uint8Array) => boolean) => {
  /** What the line at hand is, which may have begun in an earlier piece. */
  let line: 'empty' | 'comment' | 'words' = 'empty';
  const after = (byte: number): typeof line => {
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) return 'empty';
    return line === 'empty' ? (byte === COLON ? 'comment' : 'words') : line;
  };
  return (bytes) => {
    let hasWords = false;
    for (const byte of bytes) {
      line = after(byte);
      hasWords ||= line === 'words';
    }
    return hasWords;
  };
};

export type ReadLimits = {
  /** For each piece; 0 for no limit. In a stream of events a piece without anything of an event is none. */
  readonly limitMs: number;
  /** For the whole. */
  readonly limitBytes: number;
};

/** Keeps an eye on one exchange with a backend: nothing in it lasts longer than it may, and a caller who leaves ends it. */
export type ExchangeLimiter = {
  /** For the exchange itself. */
  readonly signal: AbortSignal;
  /** Settles like the promise, but in time; 0 for no limit, as everywhere here. */
  readonly withTimeout: <T>(limitMs: number, promise: Promise<T>) => Promise<T>;
  readonly readText: (limitBody: ReadableStream<Uint8Array> | null, limits: ReadLimits) => Promise<string>;
  /** The same bytes of an event stream, watched. Its end is the end of the watch. */
  readonly body: (body: ReadableStream<Uint8Array>, limits: ReadLimits) => ReadableStream<Uint8Array>;
  /** What to reject with: the caller's reason, or the problem that it is. */
  readonly toError: (error: unknown) => unknown;
  /** Lets go of the caller. */
  readonly end: () => void;
  /** The same, and breaks off what still runs. */
  readonly abort: () => void;
};

export type ExchangeNeeds = {
  readonly clock: Clock;
  /** Whom sentences are about. */
  readonly who: string;
  /** For all of it, from now on. */
  readonly wholeLimitMs: number;
  readonly signal: AbortSignal | undefined;
};

const CODE = /^[A-Z0-9_]{1,64}$/;

/** The platform's own word for a failure below HTTP. Its message is left out: it may name addresses. */
const systemErrorCode = (error: unknown): string | undefined => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && CODE.test(code) ? code : undefined;
};

export const createExchangeLimiter = ({ clock, who, wholeLimitMs, signal }: ExchangeNeeds): ExchangeLimiter => {
  const controller = new AbortController();
  /** Breaks it off after that time, unless it is taken back. */
  const limit = (limitMs: number, what: string): (() => void) => {
    const late = () => controller.abort(new ModelError('network', `${who} ${what}`, { isRetryable: true }));
    return limitMs === 0 ? () => {} : clock.after(limitMs, late);
  };
  const cancelWhole = limit(wholeLimitMs, `was not done after ${wholeLimitMs} ms`);
  const leave = () => {
    cancelWhole();
    controller.abort(signal?.reason);
  };
  if (signal?.aborted) leave();
  else signal?.addEventListener('abort', leave, { once: true });
  const end = () => {
    cancelWhole();
    signal?.removeEventListener('abort', leave);
  };
  const drop = () => {
    end();
    controller.abort();
  };
  const toError = (error: unknown): unknown => {
    if (signal?.aborted) return signal.reason;
    if (error instanceof ModelError) return error;
    const code = systemErrorCode(error);
    const message = `${who} could not be reached, or the connection broke${code === undefined ? '' : ` (${code})`}`;
    return new ModelError('network', message, { isRetryable: true });
  };
  const within = async <T>(limitMs: number, promise: Promise<T>, silentMs = 0): Promise<T> => {
    // Silence that has lasted for some time already leaves at least a moment.
    const leftMs = limitMs === 0 ? 0 : Math.max(1, limitMs - silentMs);
    const cancelTimer = limit(leftMs, `was silent for ${limitMs} ms`);
    try {
      return await untilAborted(promise, controller.signal);
    } finally {
      cancelTimer();
    }
  };
  const readerOf = (
    body: ReadableStream<Uint8Array>,
    { limitMs, limitBytes }: ReadLimits,
    saysSomething: (bytes: Uint8Array) => boolean,
  ) => {
    const reader = body.getReader();
    let bytes = 0;
    // Only while somebody waits for more: a reader that takes its time is not the backend's silence.
    let silentMs = 0;
    return {
      async next(): Promise<Uint8Array | undefined> {
        const askedAt = clock.now();
        const { value } = await within(limitMs, reader.read(), silentMs);
        silentMs = value !== undefined && saysSomething(value) ? 0 : silentMs + clock.now() - askedAt;
        bytes += value?.byteLength ?? 0;
        if (bytes > limitBytes) throw new ModelError('api', `${who} answered with more than ${limitBytes} bytes`);
        return value;
      },
      // A backend may ignore this, so nobody waits for it.
      release: () => void reader.cancel().catch(() => {}),
    };
  };
  return {
    signal: controller.signal,
    withTimeout: within,
    toError,
    end,
    abort: drop,
    async readText(body, limits) {
      if (body === null) return '';
      const reader = readerOf(body, limits, () => true);
      const decoder = new TextDecoder();
      let text = '';
      try {
        for (let bytes = await reader.next(); bytes !== undefined; bytes = await reader.next()) {
          text += decoder.decode(bytes, { stream: true });
        }
        return text + decoder.decode();
      } finally {
        reader.release();
      }
    },
    body(body, limits) {
      const reader = readerOf(body, limits, createSseContentDetector());
      const giveUp = () => {
        drop();
        reader.release();
      };
      return new ReadableStream({
        async pull(stream) {
          try {
            const bytes = await reader.next();
            if (bytes !== undefined) return stream.enqueue(bytes);
            end();
            stream.close();
          } catch (error) {
            const problem = toError(error);
            giveUp();
            stream.error(problem);
          }
        },
        cancel: giveUp,
      });
    },
  };
};
