import * as assert from 'uvu/assert';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { createDemoRelay } from '../../../src/demo/relay/relay.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';
import { type Answer, GATEWAY_KEY, gatewayOver } from '../../gateway/harness/world.ts';

export const ALICE = 2;
export const CAROL = 4;

type Send = (request: Request) => Promise<Response>;
export type Status = {
  readonly status: string;
  readonly frozen_until: string | null;
  readonly last_http_status: number;
};

/** A demo relay whose moderation calls go to `send`. Its content moderation is on; all other settings are the platform's own. */
export const relayOver = (
  send: Send,
  { clock = createFakeClock(), keys = [GATEWAY_KEY] }: { clock?: FakeClock; keys?: string[] } = {},
) => {
  const asked: Request[] = [];
  const { handler, world } = createDemoRelay({
    clock,
    newId: () => 'id',
    moderationKeys: keys,
    sendModeration(request) {
      asked.push(request.clone());
      return send(request);
    },
  });
  const { settings } = world.moderation;
  settings.base_url = 'http://gateway.test';
  settings.enabled = true;
  world.settings.isRiskControlOn = true;
  const keyOf = (userId: number): string => world.users.find(({ id }) => id === userId)?.api_keys[0]?.key ?? '';
  /** Sends a user's request to a front, such as `responses`: `passed` when it reached the model, else the code of the refusal. */
  const post = async (front: string, body: string, userId = ALICE): Promise<string> => {
    const response = await handler(
      new Request(`http://relay/v1/${front}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keyOf(userId)}` },
        body,
      }),
    );
    if (response.status === 200) return 'passed';
    const refusal = (await response.json()) as { error?: { code: string }; code?: string };
    return refusal.error?.code ?? refusal.code ?? '';
  };
  const chat = (messages: unknown, userId?: number): Promise<string> =>
    post('chat/completions', JSON.stringify({ messages }), userId);
  const say = (content: unknown, userId?: number): Promise<string> => chat([{ role: 'user', content }], userId);
  const admin = async (path: string, method = 'GET', body?: object) => {
    const headers = { 'x-api-key': DEMO_ADMIN_KEY };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await handler(new Request(`http://relay/api/v1/admin/${path}`, init));
    assert.is(response.status, 200, path);
    return ((await response.json()) as { data: unknown }).data;
  };
  const statuses = async (): Promise<readonly Status[]> =>
    ((await admin('risk-control/status')) as { api_key_statuses: Status[] }).api_key_statuses;
  const frozenMs = async (): Promise<readonly number[]> =>
    (await statuses()).map(({ frozen_until }) => (frozen_until === null ? 0 : Date.parse(frozen_until) - clock.now()));
  return { clock, handler, keyOf, post, asked, world, settings, chat, say, admin, statuses, frozenMs };
};

/** A demo relay before a gateway whose backend is `answer`, set up as docs/relays.md says but for `variables`. */
export const relayBefore = (answer: Answer, variables: Readonly<Record<string, string>> = {}) => {
  const gateway = gatewayOver(answer, { variables });
  const relay = relayOver(gateway.app, { clock: gateway.clock });
  relay.settings.timeout_ms = 30_000;
  relay.settings.thresholds = Object.fromEntries(Object.keys(relay.settings.thresholds).map((name) => [name, 0.5]));
  return { ...relay, gateway };
};
