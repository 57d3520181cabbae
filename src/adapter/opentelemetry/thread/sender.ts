import { Worker } from 'node:worker_threads';
import { errorCode } from '../../node/error-code.ts';
import { CONCURRENCY, type Collector, type SpanSender } from '../exporter.ts';
import { SENDING_CODE } from './code.ts';
import { type SendAnswer, type SendQuestion, toSentSpans } from './messages.ts';

/** Several times what all requests that run at a time take. */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 };

/** After a thread that died, none is started for so long. */
const REST_MS = 10_000;

const startThread = ({ url, headers, timeoutMs }: Collector): Worker => {
  const collector: Collector = { url, headers, timeoutMs };
  const options = { name: 'spans', workerData: collector, resourceLimits: HEAP_LIMITS, stdout: true, stderr: true };
  return SENDING_CODE === undefined
    ? new Worker(new URL('./entry.ts', import.meta.url), options)
    : new Worker(SENDING_CODE, { ...options, eval: true });
};

type ThreadNeeds = { readonly start: (collector: Collector) => Worker; readonly now: () => number };

/**
 * Creates a sender in a thread of its own. Spans of a thread that dies are dropped, and those of the next seconds. For a server whose
 * speed counts: when connections of Node's HTTP client come to a busy thread, Node gives up much of the code that it has optimised
 * for the server's own sockets and streams, and what replaces it is slower. The streams and events of a thread that starts do the
 * same: so it starts at once, before there is such code, and its output is not piped.
 */
export const createThreadSender = (
  collector: Collector,
  { start, now }: ThreadNeeds = { start: startThread, now: () => performance.now() },
): SpanSender => {
  const asked = new Map<number, PromiseWithResolvers<string | undefined>>();
  let lastId = 0;
  let thread: Worker | undefined;
  /** Why the last thread died, and until when none is started. */
  let died = { reason: '', restsUntil: 0 };

  const fail = (error: unknown): void => {
    thread = undefined;
    died = { reason: errorCode(error) ?? 'the sending thread has ended', restsUntil: now() + REST_MS };
    for (const { resolve } of asked.values()) resolve(died.reason);
    asked.clear();
  };
  const open = (): Worker => {
    const worker = start(collector);
    worker.on('message', ({ id, reason }: SendAnswer) => {
      asked.get(id)?.resolve(reason);
      asked.delete(id);
      // A thread with nothing to send keeps no process running.
      if (asked.size === 0) worker.unref();
    });
    let lastError: unknown;
    worker.on('error', (error) => {
      lastError = error;
    });
    worker.on('exit', () => {
      if (worker === thread) fail(lastError);
    });
    return worker;
  };
  /** The thread; undefined while there is none. */
  const current = (): Worker | undefined => {
    if (thread !== undefined || now() < died.restsUntil) return thread;
    try {
      thread = open();
    } catch (error) {
      fail(error);
    }
    return thread;
  };
  current()?.unref();
  return {
    async send(spans) {
      const sent = toSentSpans(spans);
      if (sent === undefined) return undefined;
      if (asked.size >= CONCURRENCY) return 'too many requests at a time';
      const worker = current();
      if (worker === undefined) return died.reason;
      const answer = Promise.withResolvers<string | undefined>();
      const question: SendQuestion = { id: ++lastId, sent };
      asked.set(question.id, answer);
      worker.ref();
      worker.postMessage(question);
      return answer.promise;
    },
    async close() {
      await Promise.all([...asked.values()].map(({ promise }) => promise));
      await thread?.terminate();
    },
  };
};
