import { untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { ModelError } from './types.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;

/**
 * Reads the bytes of an event stream and says of each chunk whether it holds a part of an event: comments and empty lines
 * do not count, they only keep an idle connection open.
 */
export const createSseContentDetector = (): ((bytes: Uint8Array) => boolean) => {
  /** The current line, which may have begun in an earlier chunk. */
  let line: 'empty' | 'comment' | 'content' = 'empty';
  const after = (byte: number): typeof line => {
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) return 'empty';
    return line === 'empty' ? (byte === COLON ? 'comment' : 'content') : line;
  };
  return (bytes) => {
    let hasContent = false;
    for (const byte of bytes) {
      line = after(byte);
      hasContent ||= line === 'content';
    }
    return hasContent;
  };
};

type ReadLimits = {
  /** For each chunk; 0 for no limit. In an event stream a chunk without a part of an event does not count. */
  readonly limitMs: number;
  /** For the whole body. */
  readonly limitBytes: number;
  /** For one line. A line is held whole until it ends. */
  readonly lineLimitBytes?: number;
};

/** Time and size limits of one exchange with a backend. A caller's abort ends it too. */
export type ExchangeLimiter = {
  /** Aborts the exchange itself. */
  readonly signal: AbortSignal;
  /** Settles like the promise, or rejects after `limitMs`; 0 for no limit. */
  readonly withTimeout: <T>(limitMs: number, promise: Promise<T>) => Promise<T>;
  readonly readText: (limitBody: ReadableStream<Uint8Array> | null, limits: ReadLimits) => Promise<string>;
  /** The same bytes of an event stream, under these limits. Its end ends the exchange. */
  readonly body: (body: ReadableStream<Uint8Array>, limits: ReadLimits) => ReadableStream<Uint8Array>;
  /** What to reject with: the caller's reason, or a `ModelError`. */
  readonly toError: (error: unknown) => unknown;
  /** Stops the timer and the caller's signal. */
  readonly end: () => void;
  /** The same, and aborts what still runs. */
  readonly abort: () => void;
};

type ExchangeNeeds = {
  readonly clock: Clock;
  /** The subject of error messages. */
  readonly who: string;
  /** For the whole exchange, from now on. */
  readonly wholeLimitMs: number;
  readonly signal: AbortSignal | undefined;
};

const CODE = /^[A-Z0-9_]{1,64}$/;

/** The platform's code for a failure below HTTP. The message is not used: it may name addresses. */
const systemErrorCode = (error: unknown): string | undefined => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && CODE.test(code) ? code : undefined;
};

export const createExchangeLimiter = ({ clock, who, wholeLimitMs, signal }: ExchangeNeeds): ExchangeLimiter => {
  const controller = new AbortController();
  /** Aborts the exchange after that time, unless the returned function is called. */
  const limit = (limitMs: number, what: string): (() => void) => {
    const onTimeout = () => controller.abort(new ModelError('network', `${who} ${what}`, { isRetryable: true }));
    return limitMs === 0 ? () => {} : clock.after(limitMs, onTimeout);
  };
  const cancelWhole = limit(wholeLimitMs, `was not done after ${wholeLimitMs} ms`);
  const onAbort = () => {
    cancelWhole();
    controller.abort(signal?.reason);
  };
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  const end = () => {
    cancelWhole();
    signal?.removeEventListener('abort', onAbort);
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
    return new ModelError('network', message, { isRetryable: true, code });
  };
  const within = async <T>(limitMs: number, promise: Promise<T>, silentMs = 0): Promise<T> => {
    // After some silence already, at least a moment remains.
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
    { limitMs, limitBytes, lineLimitBytes = limitBytes }: ReadLimits,
    hasContent: (bytes: Uint8Array) => boolean,
  ) => {
    const reader = body.getReader();
    let bytes = 0;
    let lineBytes = 0;
    // Counts only while a read is pending: a slow consumer is not the backend's silence.
    let silentMs = 0;
    return {
      async next(): Promise<Uint8Array | undefined> {
        const startedAt = clock.now();
        const { value } = await within(limitMs, reader.read(), silentMs);
        silentMs = value !== undefined && hasContent(value) ? 0 : silentMs + clock.now() - startedAt;
        if (value === undefined) return undefined;
        bytes += value.byteLength;
        if (bytes > limitBytes) throw new ModelError('api', `${who} answered with more than ${limitBytes} bytes`);
        const lineEnd = value.indexOf(LINE_FEED);
        if (lineBytes + (lineEnd === -1 ? value.byteLength : lineEnd) > lineLimitBytes)
          throw new ModelError('api', `${who} answered with a line of more than ${lineLimitBytes} bytes`);
        lineBytes = lineEnd === -1 ? lineBytes + value.byteLength : value.byteLength - value.lastIndexOf(LINE_FEED) - 1;
        return value;
      },
      // A backend may ignore this, so it is not awaited.
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
      const cancel = () => {
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
            const reason = toError(error);
            cancel();
            stream.error(reason);
          }
        },
        cancel,
      });
    },
  };
};
