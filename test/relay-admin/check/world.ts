import { randomBytes } from '../../../src/adapter/web-crypto.ts';
import type { HttpClient } from '../../../src/core/http/client.ts';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { checkRelay } from '../../../src/relay-admin/check/check.ts';
import { createRelayClient } from '../../../src/relay-admin/relay/client.ts';
import { ALICE, relayOver } from '../../demo/relay/moderated.ts';
import { read } from '../../docs/pages.ts';
import { guarding, isGuardCall } from '../../gateway/harness/guard-face.ts';
import { type Answer, GATEWAY_KEY, gatewayOver, judging, shownTextOf } from '../../gateway/harness/world.ts';

const THREAT = 'I will kill you';

/** A judge of the gateway that knows one threat. */
const judge: Answer = (sent) => {
  const scores = shownTextOf(sent).includes(THREAT) ? { VI: 90 } : {};
  return (isGuardCall(sent) ? guarding(scores) : judging(scores))(sent);
};

/** The bodies that docs/relays.md shows, in its order: content moderation and prompt audit. */
const shownBodies = (): readonly object[] =>
  [...read('docs/relays.md').matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) =>
    JSON.parse(
      text.replaceAll('https://gateway.example', 'http://gateway.test').replaceAll('a-gateway-key', GATEWAY_KEY),
    ),
  );

/** A fresh relay before a gateway, with everything off, and the check of it as its operator runs it. */
export const freshRelay = () => {
  const gateway = gatewayOver(judge);
  const relay = relayOver(gateway.app, { clock: gateway.clock, keys: [] });
  const { settings, audit, moderation } = relay.world;
  settings.isRiskControlOn = false;
  moderation.settings.enabled = false;
  moderation.settings.base_url = 'https://api.openai.com';
  const threats: string[] = [];
  const httpClient: HttpClient = async ({ url, method, headers, body }) => {
    if (url.endsWith('/chat/completions')) threats.push(JSON.parse(body ?? '').messages[0].content);
    const response = await relay.handler(
      new Request(url, { method, headers, ...(body === undefined ? {} : { body }) }),
    );
    return { status: response.status, header: (name) => response.headers.get(name), text: await response.text() };
  };
  const client = createRelayClient({
    address: { origin: 'http://relay', host: 'relay' },
    key: { kind: 'present', secret: DEMO_ADMIN_KEY },
    httpClient,
    clock: gateway.clock,
    gate: createSemaphore(8, 8),
    version: '0.0.0',
  });
  return {
    ...relay,
    /** The message with the threat in each chat that was sent, in their order. */
    threats,
    moderation: moderation.settings,
    audit: audit.settings,
    /** What the page says, to the letter. */
    async setUp(): Promise<void> {
      const [content, prompt] = shownBodies();
      // As its web interface does.
      settings.isRiskControlOn = true;
      await relay.admin('risk-control/config', 'PUT', content);
      await relay.admin('prompt-audit/config', 'PUT', prompt);
    },
    check: (
      given: { readonly userKey?: string; readonly isSettingsOnly?: boolean; readonly largestThreshold?: number } = {},
    ) =>
      checkRelay({
        relay: client,
        httpClient,
        clock: gateway.clock,
        limitMs: 30_000,
        randomBytes,
        largestThreshold: given.largestThreshold ?? 0.5,
        chat:
          given.isSettingsOnly === true
            ? undefined
            : { userKey: given.userKey ?? relay.keyOf(ALICE), model: 'gpt-5', text: THREAT },
      }),
  };
};
