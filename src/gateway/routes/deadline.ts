import { createDeadline, type Deadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { RequestSpans } from '../../core/http/tracing.ts';

/** Headers in which clients send how long they wait: name, and milliseconds per unit. */
const TIMEOUT_HEADERS = [
  ['x-request-timeout-ms', 1],
  // Sent by the official OpenAI clients, in seconds: Node's whole timeout, Python's read timeout.
  ['x-stainless-timeout', 1000],
  ['x-stainless-read-timeout', 1000],
] as const;

/** The time that a request may take: the configured limit, or the client's own timeout when that is shorter. */
export const deadlineMsFor = (headers: Headers, limitMs: number): number => {
  let shortest = limitMs;
  for (const [name, unitMs] of TIMEOUT_HEADERS) {
    const given = headers.get(name);
    const clientMs = given !== null && /^\d{1,9}(?:\.\d{1,6})?$/.test(given) ? Number(given) * unitMs : 0;
    if (clientMs > 0) shortest = Math.min(shortest, clientMs);
  }
  return shortest;
};

type AnswerWithinNeeds = {
  readonly clock: Clock;
  readonly spanOf: RequestSpans['of'];
  readonly deadlineMs: number;
  /** Aborts when the process is about to end: what still runs is answered then. */
  readonly stopSignal?: AbortSignal | undefined;
};

/**
 * Answers a request within its time, at most `limitMs` where that is given. What it has started is aborted when it fails: one text
 * without a verdict fails all.
 */
export type AnswerWithin = (
  request: Request,
  answer: (deadline: Deadline) => Promise<Response>,
  limitMs?: number,
) => Promise<Response>;

const STOPPING = new Fault({
  kind: 'unavailable' as const,
  message: 'The gateway is being stopped; ask again',
  retryAfterMs: 1000,
});

export const createAnswerWithin = ({ clock, spanOf, deadlineMs, stopSignal }: AnswerWithinNeeds): AnswerWithin => {
  // A listener of the signal for each request would cost each of them more.
  const running = new Set<Deadline>();
  const stop = (): void => {
    for (const deadline of running) deadline.end(STOPPING);
  };
  stopSignal?.addEventListener('abort', stop, { once: true });
  return async (request, answer, limitMs = deadlineMs) => {
    const allowedMs = deadlineMsFor(request.headers, Math.min(limitMs, deadlineMs));
    const deadline = createDeadline(clock, allowedMs, request.signal);
    running.add(deadline);
    try {
      if (stopSignal?.aborted === true) throw STOPPING;
      const response = await answer({ ...deadline, span: spanOf(request) });
      deadline.clear();
      return response;
    } catch (error) {
      deadline.end();
      // A body that was being read fails for a reason of its own.
      throw deadline.signal.reason === STOPPING ? STOPPING : error;
    } finally {
      running.delete(deadline);
    }
  };
};
