import { createDeadline, type Deadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
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

/** What the deadline of a request is made of. */
type DeadlineNeeds = { readonly clock: Clock; readonly spanOf: RequestSpans['of'] };

/** Answers a request within its time. What it has started is aborted when it fails: one text without a verdict fails all. */
export const answerWithin = async (
  request: Request,
  { clock, limitMs, spanOf }: DeadlineNeeds & { readonly limitMs: number },
  answer: (deadline: Deadline) => Promise<Response>,
): Promise<Response> => {
  const deadline = createDeadline(clock, deadlineMsFor(request.headers, limitMs), request.signal);
  try {
    const response = await answer({ ...deadline, span: spanOf(request) });
    deadline.clear();
    return response;
  } catch (error) {
    deadline.end();
    throw error;
  }
};
