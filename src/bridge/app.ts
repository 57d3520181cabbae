import type { Clock } from '../core/clock.ts';
import { guard, type Handler } from '../core/http/handler.ts';
import { createRoutes, type RouteTable } from '../core/http/router.ts';
import { createStandardRoutes } from '../core/http/standard-routes.ts';

import type { Log } from '../core/log.ts';
import { createSemaphore } from '../core/semaphore.ts';
import { createModelCatalog } from './agent/models.ts';
import type { AgentServers } from './agent/servers.ts';
import type { AgentClient, AgentEventStream } from './agent/types.ts';
import { createConversations } from './conversation/conversations.ts';
import { createDoor, withCors } from './http/auth.ts';
import { BRIDGE_REPLIES } from './http/errors.ts';
import { modelsRoutes } from './http/models.ts';
import { createAnswerRoute } from './http/route.ts';
import { createLeaving } from './http/shutdown.ts';
import type { BridgeMetrics } from './metrics.ts';
import { createChatEndpoint } from './openai/chat/endpoint.ts';
import { createResponsesEndpoint } from './openai/responses/endpoint.ts';
import { createStoredResponseRoutes } from './openai/responses/stored.ts';
import { createBridgeOpenApi } from './openapi.ts';
import { createReadiness } from './readiness.ts';
import type { BridgeSettings } from './settings.ts';
import { createAnswers } from './turn/answers.ts';
import { createSessionFamilies } from './turn/permission-requests.ts';

export type BridgeNeeds = {
  readonly settings: Omit<BridgeSettings, 'host' | 'port' | 'logLevel' | 'agent' | 'isLocalForWantOfKeys'>;
  /** Nobody but this machine is let in without keys. */
  readonly isForThisMachine: boolean;
  readonly agent: AgentClient;
  readonly feed: AgentEventStream;
  /** Nothing where there is only one agent server. */
  readonly servers: AgentServers | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: BridgeMetrics;
  /** SHA-256 as base64url. */
  readonly digest: (text: string) => string;
  readonly newRequestId: () => string;
  /** Twenty letters and digits that nobody can guess. */
  readonly newToken: () => string;
  readonly version: string;
  readonly isStopping: () => boolean;
};

export type Bridge = {
  readonly handler: Handler;
  /** Ends what is under way: at once where that is possible, with a last word to who listens. */
  readonly stop: () => Promise<void>;
};

const CONVERSATIONS_KEPT = 10_000;
const CONVERSATION_LIFETIME_MS = 7 * 24 * 3_600_000;
const WAITING_PER_CONVERSATION = 16;
/** Time for answers to come to their end by themselves, out of the ten seconds that a stop may take. */
const STOP_AFTER_MS = 7000;
const LAST_WORDS_MS = 1000;

const hintFor = (path: string): string => {
  if (path.startsWith('/v1/v1')) return 'The path holds /v1 twice: give the base URL with one /v1 at its end';
  if (/^\/(?:chat\/completions|responses|models)/.test(path)) return 'The path lacks /v1: the base URL must end in /v1';
  return 'No such path. This bridge answers /v1/models, /v1/chat/completions, /v1/responses, /health, /ready, /metrics, /openapi.json';
};

/** The bridge, from its needs to a handler. Building it does no I/O. */
export const createBridge = (needs: BridgeNeeds): Bridge => {
  const { settings, agent, feed, servers, clock, log, meter, version } = needs;
  const enter = createDoor({ ...needs, ...settings });
  const catalog = createModelCatalog(agent, clock, settings.defaultModel);
  const sessionFamilies = createSessionFamilies(agent, feed);
  const conversations = createConversations({
    ...needs,
    matching: settings.matching,
    limit: CONVERSATIONS_KEPT,
    lifetimeMs: CONVERSATION_LIFETIME_MS,
    queueLimit: WAITING_PER_CONVERSATION,
  });
  const answers = createAnswers({ agent, feed, sessionFamilies, conversations, catalog, clock, log, settings });
  const leaving = createLeaving();
  const gate = createSemaphore(settings.answersAtATime, 0);
  const routeNeeds = { ...settings, ...needs, answers, enter, leaving, gate };
  const chat = createChatEndpoint({ ...needs, showsTools: settings.showsTools });
  const responses = createResponsesEndpoint(needs);
  const readiness = createReadiness({ ...needs, catalog });
  meter.watch(() => ({
    answersRunning: gate.running(),
    conversations: conversations.count(),
    isAgentConnected: feed.isOpen(),
    agentServers: servers?.count() ?? { total: 1, healthy: feed.isOpen() ? 1 : 0 },
  }));

  const table: RouteTable = {
    '/v1/chat/completions': { POST: createAnswerRoute(routeNeeds, chat) },
    '/v1/responses': { POST: createAnswerRoute(routeNeeds, responses) },
    ...createStoredResponseRoutes({ ...needs, enter, conversations }),
    ...modelsRoutes(catalog, enter),
    ...createStandardRoutes({
      service: 'bridge',
      version,
      ready: readiness,
      metricsText: meter.text,
      openApi: () => createBridgeOpenApi(version),
    }),
  };
  const routes = createRoutes(table, hintFor);
  const guarded = guard(routes.handler, {
    clock,
    log,
    newRequestId: needs.newRequestId,
    routeOf: routes.routeOf,
    onAnswered: meter.answered,
    errors: BRIDGE_REPLIES,
  });
  const untilQuiet = async (limitMs: number): Promise<void> => {
    const until = clock.now() + limitMs;
    while (leaving.count() > 0 && clock.now() < until) {
      await new Promise<void>((resolve) => clock.after(20, resolve));
    }
  };
  return {
    handler: withCors(guarded, settings.corsOrigins),
    async stop() {
      await untilQuiet(STOP_AFTER_MS);
      leaving.stop();
      await untilQuiet(LAST_WORDS_MS);
      sessionFamilies.stop();
      feed.stop();
    },
  };
};
