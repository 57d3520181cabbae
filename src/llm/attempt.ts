import { Fault } from '../core/fault.ts';
import { HttpClientError, type HttpResponse, isNeverConnected } from '../core/http/client.ts';
import type { Span } from '../core/http/tracing.ts';
import { retryAfterMs } from '../core/retry.ts';
import { BACKEND_BUSY, type Backend, currentDialect } from './detect.ts';
import type { BackendKey, KeyRefusal } from './key-state.ts';
import { detectKnownError } from './known-errors.ts';
import { detectRefusal } from './refusal.ts';
import type { ChatCall, ChatReply, Dialect } from './types.ts';

/** The outcome of one call with one key. Reasons never quote the backend. */
export type Attempt =
  | {
      readonly kind: 'answered';
      readonly reply: Exclude<ChatReply, { readonly kind: 'error' }>;
      /** Settings of the chat template went out in place of the system message. */
      readonly isBySettings?: true;
    }
  /** The backend refused the key. */
  | { readonly kind: 'refused'; readonly refusal: KeyRefusal }
  /** The backend refused the request, whatever the key. `isFinal`: it would refuse a repair of it as well. */
  | { readonly kind: 'rejected'; readonly reason: string; readonly isFinal?: true }
  /** The backend is healthy and has no capacity, or is still loading its model: the same call may succeed in a moment. */
  | { readonly kind: 'busy'; readonly retryAfterMs?: number }
  /** Another key may succeed. A missing model is no failure of the host and must not block its other models. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isHostFailure: boolean };

/** Far more than any verdict with its thinking, and small enough for many at once. */
const ANSWER_LIMIT_BYTES = 1_048_576;

const hostFailure = (reason: string): Attempt => ({ kind: 'failed', reason, isHostFailure: true });

/** The headers of a call with this key. An empty secret sends no authorization. */
export const headersFor = (key: BackendKey): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json',
  ...(key.secret === '' ? {} : { authorization: `Bearer ${key.secret}` }),
});

const toFailure = (status: number): Attempt => {
  const reason = status === 404 ? 'HTTP 404, as for a model that it does not have' : `HTTP ${status}`;
  if (status >= 500 || status === 408) return hostFailure(reason);
  return status === 404 ? { kind: 'failed', reason, isHostFailure: false } : { kind: 'rejected', reason };
};

const readError = (status: number, text: string, waitMs: number | undefined): Attempt => {
  const refusal = detectRefusal(status, text, waitMs);
  if (refusal !== undefined) return { kind: 'refused', refusal };
  const known = detectKnownError(status, text);
  if (known?.kind === 'busy') return { kind: 'busy', ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }) };
  if (known?.kind === 'final') return { kind: 'rejected', reason: known.reason, isFinal: true };
  if (known?.kind === 'unusable') return { kind: 'answered', reply: { kind: 'unusable', reason: known.reason } };
  return toFailure(status);
};

/** Makes one call with one key. Rejects with the signal's reason when it aborts; every other outcome is a value. */
export const attemptRequest = async (
  { baseUrl, dialect, httpClient, clock }: Backend,
  call: ChatCall,
  { key, signal, span }: { readonly key: BackendKey; readonly signal: AbortSignal; readonly span?: Span | undefined },
): Promise<Attempt> => {
  let chatApi: Dialect | undefined;
  let response: HttpResponse;
  try {
    chatApi = await currentDialect(dialect, signal);
    if (chatApi === undefined) return hostFailure('it answers neither like Ollama nor like OpenAI');
    span?.set({ 'gen_ai.provider.name': chatApi.name });
    response = await httpClient({
      method: 'POST',
      url: baseUrl + chatApi.chatPath,
      headers: { ...headersFor(key), ...span?.context },
      body: chatApi.createBody(call),
      signal,
      limitBytes: ANSWER_LIMIT_BYTES,
    });
  } catch (error) {
    if (error instanceof Fault || !(error instanceof HttpClientError)) throw error;
    dialect.forget();
    if (error.code === BACKEND_BUSY) return { kind: 'busy' };
    const status = /^HTTP_(\d{3})$/.exec(error.code)?.[1];
    if (status !== undefined) return hostFailure(`HTTP ${status}`);
    const what = isNeverConnected(error.code) ? 'it could not be reached' : 'no whole answer';
    return hostFailure(`${what} (${error.code})`);
  }
  const { status, text } = response;
  if (status !== 200) {
    // Another server may now have the address.
    if (status === 404) dialect.forget();
    return readError(status, text, retryAfterMs(response.header('retry-after'), clock.now()));
  }
  const reply = chatApi.parseReply(text, call.model);
  if (reply.kind !== 'error') {
    const isBySettings = call.templateSettings !== undefined && chatApi.takesTemplateSettings;
    return { kind: 'answered', reply, ...(isBySettings ? { isBySettings } : {}) };
  }
  const hiddenRefusal = detectRefusal(status, reply.text, undefined);
  return hiddenRefusal === undefined
    ? hostFailure('an error under HTTP 200')
    : { kind: 'refused', refusal: hiddenRefusal };
};
