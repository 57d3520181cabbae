import * as assert from 'uvu/assert';
import * as v from 'valibot';
import type { HttpRequest } from '../../../src/core/http/client.ts';
import { GuardCompletion } from '../../../src/gateway/openapi.ts';
import { GUARD_CATEGORIES } from '../../../src/gateway/policy/guard-categories.ts';
import { auditBody } from './relay-audit.ts';
import {
  type Answer,
  GATEWAY_KEY,
  type gatewayOver,
  nonceOf,
  replying,
  systemMessageOf,
  verdictJson,
} from './world.ts';

const CLEAN = Object.fromEntries(GUARD_CATEGORIES.map(({ code }) => [code, 0]));

/** Whether a call is one of the guard face: its policy has the guard categories. */
export const isGuardCall = (sent: HttpRequest): boolean => systemMessageOf(sent).includes('\nJB (jailbreak): ');

/** A verdict for the guard face as a judge writes it: zero but for the codes given. */
export const guardVerdictJson = (nonce: string, given: Readonly<Record<string, unknown>> = {}): string =>
  verdictJson(nonce, { ...CLEAN, ...given });

/** A judge of the guard face that always finds the same. */
export const guarding =
  (scores: Readonly<Record<string, unknown>> = {}): Answer =>
  (sent) =>
    replying(sent, guardVerdictJson(nonceOf(sent), scores));

type Asked = Pick<ReturnType<typeof gatewayOver>, 'app'>;

/** Sends a chat to the guard face with the right key. */
export const askGuard = (
  { app }: Asked,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  app(
    new Request('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${GATEWAY_KEY}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  );

/** What the guard face says about a text, shown to be what `/openapi.json` promises and no more. */
export const contentOf = async (response: Response): Promise<string> => {
  const body: unknown = await response.json();
  assert.is(response.status, 200, JSON.stringify(body));
  const parsed = v.parse(GuardCompletion, body);
  assert.equal(parsed, body, 'an answer holds nothing but what is described');
  assert.is(parsed.choices.length, 1);
  return parsed.choices[0]?.message.content ?? '';
};

/** Asks as a relay platform does, and gives the content. */
export const guardSays = async (world: Asked, text = 'some text', model = 'qwen3guard'): Promise<string> =>
  contentOf(await askGuard(world, auditBody(text, model)));
