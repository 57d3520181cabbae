import * as v from 'valibot';
import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { HttpClientError, type HttpResponse, isNeverConnected } from '../../core/http/client.ts';
import { parseJson } from '../../core/json.ts';
import { retryAfterMs } from '../../core/retry.ts';
import { INVISIBLE_CHARACTERS } from '../../core/text.ts';

const WORDS_CHARS = 200;
const DEFAULT_WAIT_MS = 1000;

const Complaint = v.object({ data: v.object({ message: v.string() }) });
const NamedError = v.object({ name: v.pipe(v.string(), v.regex(/^\w{1,60}$/)), data: v.unknown() });

/** Whether asking again would repeat something: a prompt may have begun, all else does no harm twice. */
export type Asking = { readonly isPrompt: boolean };

const failed = (code: string, message: string, { isPrompt }: Asking): Fault =>
  new Fault({ kind: 'agent-failed', status: 502, code, message, isRetryable: !isPrompt });

/** The turn that a prompt has begun goes on without us. */
const lost = (why: string): Fault =>
  failed('agent_lost', `The agent server broke off (${why}), and may be at work on the answer`, { isPrompt: true });

/** What was wrong with a request, in the agent's words, as one short line. */
const complaintIn = (text: string): string => {
  const words = parseJson(Complaint, text)?.data.message ?? '';
  const line = words
    .slice(0, 2 * WORDS_CHARS)
    .replaceAll(INVISIBLE_CHARACTERS, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line === '' ? '' : `: ${line.slice(0, WORDS_CHARS).toWellFormed()}`;
};

/** An answer with another status than the one of success, as the fault that it comes to. */
export const toRefusalFault = ({ status, text, header }: HttpResponse, now: number, asking: Asking): Fault => {
  if (status === 401) {
    const message =
      "The agent server refused the bridge's credentials: check AGENT_SERVER_USERNAME and AGENT_SERVER_PASSWORD";
    return failed('agent_unauthorized', message, asking);
  }
  if (status === 404) return new Fault({ kind: 'not-found', hint: 'The agent server knows no such thing' });
  if (status === 503) {
    const message = 'The agent server is not ready';
    const waitMs = retryAfterMs(header('retry-after'), now) ?? DEFAULT_WAIT_MS;
    return new Fault({ kind: 'unavailable', message, retryAfterMs: waitMs });
  }
  // What a proxy says that has lost the agent.
  if (asking.isPrompt && (status === 502 || status === 504)) return lost(`status ${status}`);
  // Only there it is about the request itself; elsewhere it may tell of the agent's insides.
  const complaint = status === 400 ? complaintIn(text) : '';
  return failed('agent_refused', `The agent server refused with status ${status}${complaint}`, asking);
};

/** An answer of success that is none. OpenCode answers unknown paths with a web page. */
export const toUnusableAnswerFault = (text: string, asking: Asking): Fault => {
  const named = parseJson(NamedError, text);
  if (named !== undefined) return failed('agent_failed', `The agent server failed (${named.name})`, asking);
  const message = 'The agent server answered in a form that is not OpenCode 1.x: check AGENT_BASE_URL';
  return failed('agent_unusable', message, asking);
};

const TOO_LARGE = 'agent_answer_too_large';

/** Whether a call came to nothing because there was too much to tell: it was too large, or took too long. */
export const isTooMuch = (error: unknown): boolean =>
  isTooSlow(error) ||
  (error instanceof Fault && error.detail.kind === 'agent-failed' && error.detail.code === TOO_LARGE);

/** Whether a call took longer than it may. */
export const isTooSlow = (error: unknown): boolean => error instanceof Fault && error.detail.kind === 'backend-timeout';

/** What went wrong below HTTP, as a fault; all else as it is. */
export const toConnectionFault = (error: unknown, asking: Asking): unknown => {
  if (!(error instanceof HttpClientError)) return error;
  const { code } = error;
  if (code === 'ANSWER_TOO_LARGE') return failed(TOO_LARGE, 'The answer of the agent server is too large', asking);
  if (isNeverConnected(code))
    return new Fault({ kind: 'backend-error', reason: `the agent server is not reached (${code})` });
  if (asking.isPrompt) return lost(code);
  return new Fault({ kind: 'backend-error', reason: `the agent server broke off (${code})` });
};

/** The agent knows no such thing. */
export const isNotFound = (error: unknown): boolean => error instanceof Fault && error.detail.kind === 'not-found';

/** An agent that cannot be reached for so long has lost what it was doing. */
export const GIVE_UP_AFTER_MS = 120_000;
export const TRY_EVERY_MS = 1000;

/** Whether the same call may go better in a moment: the agent is away, or cannot answer now. */
const mayPass = (error: unknown): boolean => error instanceof Fault && error.detail.kind !== 'not-found';

/** Calls the agent, again and again while it fails, and rejects with the last failure when that goes on for too long. */
export const withRetries = async <T>(
  call: () => Promise<T>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<T> => {
  const until = clock.now() + GIVE_UP_AFTER_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!mayPass(error) || clock.now() >= until) throw error;
    }
    await pause(clock, TRY_EVERY_MS, signal);
  }
};
