import * as v from 'valibot';
import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { HttpClientError, type HttpResponse, isNeverConnected } from '../../core/http/client.ts';
import { parseJson } from '../../core/json.ts';
import { retryAfterMs } from '../../core/retry.ts';
import { INVISIBLE_CHARACTERS } from '../../core/text.ts';
import { type AnswerFailure, type BridgeFault, isBridgeFault } from '../errors.ts';

const REASON_CHARS = 200;
const DEFAULT_WAIT_MS = 1000;

const RefusalBody = v.object({
  data: v.object({ message: v.string(), path: v.fallback(v.optional(v.string()), undefined) }),
});
const StoreErrorBody = v.object({
  data: v.object({ code: v.picklist(['disk_full', 'disk_failing', 'store_damaged']) }),
});
const NamedError = v.object({ name: v.pipe(v.string(), v.regex(/^\w{1,60}$/)), data: v.unknown() });

/** A prompt may have started its turn, so its client does not repeat it; it may repeat every other call. */
type AgentCall = { readonly isPrompt: boolean };

const agentFailed = (code: string, message: string, { isPrompt }: AgentCall, path?: string): Fault<BridgeFault> =>
  new Fault({
    kind: 'agent-failed',
    status: 502,
    code,
    message,
    isRetryable: !isPrompt,
    ...(path === undefined ? {} : { path }),
  });

/** The turn that a prompt has started goes on at the agent. */
const promptLost = (why: string): Fault<BridgeFault> =>
  agentFailed('agent_lost', `The agent server broke off (${why}), and may be at work on the answer`, {
    isPrompt: true,
  });

/** What the agent says was wrong with a request, as one short line. */
const refusalTextIn = (body: string): string => {
  const text = parseJson(RefusalBody, body)?.data.message ?? '';
  const line = text
    .slice(0, 2 * REASON_CHARS)
    .replaceAll(INVISIBLE_CHARACTERS, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line === '' ? '' : `: ${line.slice(0, REASON_CHARS).toWellFormed()}`;
};

/** Before anything was stored or a model was called. `reason`: which limit, where the agent says it. */
const promptTooLarge = (reason: string): Fault<BridgeFault> => {
  const todo = 'Send less: shorter texts, smaller files, or fewer earlier messages in a new conversation';
  const message = `The prompt is too large for the agent server${reason}. ${todo}`;
  return new Fault({ kind: 'agent-failed', status: 413, code: 'prompt_too_large', message, isRetryable: false });
};

/** Our agent server says of its store by a code what is wrong. OpenCode has no such errors. */
const STORE_ERRORS = {
  disk_full: { status: 507, code: 'agent_disk_full', message: 'The disk of the agent server is full' },
  disk_failing: { status: 502, code: 'agent_store_failed', message: 'The disk of the agent server fails' },
  store_damaged: { status: 502, code: 'agent_store_failed', message: 'The database of the agent server is damaged' },
} as const;
const TO_ITS_OPERATOR = 'so that it cannot store anything. Its operator has to look at it: see its log and its /ready';

/** The fault for a store of the agent that does not work; undefined for any other body. */
const storeFaultIn = (body: string, isRetryable: boolean): Fault<BridgeFault> | undefined => {
  const known = parseJson(StoreErrorBody, body)?.data.code;
  if (known === undefined) return undefined;
  const { status, code, message } = STORE_ERRORS[known];
  return new Fault({ kind: 'agent-failed', status, code, message: `${message}, ${TO_ITS_OPERATOR}`, isRetryable });
};

/** The fault for something that the agent does not have. */
export const missing = (hint: string): Fault<BridgeFault> => new Fault({ kind: 'not-found', hint });

/** The fault for a response whose status is not one of success. */
export const toRefusalFault = (
  { status, text, header }: HttpResponse,
  now: number,
  call: AgentCall,
): Fault<BridgeFault> => {
  if (status === 401) {
    const message =
      "The agent server refused the bridge's credentials: check AGENT_SERVER_USERNAME and AGENT_SERVER_PASSWORD";
    return agentFailed('agent_unauthorized', message, call);
  }
  if (status === 404) {
    return missing(
      'The agent server knows no such thing. If it is so for every request, check AGENT_BASE_URL, without a path',
    );
  }
  // Refused before anything was stored, so nothing was begun.
  const storeFault = status >= 500 ? storeFaultIn(text, true) : undefined;
  if (storeFault !== undefined) return storeFault;
  if (status === 503) {
    const message = 'The agent server is not ready';
    const waitMs = retryAfterMs(header('retry-after'), now) ?? DEFAULT_WAIT_MS;
    return new Fault({ kind: 'unavailable', message, retryAfterMs: waitMs });
  }
  // The answer of a proxy that has lost its connection to the agent.
  if (call.isPrompt && (status === 502 || status === 504)) return promptLost(`status ${status}`);
  if (status === 413) return promptTooLarge(refusalTextIn(text));
  // With other statuses the text may reveal internals of the agent.
  const reason = status === 400 ? refusalTextIn(text) : '';
  const path = status === 400 ? parseJson(RefusalBody, text)?.data.path : undefined;
  return agentFailed('agent_refused', `The agent server refused with status ${status}${reason}`, call, path);
};

/** The fault for a body that is not what the call returns. OpenCode answers unknown paths with a web page. */
export const toUnusableAnswerFault = (text: string, call: AgentCall): Fault<BridgeFault> => {
  const storeFault = storeFaultIn(text, !call.isPrompt);
  if (storeFault !== undefined) return storeFault;
  const named = parseJson(NamedError, text);
  if (named !== undefined) return agentFailed('agent_failed', `The agent server failed (${named.name})`, call);
  const message = 'The agent server answered in a form that is not OpenCode 1.x: check AGENT_BASE_URL';
  return agentFailed('agent_unusable', message, call);
};

const TOO_LARGE = 'agent_answer_too_large';

/** Whether a call exceeded its time limit. */
export const isTooSlow = (error: unknown): boolean => error instanceof Fault && error.detail.kind === 'backend-timeout';

/** The fault for a failure below HTTP; any other error as it is. */
export const toConnectionFault = (error: unknown, call: AgentCall): unknown => {
  if (!(error instanceof HttpClientError)) return error;
  const { code } = error;
  if (code === 'ANSWER_TOO_LARGE') return agentFailed(TOO_LARGE, 'The answer of the agent server is too large', call);
  if (isNeverConnected(code))
    return new Fault({
      kind: 'backend-error',
      reason: `The agent server cannot be reached (${code}): check AGENT_BASE_URL and that it runs`,
    });
  if (call.isPrompt) return promptLost(code);
  return new Fault({ kind: 'backend-error', reason: `The agent server broke off (${code})` });
};

/** The failure of a turn whose agent was restarted, or cannot be reached any more. */
export const INTERRUPTED_FAILURE: AnswerFailure = {
  status: 502,
  code: 'agent_interrupted',
  message: 'The agent server stopped before it had answered. What it has done until then is not undone',
};

/** The fault for a turn that cannot be read any more. */
export const agentInterrupted = (): Fault<BridgeFault> =>
  new Fault({ kind: 'agent-failed', isRetryable: false, ...INTERRUPTED_FAILURE });

/** An agent that cannot be reached for so long has lost its turns. */
const GIVE_UP_AFTER_MS = 120_000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 8000;
const JITTER = 0.5;

/**
 * How long to wait after so many failures: a second, doubled up to eight, and up to half of that less by `chance` (0 to 1), so
 * that turns that failed together do not come back together.
 */
const agentRetryMs = (failures: number, chance: () => number): number =>
  Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, failures - 1)) * (1 - JITTER * chance());

/** Whether the same call may succeed in a moment: the agent is not reachable, or cannot answer now. */
const isTransient = (error: unknown): boolean =>
  isBridgeFault(error) && !['not-found', 'turn-refused', 'client-left', 'bad-input'].includes(error.detail.kind);

/** Repeats a call to the agent while it fails, less and less often. Rejects with the last failure after two minutes. */
export const withRetries = async <T>(
  call: () => Promise<T>,
  { clock, chance, signal }: { readonly clock: Clock; readonly chance: () => number; readonly signal: AbortSignal },
): Promise<T> => {
  const until = clock.now() + GIVE_UP_AFTER_MS;
  for (let failures = 1; ; failures++) {
    try {
      return await call();
    } catch (error) {
      if (!isTransient(error) || clock.now() >= until) throw error;
    }
    await pause(clock, Math.min(agentRetryMs(failures, chance), until - clock.now()), signal);
  }
};
