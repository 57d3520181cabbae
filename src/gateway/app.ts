import { createServiceBudget } from '../core/byte-budget.ts';
import type { Clock } from '../core/clock.ts';
import type { HttpClient } from '../core/http/client.ts';
import { guard, type Handler } from '../core/http/handler.ts';
import { createRequestBodies } from '../core/http/request-bodies.ts';
import { jsonResponse } from '../core/http/response.ts';
import { createRoutes, type RouteTable } from '../core/http/router.ts';
import { createStandardRoutes } from '../core/http/standard-routes.ts';
import type { Log } from '../core/log.ts';
import { createSemaphore } from '../core/semaphore.ts';
import { createTimeSlices } from '../core/time-slices.ts';
import type { BackendKey, KeyChange, SharedCoolDown } from '../llm/key-state.ts';
import { createJudgeBackend } from './backend.ts';
import { GATEWAY_ERRORS } from './errors.ts';
import { createVerdictCache, type SharedVerdicts } from './judge/cache.ts';
import { maxCallsPerRequest } from './judge/chain/call-count.ts';
import { requireCoverage } from './judge/chain/coverage.ts';
import type { KnownText } from './judge/moderate.ts';
import { createModeration } from './judge/moderation.ts';
import { contextTokensFor } from './judge/prompt.ts';
import type { GatewayMetrics } from './metrics.ts';
import { createAliasLookup, type ModelAlias } from './models.ts';
import { createGatewayOpenApi } from './openapi.ts';
import type { Policy, PolicySelection } from './policy/policy.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';
import { createReadyCheck, type Readiness } from './readiness.ts';
import { createCallers } from './routes/callers.ts';
import { createGuardRoute } from './routes/guard.ts';
import { modelRoutes } from './routes/models.ts';
import { createModerationRoute } from './routes/moderations.ts';
import { createNoVerdict } from './routes/no-verdict.ts';
import { createInputReader } from './routes/read-input.ts';
import { type BackendSettings, bodyLimitBytes, type GatewaySettings, TEXT_BODY_BYTES } from './settings.ts';
import { createMakeViews, type MakeViewsElsewhere } from './text/make-views.ts';

/** State that several replicas share. None of it fails: a replica that cannot reach it uses its own. */
export type SharedState = {
  readonly verdicts: (lifetimeMs: number) => SharedVerdicts;
  readonly rateLimit: (limit: number, local: RateLimit) => RateLimit;
  readonly coolDowns: {
    readonly publish: (change: KeyChange) => void;
    readonly subscribe: (adopt: (coolDown: SharedCoolDown) => void) => void;
  };
  /** The check that answers for all, where clients cannot choose whom they ask: not ready only when none is. */
  readonly readiness?: (own: () => Promise<Readiness>) => () => Promise<Readiness>;
};

/** Everything the gateway takes from outside: settings, secrets, I/O and time. */
export type GatewayNeeds = {
  readonly settings: GatewaySettings;
  readonly gatewayKeys: readonly string[];
  readonly backend: Pick<BackendSettings, 'baseUrl' | 'dialect'> & { readonly keys: readonly BackendKey[] };
  readonly models: ReadonlyMap<string, ModelAlias>;
  readonly policies: PolicySelection;
  readonly httpClient: HttpClient;
  readonly clock: Clock;
  readonly digest: (text: string) => string | Promise<string>;
  /** Unguessable and unique, fit for a header. */
  readonly newId: () => string;
  /** Twelve unguessable digits. */
  readonly newNonce: () => string;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
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

/** Calls that may wait for each running one: enough for a burst, few enough that a waiting call still gets an answer. */
const WAITING_PER_RUNNING = 4;

const hintFor = (path: string): string => {
  if (path.startsWith('/v1/v1'))
    return 'The path holds /v1 twice: the base URL must not end in /v1, the client adds it';
  if (path.startsWith('//')) return 'The path begins with two slashes: the base URL must not end in one';
  if (['/moderations', '/models', '/chat/completions'].includes(path))
    return 'The path lacks /v1: for this client the base URL must end in /v1';
  return 'No such path. This service answers POST /v1/moderations, POST /v1/chat/completions (guard models) and GET /v1/models, /health, /ready, /metrics, /openapi.json';
};

/**
 * Creates the moderation gateway's request handler. Creating it does no I/O. Throws a `ConfigError` where an alias has no judge for a
 * category of its policy.
 */
export const createGateway = (needs: GatewayNeeds): Handler => {
  const { settings, clock, log, metrics, models, policies, gatewayKeys, version, shared } = needs;
  requireCoverage({ models, policies, keyCount: gatewayKeys.length });
  const budget = createServiceBudget({
    limitBytes: settings.MAX_BODY_BYTES ?? TEXT_BODY_BYTES,
    budgetBytes: settings.MAX_BODY_BYTES_IN_FLIGHT,
    memoryBytes: needs.memoryBytes,
  });
  const limitBytes = bodyLimitBytes(settings, models, budget.limitBytes);
  const runInSlices = createTimeSlices(clock);
  const bodies = createRequestBodies({ clock, limitBytes, budget, runInSlices });
  const backend = createJudgeBackend({
    ...needs.backend,
    httpClient: needs.httpClient,
    clock,
    log,
    onAttempt(attempt) {
      metrics.attempt(attempt);
      const { kind: state, key, model, durationMs, reason = state } = attempt;
      if (state !== 'answered') log('info', 'backend-call-failed', { state, key, model, durationMs, reason });
    },
    onKeyChange: (change) => shared?.coolDowns.publish(change),
    ollamaSettings: settings.JUDGE_KEEP_ALIVE === undefined ? [] : ['JUDGE_KEEP_ALIVE'],
  });
  shared?.coolDowns.subscribe(backend.pool.adopt);
  const mostCalls = maxCallsPerRequest(settings, limitBytes, models);
  const queueLimit = Math.max(settings.MAX_CONCURRENCY * WAITING_PER_RUNNING, mostCalls);
  const semaphore = createSemaphore(settings.MAX_CONCURRENCY, queueLimit);
  const lifetimeMs = settings.CACHE_TTL_SECONDS * 1000;
  const cache = createVerdictCache(settings.CACHE_MAX_ENTRIES, lifetimeMs, clock.now);
  const texts = createVerdictCache<KnownText>(settings.CACHE_MAX_ENTRIES, lifetimeMs, clock.now);
  const views = createMakeViews({
    clock,
    runInSlices,
    elsewhere: needs.makeViewsElsewhere,
    onLarge: metrics.largeText,
  });
  const contextTokens = contextTokensFor(settings.MODERATION_WINDOW_CHARS, policies.policies);
  const sharedVerdicts = shared?.verdicts(lifetimeMs);
  const moderateBy = (policy: Policy) =>
    createModeration({
      upstream: backend.upstream,
      semaphore,
      clock,
      runInSlices,
      makeViews: views.makeViews,
      policy,
      contextTokens,
      cache,
      texts,
      shared: sharedVerdicts,
      digest: needs.digest,
      newNonce: needs.newNonce,
      onUnusable(model, reason) {
        metrics.unusable(model);
        log('warn', 'verdict-unusable', { model, reason });
      },
      onTokens: metrics.tokens,
      onBatch: metrics.batch,
      settings,
    });
  const findAlias = createAliasLookup(models, [...gatewayKeys, ...needs.backend.keys.map(({ secret }) => secret)]);
  const localRateLimit = createRateLimit(settings.RATE_LIMIT_RPM, clock.now);
  const callers = createCallers(
    gatewayKeys,
    needs.digest,
    shared?.rateLimit(settings.RATE_LIMIT_RPM, localRateLimit) ?? localRateLimit,
  );
  const limits = { inputs: settings.MAX_INPUTS, chars: settings.MAX_INPUT_CHARS };
  const noVerdict = createNoVerdict({ settings, metrics, newId: needs.newId });
  const route = {
    clock,
    callers,
    findAlias,
    policies,
    moderateBy,
    metrics,
    newId: needs.newId,
    deadlineMs: settings.REQUEST_DEADLINE_MS,
    bodies,
  };
  const readInput = createInputReader({
    findTraits: backend.findTraits,
    rules: { limits, unjudged: settings.UNJUDGED_INPUT },
  });
  const moderation = createModerationRoute({
    ...route,
    readInput,
    noVerdict,
  });
  const guardFace = createGuardRoute({ ...route, limits, noVerdict });
  const checkOwnReadiness = createReadyCheck({
    clock,
    isStopping: needs.isStopping,
    hasUsableKey: () => backend.pool.waitMs() === 0 || backend.pool.probeEnd() !== undefined,
    isBreakerOpen: () => backend.breaker.status().state === 'open',
    checkBackend: backend.checkHealth,
    findTraits: backend.findTraits,
    models,
    onChange({ reasons, missing, warnings }) {
      const reason = [...reasons, ...missing.map((alias) => `no model for ${alias}`), ...warnings].join('; ');
      if (reason === '') log('info', 'ready');
      else log('warn', reasons.length === 0 ? 'ready' : 'not-ready', { reason });
    },
  });
  needs.onCreated?.(checkOwnReadiness);
  const checkReadiness = shared?.readiness?.(checkOwnReadiness) ?? checkOwnReadiness;
  metrics.watch(() => ({
    keys: backend.pool.statuses(),
    breaker: backend.breaker.status(),
    callsRunning: semaphore.running(),
    callsWaiting: semaphore.waiting(),
    cachedVerdicts: cache.size(),
    bytesInFlight: budget.usedBytes(),
    largeTexts: views.waiting(),
  }));

  const table: RouteTable = {
    '/v1/moderations': { POST: moderation },
    '/v1/chat/completions': { POST: guardFace },
    ...modelRoutes(models, findAlias, gatewayKeys),
    ...createStandardRoutes({
      service: 'gateway',
      version,
      async ready() {
        const { reasons, missing, warnings } = await checkReadiness();
        const lacks = {
          ...(missing.length === 0 ? {} : { missing_models_for: missing }),
          ...(warnings.length === 0 ? {} : { warnings }),
        };
        // Without endpoints clients are refused the connection, and those that fail open pass everything. A flag blocks.
        const isFlagging = settings.NO_VERDICT === 'flag' && !needs.isStopping();
        if (reasons.length > 0 && isFlagging) return jsonResponse(200, { status: 'flagging', reasons, ...lacks });
        if (reasons.length > 0) return jsonResponse(503, { status: 'not ready', reasons, ...lacks });
        return jsonResponse(200, { status: 'ready', ...lacks });
      },
      metricsText: metrics.text,
      openApi: () => createGatewayOpenApi(version),
    }),
  };
  const routes = createRoutes(table, hintFor);
  return guard(routes.handler, {
    clock,
    log,
    newRequestId: () => `req-${needs.newId()}`,
    routeOf: routes.routeOf,
    onAnswered: metrics.answered,
    bodies,
    errors: GATEWAY_ERRORS,
    replaceFailure: noVerdict.answer,
  });
};
