import * as v from 'valibot';
import { createDeadline, untilAborted } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import { parseJson } from '../../../core/json.ts';
import { auditChunks } from './prompt.ts';
import { decideReply, type ReplyResult } from './reply.ts';
import type { AuditDecision, AuditEndpoint, AuditSettings } from './settings.ts';

type PromptAuditNeeds = {
  readonly clock: Clock;
  readonly settings: AuditSettings;
  readonly send: (request: Request) => Promise<Response>;
};

const REPLY_LIMIT_CHARS = 256 * 1024;
const Reply = v.object({
  choices: v.pipe(v.array(v.object({ message: v.object({ content: v.unknown() }) })), v.minLength(1)),
});

/** `next`: another endpoint is asked about the same chunk. `closed`: none is. */
type Asked = ReplyResult | 'next' | 'closed';

/** A path of exactly `/v1` is removed, because one is added. */
const chatUrl = (baseUrl: string): string =>
  `${baseUrl.replace(/\/+$/, '').replace(/^(\w+:\/\/[^/]+)\/v1$/i, '$1')}/v1/chat/completions`;

/**
 * Creates the platform's prompt audit: chunk after chunk, endpoint after endpoint, one time for all, closed whenever it cannot judge.
 * What it lacks are the platform's limits of audits at a time. Source: Wei-Shaw/sub2api 0.1.179,
 * backend/internal/securityaudit/prompt_guard.go and prompt_scanner.go.
 */
export const createPromptAudit = ({ clock, settings, send }: PromptAuditNeeds) => {
  const ask = async (endpoint: AuditEndpoint, content: string, signal: AbortSignal): Promise<Asked> => {
    const { base_url, model, token } = endpoint;
    const body = { model, messages: [{ role: 'user', content }], temperature: 0, max_tokens: 64, seed: 42 };
    const headers = {
      'content-type': 'application/json',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    };
    try {
      const request = new Request(chatUrl(base_url), { method: 'POST', headers, body: JSON.stringify(body), signal });
      const response = await untilAborted(send(request), signal);
      const text = await untilAborted(response.text(), signal);
      if (response.status === 429 || response.status >= 500) return 'next';
      if (!response.ok) return 'closed';
      const reply = text.length > REPLY_LIMIT_CHARS ? undefined : parseJson(Reply, text);
      return decideReply(reply?.choices[0]?.message.content, settings.scanners);
    } catch {
      return 'next';
    }
  };

  const askInTurn = async (chunk: string, endpoints: readonly AuditEndpoint[], signal: AbortSignal): Promise<Asked> => {
    for (const endpoint of endpoints) {
      const asked = await ask(endpoint, chunk, signal);
      if (asked !== 'next') return asked;
    }
    return 'closed';
  };

  /** Audits a chat's body. Never rejects; `allow` where the chat has no text. */
  return async (body: string): Promise<AuditDecision> => {
    const endpoints = settings.endpoints.filter(({ enabled }) => enabled);
    const [first] = endpoints;
    if (first === undefined) return 'unavailable';
    const limit = Math.min(...endpoints.map(({ input_limit }) => input_limit));
    const { signal, clear } = createDeadline(clock, first.timeout_ms);
    try {
      let worst: AuditDecision = 'allow';
      for (const chunk of auditChunks(body, limit)) {
        const asked = await askInTurn(chunk, endpoints, signal);
        if (asked === 'block' || asked === 'invalid') return asked;
        if (asked !== 'pass' && asked !== 'flag') return 'unavailable';
        if (asked === 'flag') worst = 'flag';
      }
      return worst;
    } finally {
      clear();
    }
  };
};
