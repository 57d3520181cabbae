import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import type { HttpClient } from '../../core/http/client.ts';
import { isRecord, parseJson } from '../../core/json.ts';
import { withCallDeadline } from '../call-deadline.ts';
import { errorTextFor } from '../errors/error-text.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from '../relay/client.ts';
import { auditFindings, contentFindings, type Facts } from './findings.ts';

type CheckNeeds = {
  readonly relay: RelayClient;
  readonly httpClient: HttpClient;
  readonly clock: Clock;
  readonly limitMs: number;
  readonly largestThreshold: number;
  /** The chats of a user that the engines have to refuse; undefined to look at settings alone. */
  readonly chat: { readonly userKey: string; readonly model: string; readonly text: string } | undefined;
};

const ANSWER_LIMIT_BYTES = 1024 * 1024;
const Refusal = v.object({ error: v.object({ code: v.string() }) });

/** A chat for each engine, which has to refuse it with this code: the first engine does not see an earlier message. */
const TRIALS = [
  { engine: 'content moderation', code: 'content_policy_violation', last: [] },
  { engine: 'prompt audit', code: 'prompt_guard_blocked', last: [{ role: 'user', content: 'Good morning' }] },
] as const;

/** What is open at the relay, a line each, from its settings and from a harmful chat. Changes nothing. Never rejects. */
export const checkRelay = async (needs: CheckNeeds): Promise<readonly string[]> => {
  const { relay, httpClient, clock, limitMs, largestThreshold, chat } = needs;
  const within = <T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withCallDeadline(clock, { limitMs, signal: new AbortController().signal }, ({ signal }) => body(signal));
  const unread: string[] = [];
  const read = (path: string): Promise<Facts | undefined> =>
    within((signal) => relay.get(path, {}, signal)).then(
      (data) => (isRecord(data) ? data : {}),
      (error: unknown) => {
        const { code, what } = errorTextFor(error instanceof RelayError ? error.detail : { kind: 'deadline' });
        unread.push(`nothing is known of ${path}, which could not be read. ${code}: ${what}.`);
        return undefined;
      },
    );
  const tryChat = async ({ engine, code, last }: (typeof TRIALS)[number]): Promise<readonly string[]> => {
    if (chat === undefined) return [];
    const { userKey, model, text } = chat;
    const url = `${relay.address.origin}/v1/chat/completions`;
    const headers = { authorization: `Bearer ${userKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: text }, ...last] });
    const answer = await within((signal) =>
      httpClient({ method: 'POST', url, headers, body, signal, limitBytes: ANSWER_LIMIT_BYTES }),
    ).catch(() => undefined);
    if (answer?.status === 403 && parseJson(Refusal, answer.text)?.error.code === code) return [];
    const got = answer === undefined ? 'no answer' : `status ${answer.status}`;
    const why =
      answer?.status === 200 ? 'reached the model' : 'was refused otherwise: look at CHECK_USER_KEY and CHECK_MODEL';
    return [`${engine} did not stop a harmful chat with 403 ${code}. It got ${got} and ${why}.`];
  };

  const paths = ['risk-control/config', 'risk-control/status', 'prompt-audit/config'];
  const [config, status, audit] = await Promise.all(paths.map(read));
  const tried: string[] = [];
  for (const trial of TRIALS) tried.push(...(await tryChat(trial)));
  const isKnown = config !== undefined && status !== undefined;
  return [
    ...(isKnown ? contentFindings(config, status, { now: clock.now(), largestThreshold }) : []),
    ...(audit === undefined ? [] : auditFindings(audit)),
    ...unread,
    ...tried,
  ];
};
