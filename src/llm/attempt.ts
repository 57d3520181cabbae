import { untilAborted } from '../core/async.ts';
import { Fault } from '../core/fault.ts';
import { type HttpClient, HttpClientError, type HttpResponse } from '../core/http/client.ts';
import { retryAfterMs } from '../core/retry.ts';
import type { DialectChoice } from './detect.ts';
import type { BackendKey, Refusal } from './key-pool.ts';
import { refusalOf } from './refusal.ts';
import type { ChatCall, ChatReply, Dialect } from './types.ts';

/** How one call with one key went. Reasons are our own words. */
export type Attempt =
  | { readonly kind: 'answered'; readonly reply: Exclude<ChatReply, { readonly kind: 'error' }> }
  /** The key is not wanted now. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The request is not wanted, whatever the key. */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** Another key may do better. A missing model is nothing against the host, and must not close it to other models. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isHostFailure: boolean };

export type AttemptNeeds = {
  readonly baseUrl: string;
  readonly dialect: DialectChoice;
  readonly httpClient: HttpClient;
  readonly now: () => number;
};

/** Far more than any verdict with its thinking, and little enough for many at once. */
const ANSWER_LIMIT_BYTES = 1_048_576;

const hostTrouble = (reason: string): Attempt => ({ kind: 'failed', reason, isHostFailure: true });

export const headersFor = (key: BackendKey): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json',
  ...(key.secret === '' ? {} : { authorization: `Bearer ${key.secret}` }),
});

const failureOf = (status: number): Attempt => {
  const reason = status === 404 ? 'HTTP 404, as for a model that it does not have' : `HTTP ${status}`;
  if (status >= 500 || status === 408) return hostTrouble(reason);
  return status === 404 ? { kind: 'failed', reason, isHostFailure: false } : { kind: 'rejected', reason };
};

/** Rejects with the signal's reason when it aborts; every other ending is a value. */
export const attemptRequest = async (
  { baseUrl, dialect, httpClient, now }: AttemptNeeds,
  call: ChatCall,
  { key, signal }: { readonly key: BackendKey; readonly signal: AbortSignal },
): Promise<Attempt> => {
  let spoken: Dialect | undefined;
  let received: HttpResponse;
  try {
    spoken = await untilAborted(dialect.current(), signal);
    if (spoken === undefined) return hostTrouble('it answers neither like Ollama nor like OpenAI');
    received = await httpClient({
      method: 'POST',
      url: baseUrl + spoken.chatPath,
      headers: headersFor(key),
      body: spoken.bodyOf(call),
      signal,
      limitBytes: ANSWER_LIMIT_BYTES,
    });
  } catch (error) {
    if (error instanceof Fault || !(error instanceof HttpClientError)) throw error;
    dialect.forget();
    return hostTrouble(`no whole answer (${error.code})`);
  }
  const { status, text } = received;
  const refusal =
    status === 200 ? undefined : refusalOf(status, text, retryAfterMs(received.header('retry-after'), now()));
  if (refusal !== undefined) return { kind: 'refused', refusal };
  if (status !== 200) {
    // Another server may have moved in behind the address.
    if (status === 404) dialect.forget();
    return failureOf(status);
  }
  const reply = spoken.replyFrom(text, call.model);
  if (reply.kind !== 'error') return { kind: 'answered', reply };
  const inDisguise = refusalOf(status, reply.text, undefined);
  return inDisguise === undefined ? hostTrouble('an error under HTTP 200') : { kind: 'refused', refusal: inDisguise };
};
