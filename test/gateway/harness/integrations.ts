import { GATEWAY_KEY, type gatewayOver } from './world.ts';

type Asked = Pick<ReturnType<typeof gatewayOver>, 'app'>;
type Headers = Readonly<Record<string, string>>;

/** Sends a body to one of the paths for other products, with the right key unless `headers` hold another. */
export const askIntegration = ({ app }: Asked, path: string, body: unknown, headers: Headers = {}): Promise<Response> =>
  app(
    new Request(`http://gateway.test${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${GATEWAY_KEY}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  );

/**
 * What LiteLLM makes of an answer. `fallback`: its `unreachable_fallback`.
 * Source: BerriAI/litellm 1.106.2, proxy/guardrails/guardrail_hooks/generic_guardrail_api/generic_guardrail_api.py.
 */
export const litellmOutcome = async (
  answer: Response | undefined,
  fallback: 'fail_closed' | 'fail_open' = 'fail_closed',
): Promise<string> => {
  const unreachable = fallback === 'fail_open' ? 'passed' : 'failed';
  if (answer === undefined || [502, 503, 504].includes(answer.status)) return unreachable;
  if (!answer.ok) return 'failed';
  const { action = 'NONE', blocked_reason: reason } = (await answer.json()) as {
    action?: string;
    blocked_reason?: string;
  };
  return action === 'BLOCKED' ? (reason ?? '') : 'passed';
};

/** What Portkey makes of an answer: it passes every error. Source: Portkey-AI/gateway 1.15.2, src/middlewares/hooks/index.ts. */
export const portkeyOutcome = async (answer: Response): Promise<'passed' | 'denied'> => {
  if (!answer.ok) return 'passed';
  const { verdict } = (await answer.json()) as { verdict: boolean };
  return verdict ? 'passed' : 'denied';
};

/**
 * LibreChat's `moderateText`, re-stated: what it sends for a user's text, and what it does with the answer. Undefined is a lost
 * connection. Source: danny-avila/LibreChat, api/server/middleware/moderateText.js.
 */
export const librechatOutcome = async (
  send: (request: Request) => Promise<Response | undefined>,
  text: string | undefined,
  { url, key }: { readonly url: string; readonly key: string },
): Promise<'passed' | 'denied' | 'error in moderation check'> => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  try {
    const answer = await send(new Request(url, { method: 'POST', headers, body: JSON.stringify({ input: text }) }));
    if (answer?.ok !== true) return 'error in moderation check';
    const { results } = (await answer.json()) as { results: { flagged: boolean }[] };
    return results.some(({ flagged }) => flagged) ? 'denied' : 'passed';
  } catch {
    return 'error in moderation check';
  }
};
