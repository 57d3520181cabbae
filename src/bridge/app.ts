import { createServiceBudget } from '../core/byte-budget.ts';
import type { Clock } from '../core/clock.ts';
import { guard, type Handler } from '../core/http/handler.ts';
import { createRequestBodies } from '../core/http/request-bodies.ts';
import { createRoutes, type RouteTable } from '../core/http/router.ts';
import { createStandardRoutes } from '../core/http/standard-routes.ts';
import { type BeginSpan, createRequestSpans, passOn } from '../core/http/tracing.ts';
import type { CompileSchema } from '../core/json.ts';
import type { Log } from '../core/log.ts';
import { createSemaphore } from '../core/semaphore.ts';
import type { RunInSlices } from '../core/time-slices.ts';
import { createAgentFeatures } from './agent/features.ts';
import { createModelCatalog } from './agent/models.ts';
import type { AgentServers } from './agent/servers.ts';
import { shareReads } from './agent/shared-reads.ts';
import type { AgentClient, AgentEventStream } from './agent/types.ts';
import { createConversations } from './conversation/conversations.ts';
import type { NewHash } from './conversation/digest.ts';
import { BRIDGE_ERROR_RESPONSES } from './errors.ts';
import { createAuthentication, withCors } from './http/auth.ts';
import { createModelsRoutes } from './http/models.ts';
import { trackWithin } from './http/reservation.ts';
import { createAnswerRoute } from './http/route.ts';
import { createActiveRequests, trackRequests } from './http/shutdown.ts';
import { hintForBridgePath } from './http/unknown-path.ts';
import type { BridgeMetrics } from './metrics.ts';
import { createChatEndpoint } from './openai/chat/endpoint.ts';
import { completionsEndpoint } from './openai/completions/endpoint.ts';
import { createConversationRoutes } from './openai/conversations/routes.ts';
import { createResponsesEndpoint } from './openai/responses/endpoint.ts';
import { createInputTokensRoute } from './openai/responses/input-tokens.ts';
import { createRunningStreams } from './openai/responses/running-streams.ts';
import { createStoredResponseRoutes } from './openai/responses/stored.ts';
import { createBridgeOpenApi } from './openapi.ts';
import { createReadiness } from './readiness.ts';
import type { BridgeSettings } from './settings.ts';
import { createPieceShare } from './stream/piece-share.ts';
import { shareTimers } from './stream/shared-timers.ts';
import { createAnswers } from './turn/answers.ts';
import { createSessionFamilies, sharePermissionRequests } from './turn/approvals/permission-requests.ts';

export type BridgeOptions = {
  readonly settings: Omit<BridgeSettings, 'host' | 'port' | 'logLevel' | 'isLocalWithoutKeys'>;
  /** Without keys only programs of this machine are allowed. */
  readonly isForThisMachine: boolean;
  readonly agent: AgentClient;
  readonly feed: AgentEventStream;
  /** Undefined where there is only one agent server. */
  readonly servers: AgentServers | undefined;
  readonly clock: Clock;
  /** 0 to 1. */
  readonly chance: () => number;
  readonly log: Log;
  readonly meter: BridgeMetrics;
  /** Records what requests cause; without it a caller's trace is passed on. */
  readonly beginSpan?: BeginSpan | undefined;
  /** SHA-256 as base64url, of short texts. */
  readonly digest: (text: string) => string;
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
  readonly compileSchema: CompileSchema;
  readonly newRequestId: () => string;
  /** Twenty random letters and digits that no one can guess. */
  readonly newToken: () => string;
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

const CONVERSATIONS_LIMIT = 10_000;
const CONVERSATION_LIFETIME_MS = 7 * 24 * 3_600_000;
const QUEUE_LIMIT_PER_CONVERSATION = 16;
/** Time for answers to end by themselves, out of the ten seconds that a stop may take. */
const STOP_AFTER_MS = 7000;
const LAST_EVENTS_MS = 1000;

/** The bridge as a handler. Creating it does no I/O. */
export const createBridge = (options: BridgeOptions): Bridge => {
  const {
    settings,
    agent,
    feed,
    servers,
    clock,
    log,
    meter,
    version,
    digest,
    newHash,
    runInSlices,
    newToken,
    isStopping,
  } = options;
  const authenticate = createAuthentication({
    keys: settings.keys,
    isForThisMachine: options.isForThisMachine,
    digest,
    corsOrigins: settings.corsOrigins,
  });
  const { credentials } = settings.agent;
  const secrets = [...settings.keys, ...(credentials === undefined ? [] : [credentials.password])];
  const catalog = createModelCatalog(agent, clock, settings.defaultModel, secrets);
  const sessionFamilies = createSessionFamilies(agent, feed);
  const sharedRequests = sharePermissionRequests(agent, feed);
  const features = createAgentFeatures(agent, clock);
  const conversations = createConversations({
    agent,
    feed,
    features,
    clock,
    log,
    newHash,
    runInSlices,
    newToken,
    matching: settings.matching,
    limit: CONVERSATIONS_LIMIT,
    lifetimeMs: CONVERSATION_LIFETIME_MS,
    queueLimit: QUEUE_LIMIT_PER_CONVERSATION,
  });
  const sharingAgent = shareReads(agent);
  const answers = createAnswers({
    agent: sharingAgent,
    feed,
    sessionFamilies,
    sharedRequests,
    conversations,
    catalog,
    features,
    clock,
    chance: options.chance,
    log,
    newToken,
    digest,
    runInSlices,
    settings,
    version,
  });
  const activeRequests = createActiveRequests();
  const tracked = trackRequests(activeRequests);
  const semaphore = createSemaphore(settings.answersAtATime, 0);
  // Apart from the answers: a client that has lost its stream finds its answer running, and the places may be full of such.
  const readers = createSemaphore(settings.answersAtATime, 0);
  const trackReader = trackWithin(readers, activeRequests.track);
  const limitBytes = settings.bodyLimitBytes;
  const budget = createServiceBudget({
    limitBytes,
    budgetBytes: settings.bodyBudgetBytes,
    memoryBytes: options.memoryBytes,
  });
  const bodies = createRequestBodies({ clock, limitBytes, budget, runInSlices });
  const spans = createRequestSpans(options.beginSpan ?? passOn);
  const runningStreams = createRunningStreams();
  const routeOptions = {
    spanOf: spans.of,
    answers,
    authenticate,
    activeRequests,
    trackReader,
    semaphore,
    bodies,
    clock,
    log,
    meter,
    newHash,
    runInSlices,
    compileSchema: options.compileSchema,
    settings,
    timers: shareTimers(clock),
    runningStreams,
    share: createPieceShare(),
  };
  const chat = createChatEndpoint({ showsTools: settings.showsTools });
  const responses = createResponsesEndpoint({ clock });
  const readiness = createReadiness({ feed, catalog, servers, clock, log, isStopping });
  meter.watch(() => ({
    answersRunning: semaphore.running(),
    streamsResumed: readers.running(),
    conversations: conversations.count(),
    bytesInFlight: budget.usedBytes(),
    isAgentConnected: feed.isOpen(),
    agentServers: servers?.count() ?? { total: 1, healthy: feed.isOpen() ? 1 : 0 },
  }));

  const table: RouteTable = {
    '/v1/chat/completions': { POST: createAnswerRoute(routeOptions, chat) },
    '/v1/completions': { POST: createAnswerRoute(routeOptions, completionsEndpoint) },
    '/v1/responses': { POST: createAnswerRoute(routeOptions, responses) },
    // Before the routes of an id: the router takes the first that fits.
    ...createInputTokensRoute({
      ...{ tracked, authenticate, conversations, catalog, bodies, runInSlices },
      agent: sharingAgent,
    }),
    ...createStoredResponseRoutes({
      tracked,
      authenticate,
      conversations,
      agent: sharingAgent,
      ...{ feed, clock, chance: options.chance, log, runInSlices },
      track: trackReader,
      runningStreams,
      showsReasoning: settings.showsReasoning,
      hasHeartbeat: settings.heartbeat !== 'off',
    }),
    ...createConversationRoutes({
      ...{ tracked, authenticate, agent: sharingAgent, catalog, bodies, clock, runInSlices },
      conversations: conversations.ofClients,
      showsReasoning: settings.showsReasoning,
    }),
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
  const guarded = guard(routes.handler, {
    clock,
    log,
    newRequestId: options.newRequestId,
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
    handler: withCors(guarded, settings.corsOrigins),
    async stop() {
      await untilNone(activeRequests.count, STOP_AFTER_MS);
      activeRequests.stop();
      await untilNone(activeRequests.count, LAST_EVENTS_MS);
      // An abort looks at the agent first, whether another bridge has readers of the turn.
      if (settings.onDisconnect.kind === 'abort') await untilNone(semaphore.running, LAST_EVENTS_MS);
      sessionFamilies.stop();
      sharedRequests.stop();
      feed.stop();
    },
  };
};
