import { type ByteBudget, createServiceBudget } from '../core/byte-budget.ts';
import type { HttpClient } from '../core/http/client.ts';
import { createHandler, type Handler } from '../core/http/handler.ts';
import { createRequestBodies, type RequestBodies } from '../core/http/request-bodies.ts';
import { createRoutes, type RouteTable } from '../core/http/router.ts';
import { createStandardRoutes } from '../core/http/standard-routes.ts';
import { type BeginSpan, createRequestSpans, passOn, type RequestSpans } from '../core/http/tracing.ts';
import type { Runtime } from '../core/runtime.ts';
import { createSemaphore } from '../core/semaphore.ts';
import { createTimeSlices } from '../core/time-slices.ts';
import type { BackendKey } from '../llm/key-state.ts';
import { type AdminWatch, createAdminWatch } from './admin/admin.ts';
import { createCheckRoute } from './admin/check.ts';
import { createAdminRoutes } from './admin/routes.ts';
import type { WatchVerdicts } from './admin/verdict-events.ts';
import { createJudgeBackend } from './backend.ts';
import { GATEWAY_ERRORS } from './errors.ts';
import { createVerdictCache } from './judge/cache.ts';
import { callQueueLimit } from './judge/chain/call-count.ts';
import { requireCoverage } from './judge/chain/coverage.ts';
import { createFindUnseen } from './judge/chain/fitness.ts';
import { createModerate } from './judge/moderation.ts';
import { contextTokensFor } from './judge/prompt.ts';
import type { Judging, KnownText, TextDigest } from './judge/types.ts';
import type { GatewayMetrics } from './metrics.ts';
import { createAliasLookup, type ModelAlias } from './models.ts';
import { createGatewayOpenApi } from './openapi.ts';
import { everyPolicy, type PolicySelection } from './policy/policy.ts';
import type { ShadowSettings } from './policy/shadow-settings.ts';
import { createReadyCheck, createReadyRoute } from './readiness.ts';
import { createCallers } from './routes/callers.ts';
import { createAnswerWithin } from './routes/deadline.ts';
import { createGuardFaceRoute } from './routes/guard-face/route.ts';
import { createIntegrations } from './routes/integrations/integrations.ts';
import { modelRoutes } from './routes/models.ts';
import { createModerationRoute } from './routes/moderations.ts';
import { createNoVerdict } from './routes/no-verdict.ts';
import type { RouteParts } from './routes/parts.ts';
import { createRateLimit } from './routes/rate-limit.ts';
import { createInputReader } from './routes/request.ts';
import { hintForPath } from './routes/unknown-path.ts';
import { type BackendSettings, bodyLimitBytes, guessableKeys } from './settings/config.ts';
import { type GatewaySettings, TEXT_BODY_BYTES } from './settings/variables.ts';
import { createGatewayShadow, type GatewayShadow } from './shadow/create.ts';
import type { SharedState } from './shared-state.ts';
import { createMakeViews, type MakeViewsElsewhere } from './text/make-views.ts';

/** Everything the gateway takes from outside: settings, secrets, I/O and time. */
export type GatewayNeeds = Omit<Runtime, 'runInSlices'> & {
  readonly settings: GatewaySettings;
  readonly gatewayKeys: readonly string[];
  readonly backend: Pick<BackendSettings, 'baseUrl' | 'dialect'> & { readonly keys: readonly BackendKey[] };
  readonly models: ReadonlyMap<string, ModelAlias>;
  readonly policies: PolicySelection;
  /** What judges a part of the traffic beside the live judge. */
  readonly shadow?: ShadowSettings | undefined;
  /** Keeps a line about a disagreement of the two. Must neither throw nor wait. */
  readonly keepDisagreement?: ((line: string) => void) | undefined;
  /** Aborts when the process is about to end. Requests that still run are answered then, and what none waits for ends. */
  readonly stopSignal?: AbortSignal | undefined;
  readonly httpClient: HttpClient;
  readonly digest: TextDigest;
  /** Twelve unguessable digits. */
  readonly newNonce: () => string;
  readonly metrics: GatewayMetrics;
  /** Records what requests cause; without it a caller's trace is passed on. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly version: string;
  readonly isStopping: () => boolean;
  /** What the process may use. */
  readonly memoryBytes: number;
  readonly shared?: SharedState;
  /** Makes the views of large texts away from the event loop, where the runtime can. */
  readonly makeViewsElsewhere?: MakeViewsElsewhere;
  /** Receives the check behind `/ready`, so that it can run once before the first probe. The check logs its outcome. */
  readonly onCreated?: (checkReadiness: () => Promise<unknown>) => void;
};

/** What all parts are made of: what comes from outside, and the budget of memory with the bodies that are taken from it. */
type World = GatewayNeeds &
  Runtime & { readonly budget: ByteBudget; readonly limitBytes: number; readonly bodies: RequestBodies };

const createWorld = (needs: GatewayNeeds): World => {
  const { settings, clock, models, memoryBytes } = needs;
  const runInSlices = createTimeSlices(clock);
  const budget = createServiceBudget({ limitBytes: settings.MAX_BODY_BYTES ?? TEXT_BODY_BYTES, memoryBytes });
  const limitBytes = bodyLimitBytes(settings, models, budget.limitBytes);
  const bodies = createRequestBodies({ clock, limitBytes, budget, runInSlices });
  return { ...needs, runInSlices, budget, limitBytes, bodies };
};

/** What judges texts: the backend, the places of its calls, the views of texts and the verdicts that are known. */
const createJudgingParts = (world: World, watch: AdminWatch | undefined) => {
  const { settings, clock, log, metrics, models, policies } = world;
  const backend = createJudgeBackend({ ...world, ...world.backend, onAttempt: metrics.attempt });
  const callsWaitingLimit = callQueueLimit(settings, world.limitBytes, models);
  const semaphore = createSemaphore(settings.MAX_CONCURRENCY, callsWaitingLimit);
  const views = createMakeViews({ ...world, elsewhere: world.makeViewsElsewhere, onLarge: metrics.largeText });
  const lifetimeMs = settings.CACHE_TTL_SECONDS * 1000;
  const judging: Judging = {
    ...world,
    upstream: backend.upstream,
    semaphore,
    makeViews: views.makeViews,
    contextTokens: contextTokensFor(settings.MODERATION_WINDOW_CHARS, everyPolicy(policies)),
    cache: createVerdictCache(settings.CACHE_MAX_ENTRIES, lifetimeMs, clock.now),
    texts: createVerdictCache<KnownText>(settings.CACHE_MAX_ENTRIES, lifetimeMs, clock.now),
    shared: world.shared?.verdicts(lifetimeMs),
    onUnusable(model, reason) {
      metrics.unusable(model);
      watch?.usage.unusable(model, reason);
      log('warn', 'verdict-unusable', { model, reason });
    },
    onTokens(...used) {
      metrics.tokens(...used);
      watch?.usage.tokens(...used);
    },
  };
  return { backend, callsWaitingLimit, semaphore, views, judging };
};
type JudgingParts = ReturnType<typeof createJudgingParts>;

/** Replicas, the admin routes and the shadow learn how the keys are, and the gateway what replicas learn. */
const shareKeyStates = (
  { shared }: World,
  { backend }: JudgingParts,
  watch: AdminWatch | undefined,
  shadow: GatewayShadow | undefined,
): void => {
  shared?.coolDowns.subscribe(backend.pool.adopt);
  if (shadow !== undefined) shared?.coolDowns.subscribe(shadow.adopt);
  for (const listener of [shared?.coolDowns.publish, watch?.onKeyChange, shadow?.adopt])
    if (listener !== undefined) backend.onKeyChange(listener);
};

const reportReadings = ({ metrics, budget }: World, parts: JudgingParts): void => {
  const { backend, callsWaitingLimit, semaphore, views, judging } = parts;
  metrics.watch(() => ({
    keys: backend.pool.statuses(),
    breaker: backend.breaker.status(),
    callsRunning: semaphore.running(),
    callsWaiting: semaphore.waiting(),
    callsWaitingLimit,
    cachedVerdicts: judging.cache.size(),
    bytesInFlight: budget.usedBytes(),
    largeTexts: views.waiting(),
  }));
};

/** What the routes are made of. */
const createRouteParts = (
  world: World,
  { backend, judging }: JudgingParts,
  shadow: GatewayShadow | undefined,
  spans: RequestSpans,
): RouteParts => {
  const { settings, clock, models, gatewayKeys, shared } = world;
  const { GATEWAY_ADMIN_KEY: adminKey } = settings;
  const secrets = [...gatewayKeys, ...world.backend.keys.map(({ secret }) => secret)];
  const rateLimit = createRateLimit(settings.RATE_LIMIT_RPM, clock.now);
  const inputRules = {
    limits: { inputs: settings.MAX_INPUTS, chars: settings.MAX_INPUT_CHARS },
    unjudged: settings.UNJUDGED_INPUT,
  };
  return {
    ...world,
    answerWithin: createAnswerWithin({ ...world, spanOf: spans.of, deadlineMs: settings.REQUEST_DEADLINE_MS }),
    callers: createCallers(
      gatewayKeys,
      world.digest,
      shared?.rateLimit(settings.RATE_LIMIT_RPM, rateLimit) ?? rateLimit,
    ),
    findAlias: createAliasLookup(models, adminKey === undefined ? secrets : [adminKey, ...secrets]),
    moderateBy(policy) {
      const moderate = createModerate(judging, policy);
      return shadow?.beside(moderate, policy) ?? moderate;
    },
    inputRules,
    readInput: createInputReader({ findUnseen: createFindUnseen(backend.findTraits), rules: inputRules }),
    noVerdict: createNoVerdict(world),
  };
};

const UNWATCHED: WatchVerdicts = (_, route) => (request) => route(request);

/** The routes for clients. */
const createClientRoutes = (parts: RouteParts, watched: WatchVerdicts): RouteTable => ({
  '/v1/moderations': { POST: watched('moderations', createModerationRoute(parts)) },
  '/v1/chat/completions': { POST: watched('guard', createGuardFaceRoute(parts)) },
  ...createIntegrations(parts, (route) => watched('guard', route)),
});

/**
 * Creates the moderation gateway's request handler. Creating it does no I/O. Throws a `ConfigError` where an alias has no judge for a
 * category of its policy.
 */
export const createGateway = (needs: GatewayNeeds): Handler => {
  const { settings, log, metrics, models, policies, gatewayKeys, version } = needs;
  for (const setting of guessableKeys(settings))
    log('warn', 'doubtful-setting', { setting, reason: 'a key of fewer than 16 characters can be guessed' });
  requireCoverage({ models, policies, keyCount: gatewayKeys.length, shadow: needs.shadow });

  const world = createWorld(needs);
  const { GATEWAY_ADMIN_KEY: adminKey } = settings;
  const watch = adminKey === undefined ? undefined : createAdminWatch(world);
  const parts = createJudgingParts(world, watch);
  const live = { ...parts.judging, semaphore: parts.semaphore };
  const shadow = needs.shadow && createGatewayShadow({ ...world, ...needs.backend, settings: needs.shadow, live });
  shareKeyStates(world, parts, watch, shadow);
  reportReadings(world, parts);
  const checkReadiness = createReadyCheck({ ...world, backend: parts.backend });
  needs.onCreated?.(checkReadiness);

  const spans = createRequestSpans(needs.beginSpan ?? passOn);
  const routeParts = createRouteParts(world, parts, shadow, spans);
  const adminRoutes =
    adminKey === undefined || watch === undefined
      ? {}
      : createAdminRoutes({
          ...{ ...world, ...watch, ...parts.backend, semaphore: parts.semaphore, cache: parts.judging.cache },
          ...{ adminKey, checkReadiness, shadowState: shadow?.summary, check: createCheckRoute(routeParts) },
        });
  const routes = createRoutes(
    {
      ...createClientRoutes(routeParts, watch?.watchVerdicts ?? UNWATCHED),
      ...adminRoutes,
      ...modelRoutes(models, routeParts.findAlias, gatewayKeys),
      ...createStandardRoutes({
        service: 'gateway',
        version,
        ready: createReadyRoute({ ...needs, checkReadiness }),
        metricsText: metrics.text,
        openApi: () => createGatewayOpenApi(version, adminKey !== undefined),
      }),
    },
    hintForPath,
  );
  return createHandler(routes.handler, {
    ...world,
    spans,
    routeOf: routes.routeOf,
    onAnswered: metrics.answered,
    errors: GATEWAY_ERRORS,
  });
};
