import { createServiceBudget } from '../core/byte-budget.ts';
import { createHandler, type Handler } from '../core/http/handler.ts';
import { createRequestBodies } from '../core/http/request-bodies.ts';
import { createRoutes, type RouteTable } from '../core/http/router.ts';
import { createStandardRoutes } from '../core/http/standard-routes.ts';
import { type BeginSpan, createRequestSpans, passOn } from '../core/http/tracing.ts';
import type { CompileSchema } from '../core/json.ts';
import type { Runtime } from '../core/runtime.ts';
import { createSemaphore } from '../core/semaphore.ts';
import { createAgentHealth } from './agent/health.ts';
import { createModelCatalog } from './agent/models.ts';
import type { AgentServers } from './agent/servers.ts';
import type { AgentClient } from './agent/types.ts';
import { createAnswers } from './answer/answers.ts';
import { createForAgent } from './answer/for-agent.ts';
import type { NewHash } from './digest.ts';
import { BRIDGE_ERROR_RESPONSES } from './errors.ts';
import { createAuthentication, withCors } from './http/auth.ts';
import { createModelsRoutes } from './http/models.ts';
import { createReadiness } from './http/readiness.ts';
import { createAnswerRoute } from './http/route.ts';
import { createStreamSender } from './http/send-stream.ts';
import { createActiveRequests, createOwnerRoute, trackWithin } from './http/shutdown.ts';
import { hintForBridgePath } from './http/unknown-path.ts';
import { tokenOf } from './ids.ts';
import type { BridgeMetrics } from './metrics.ts';
import { createChatEndpoint } from './openai/chat/stream.ts';
import { completionsEndpoint } from './openai/completions.ts';
import { createConversationRoutes } from './openai/conversations/routes.ts';
import { createInputTokensRoute } from './openai/responses/input-tokens.ts';
import { createStoredResponseRoutes } from './openai/responses/stored.ts';
import { createResponsesEndpoint } from './openai/responses/stream.ts';
import { createBridgeOpenApi } from './openapi.ts';
import type { BridgeSettings } from './settings.ts';
import { createPieceShare } from './stream/piece-share.ts';
import { shareTimers } from './stream/shared-timers.ts';
import type { TurnsPort } from './turns/port.ts';

/** What a bridge is made of. */
export type BridgeOptions = Runtime & {
  readonly settings: Omit<BridgeSettings, 'host' | 'port' | 'logLevel' | 'isLocalWithoutKeys'>;
  /** Without keys only programs of this machine are allowed. */
  readonly isForThisMachine: boolean;
  readonly agent: AgentClient;
  readonly turns: TurnsPort;
  /** Undefined where there is only one agent server. */
  readonly servers: AgentServers | undefined;
  readonly meter: BridgeMetrics;
  /** Records what requests cause; without it a caller's trace is passed on. */
  readonly beginSpan?: BeginSpan | undefined;
  /** SHA-256 as base64url, of short texts. */
  readonly digest: (text: string) => string;
  readonly newHash: NewHash;
  readonly compileSchema: CompileSchema;
  readonly version: string;
  readonly isStopping: () => boolean;
  /** What the process may use. */
  readonly memoryBytes: number;
};

export type Bridge = {
  readonly handler: Handler;
  /** Lets running answers end for some seconds. Clients of the others get a failure, and their runs are left or aborted by policy. */
  readonly stop: () => Promise<void>;
};

/** Time for answers to end by themselves, out of the ten seconds that a stop may take. */
const STOP_AFTER_MS = 7000;
const LAST_EVENTS_MS = 1000;
/** A reader whom no turn counts. */
const UNCOUNTED = { finish() {}, leave() {} };

/** The bridge as a handler. Creating it does no I/O. */
export const createBridge = (options: BridgeOptions): Bridge => {
  const {
    settings,
    agent,
    turns,
    servers,
    clock,
    log,
    meter,
    version,
    digest,
    newHash,
    runInSlices,
    newId,
    isStopping,
  } = options;
  const newToken = (): string => tokenOf(newId());
  const authenticate = createAuthentication({
    keys: settings.keys,
    isForThisMachine: options.isForThisMachine,
    digest,
    corsOrigins: settings.corsOrigins,
  });
  const { credentials } = settings.agent;
  const secrets = [...settings.keys, ...(credentials === undefined ? [] : [credentials.password])];
  const catalog = createModelCatalog(agent, clock, settings.defaultModel, secrets);
  const health = createAgentHealth(agent, clock, log);
  const answers = createAnswers({ turns, catalog, clock, log, newToken, digest, settings, version });
  const activeRequests = createActiveRequests();
  const semaphore = createSemaphore(settings.answersAtATime, 0);
  const trackAnswer = trackWithin(semaphore, activeRequests.track);
  // Apart from the answers: a client that has lost its stream finds its answer running, and the places may be full of such.
  const readers = createSemaphore(settings.answersAtATime, 0);
  const limitBytes = settings.bodyLimitBytes;
  const budget = createServiceBudget({ limitBytes, memoryBytes: options.memoryBytes });
  const bodies = createRequestBodies({ clock, limitBytes, budget, runInSlices });
  const forOwner = createOwnerRoute({ track: activeRequests.track, authenticate, runInSlices });
  const spans = createRequestSpans(options.beginSpan ?? passOn);
  const timers = shareTimers(clock);
  const sendStream = createStreamSender({ clock, timers, share: createPieceShare(), log, runInSlices, settings });
  const { showsReasoning } = settings;
  const routeOptions = {
    ...{ answers, authenticate, trackAnswer, bodies, clock, meter, newHash, runInSlices, sendStream, settings },
    forAgent: createForAgent(turns),
    spanOf: spans.of,
    compileSchema: options.compileSchema,
  };
  const chat = createChatEndpoint({ showsTools: settings.showsTools });
  const responses = createResponsesEndpoint({ clock });
  const readiness = createReadiness({ health, catalog, servers, clock, log, isStopping });
  meter.watch(() => ({
    answersRunning: semaphore.running(),
    streamsResumed: readers.running(),
    bytesInFlight: budget.usedBytes(),
    isAgentConnected: health.isConnected(),
    agentServers: servers?.count() ?? { total: 1, healthy: health.isConnected() ? 1 : 0 },
  }));

  const table: RouteTable = {
    '/v1/chat/completions': { POST: createAnswerRoute(routeOptions, chat) },
    '/v1/completions': { POST: createAnswerRoute(routeOptions, completionsEndpoint) },
    '/v1/responses': { POST: createAnswerRoute(routeOptions, responses) },
    // Before the routes of an id: the router takes the first that fits.
    ...createInputTokensRoute({ forOwner, turns, catalog, bodies, runInSlices }),
    ...createStoredResponseRoutes({
      ...{ forOwner, turns, clock, showsReasoning },
      track: trackWithin(readers, activeRequests.track),
      sendAgain: (output, encoder, active) =>
        sendStream({ output, encoder, delivery: UNCOUNTED, headers: {}, isBackground: true }, active),
    }),
    ...createConversationRoutes({ forOwner, turns, bodies, newToken, showsReasoning }),
    ...createModelsRoutes(catalog, authenticate),
    ...createStandardRoutes({
      service: 'bridge',
      version,
      ready: readiness,
      metricsText: meter.text,
      openApi: () => createBridgeOpenApi(version),
    }),
  };
  const routes = createRoutes(table, hintForBridgePath);
  const handler = createHandler(routes.handler, {
    clock,
    log,
    newId,
    routeOf: routes.routeOf,
    onAnswered: meter.recordRequest,
    ...{ bodies, spans },
    errors: BRIDGE_ERROR_RESPONSES,
  });
  const untilNone = async (count: () => number, limitMs: number): Promise<void> => {
    const until = clock.now() + limitMs;
    while (count() > 0 && clock.now() < until) {
      await new Promise<void>((resolve) => clock.after(20, resolve));
    }
  };
  return {
    handler: withCors(handler, settings.corsOrigins),
    async stop() {
      await untilNone(activeRequests.count, STOP_AFTER_MS);
      activeRequests.stop();
      await untilNone(activeRequests.count, LAST_EVENTS_MS);
      await untilNone(answers.leaving, LAST_EVENTS_MS);
    },
  };
};
