import { systemClock } from '../../adapter/node/clock.ts';
import { type RunningServer, serveNode } from '../../adapter/node/server.ts';
import { newId } from '../../adapter/web-crypto.ts';
import type { Handler } from '../../core/http/handler.ts';
import { createDemoJudge } from '../../demo/judge/server.ts';
import { createScriptedModel } from '../../demo/model/model.ts';
import { demoScript } from '../../demo/model/script.ts';
import { auditEndpoint } from '../../demo/relay/audit/settings.ts';
import { PLATFORM_THRESHOLDS } from '../../demo/relay/moderation/client.ts';
import { createDemoRelay } from '../../demo/relay/relay.ts';
import type { Credit, RelayWorld } from '../../demo/relay/world.ts';
import { LOOPBACK } from './port.ts';

const STOP_LIMIT_MS = 2000;
/** As `docs/relays.md` recommends them for a platform. */
const MODERATION_TIMEOUT_MS = 30_000;
const THRESHOLD = 0.5;
const AUDIT_CHUNK_CHARS = 20_000;

/** The demo's replacements for the outside services: judge, model and relay, in this process. */
export type Toys = {
  readonly judge: string;
  readonly model: string;
  readonly relay: string;
  readonly relayCredits: readonly Credit[];
  /** Has the gateway of this address judge the relay's chats from now on, for both engines; before that, none is judged. */
  readonly moderateRelay: (gateway: string) => void;
  readonly stop: () => Promise<unknown>;
};

const serve = (handler: Handler, port = 0): Promise<RunningServer> => serveNode(handler, { host: LOOPBACK, port });

const moderateWith = (
  { settings: relay, moderation: { settings }, audit }: RelayWorld,
  gateway: string,
  token: string,
): void => {
  settings.base_url = gateway;
  settings.timeout_ms = MODERATION_TIMEOUT_MS;
  settings.thresholds = Object.fromEntries(Object.keys(PLATFORM_THRESHOLDS).map((name) => [name, THRESHOLD]));
  settings.auto_ban_enabled = false;
  settings.enabled = true;
  const endpoint = { base_url: gateway, token, timeout_ms: MODERATION_TIMEOUT_MS, input_limit: AUDIT_CHUNK_CHARS };
  audit.settings.endpoints = [auditEndpoint(endpoint)];
  audit.settings.enabled = true;
  audit.settings.blocking_enabled = true;
  relay.isRiskControlOn = true;
};

/**
 * Serves all three on loopback. The relay gets its fixed port when it is free, so that a client's configuration fits the next
 * demo, too. `key` is its key for the gateway.
 */
export const startToys = async (relayPort: number, key: string): Promise<Toys> => {
  const sendModeration = (request: Request): Promise<Response> => fetch(request);
  const relay = createDemoRelay({ clock: systemClock, newId, sendModeration, moderationKeys: [key] });
  const model = createScriptedModel({ clock: systemClock, script: demoScript });
  const servers = await Promise.all([
    serve(createDemoJudge()),
    serve(model),
    serve(relay.handler, relayPort).catch(() => serve(relay.handler)),
  ]);
  const [judge, chat, platform] = servers;
  return {
    judge: judge.address,
    model: chat.address,
    relay: platform.address,
    relayCredits: relay.world.credits,
    moderateRelay: (gateway) => moderateWith(relay.world, gateway, key),
    stop: () => Promise.all(servers.map((server) => server.stop(STOP_LIMIT_MS))),
  };
};
