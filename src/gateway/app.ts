import { createServiceBudget } from '../core/byte-budget.ts';
import type { Clock } from '../core/clock.ts';
import type { HttpClient } from '../core/http/client.ts';
import { guard, type Handler } from '../core/http/handler.ts';
import { createRequestBodies } from '../core/http/request-bodies.ts';
import { createRoutes } from '../core/http/router.ts';
import { createStandardRoutes } from '../core/http/standard-routes.ts';
import { type BeginSpan, createRequestSpans, passOn } from '../core/http/tracing.ts';
import type { Log } from '../core/log.ts';
import { createSemaphore } from '../core/semaphore.ts';
import { createTimeSlices } from '../core/time-slices.ts';
import type { BackendKey } from '../llm/key-state.ts';
import { createAdminWatch } from './admin/admin.ts';
import { createCheckRoute } from './admin/check.ts';
import { createAdminRoutes } from './admin/routes.ts';
import type { WatchVerdicts } from './admin/verdict-events.ts';
import { createJudgeBackend } from './backend.ts';
import { GATEWAY_ERRORS } from './errors.ts';
import { createVerdictCache } from './judge/cache.ts';
import { callQueueLimit } from './judge/chain/call-count.ts';
import { requireCoverage } from './judge/chain/coverage.ts';
import { createFindUnseen } from './judge/chain/fitness.ts';
import type { KnownText } from './judge/moderate.ts';
import { createModeration } from './judge/moderation.ts';
import { contextTokensFor } from './judge/prompt.ts';
import type { GatewayMetrics } from './metrics.ts';
import { createAliasLookup, type ModelAlias } from './models.ts';
import { createGatewayOpenApi } from './openapi.ts';
import { everyPolicy, type Policy, type PolicySelection } from './policy/policy.ts';
import type { ShadowSettings } from './policy/shadow-settings.ts';
import { createReadyCheck } from './readiness.ts';
import { createCallers } from './routes/callers.ts';
import { createAnswerWithin } from './routes/deadline.ts';
import { createGuardRoute } from './routes/guard.ts';
import { createIntegrations } from './routes/integrations/integrations.ts';
import { modelRoutes } from './routes/models.ts';
import { createModerationRoute } from './routes/moderations.ts';
import { createNoVerdict } from './routes/no-verdict.ts';
import { createRateLimit } from './routes/rate-limit.ts';
import { createInputReader } from './routes/read-input.ts';
import { createReadyRoute } from './routes/ready.ts';
import { hintForPath } from './routes/unknown-path.ts';
import { type BackendSettings, bodyLimitBytes, guessableKeys, TEXT_BODY_BYTES } from './settings/config.ts';
import type { GatewaySettings } from './settings/variables.ts';
import { createGatewayShadow } from './shadow/create.ts';
import type { SharedState } from './shared-state.ts';
import { createMakeViews, type MakeViewsElsewhere } from './text/make-views.ts';

/** Everything the gateway takes from outside: settings, secrets, I/O and time. */
export type GatewayNeeds = {
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
  readonly clock: Clock;
  readonly digest: (text: string) => string | Promise<string>;
  /** Unguessable and unique, fit for a header. */
  readonly newId: () => string;
  /** Twelve unguessable digits. */
  readonly newNonce: () => string;
  readonly log: Log;
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

/**
 * Creates the moderation gateway's request handler. Creating it does no I/O. Throws a `ConfigError` where an alias has no judge for a
 * category of its policy.
 */
export const createGateway = (needs: GatewayNeeds): Handler => {
  const { settings, clock, log, metrics, models, policies, gatewayKeys, version, shared } = needs;
  for (const setting of guessableKeys(settings))
    log('warn', 'doubtful-setting', { setting, reason: 'a key of fewer than 16 characters can be guessed' });
  requireCoverage({ models, policies, keyCount: gatewayKeys.length, shadow: needs.shadow });
  const budget = createServiceBudget({
    limitBytes: settings.MAX_BODY_BYTES ?? TEXT_BODY_BYTES,
    budgetBytes: settings.MAX_BODY_BYTES_IN_FLIGHT,
    memoryBytes: needs.memoryBytes,
  });
  const { GATEWAY_ADMIN_KEY: adminKey } = settings;
  const watch = adminKey === undefined ? undefined : createAdminWatch({ clock, log, isStopping: needs.isStopping });
  const limitBytes = bodyLimitBytes(settings, models, budget.limitBytes);
  const runInSlices = createTimeSlices(clock);
  const bodies = createRequestBodies({ clock, limitBytes, budget, runInSlices });
  const backend = createJudgeBackend({
    ...needs.backend,
    httpClient: needs.httpClient,
    clock,
    log,
    onAttempt: metrics.attempt,
    onKeyChange(change) {
      shared?.coolDowns.publish(change);
      watch?.onKeyChange(change);
      shadow?.adopt(change);
    },
    ollamaSettings: settings.JUDGE_KEEP_ALIVE === undefined ? [] : ['JUDGE_KEEP_ALIVE'],
  });
  shared?.coolDowns.subscribe(backend.pool.adopt);
  const callsWaitingLimit = callQueueLimit(settings, limitBytes, models);
  const semaphore = createSemaphore(settings.MAX_CONCURRENCY, callsWaitingLimit);
  const lifetimeMs = settings.CACHE_TTL_SECONDS * 1000;
  const cache = createVerdictCache(settings.CACHE_MAX_ENTRIES, lifetimeMs, clock.now);
  const texts = createVerdictCache<KnownText>(settings.CACHE_MAX_ENTRIES, lifetimeMs, clock.now);
  const views = createMakeViews({
    clock,
    runInSlices,
    elsewhere: needs.makeViewsElsewhere,
    onLarge: metrics.largeText,
  });
  const judging = {
    upstream: backend.upstream,
    semaphore,
    clock,
    runInSlices,
    makeViews: views.makeViews,
    contextTokens: contextTokensFor(settings.MODERATION_WINDOW_CHARS, everyPolicy(policies)),
    cache,
    texts,
    shared: shared?.verdicts(lifetimeMs),
    digest: needs.digest,
    newNonce: needs.newNonce,
    onUnusable(model: string, reason: string) {
      metrics.unusable(model);
      watch?.usage.unusable(model, reason);
      log('warn', 'verdict-unusable', { model, reason });
    },
    onTokens(...used: Parameters<GatewayMetrics['tokens']>) {
      metrics.tokens(...used);
      watch?.usage.tokens(...used);
    },
    settings,
  };
  const shadow =
    needs.shadow && createGatewayShadow({ ...needs, ...needs.backend, settings: needs.shadow, live: judging, budget });
  if (shadow !== undefined) shared?.coolDowns.subscribe(shadow.adopt);
  const moderateBy = (policy: Policy) => {
    const { moderate } = createModeration({ ...judging, policy });
    return shadow?.beside(moderate, policy) ?? moderate;
  };
  const findAlias = createAliasLookup(models, [
    ...(adminKey === undefined ? [] : [adminKey]),
    ...gatewayKeys,
    ...needs.backend.keys.map(({ secret }) => secret),
  ]);
  const localRateLimit = createRateLimit(settings.RATE_LIMIT_RPM, clock.now);
  const callers = createCallers(
    gatewayKeys,
    needs.digest,
    shared?.rateLimit(settings.RATE_LIMIT_RPM, localRateLimit) ?? localRateLimit,
  );
  const limits = { inputs: settings.MAX_INPUTS, chars: settings.MAX_INPUT_CHARS };
  const noVerdict = createNoVerdict({ settings, metrics, newId: needs.newId });
  const spans = createRequestSpans(needs.beginSpan ?? passOn);
  const answerWithin = createAnswerWithin({
    clock,
    spanOf: spans.of,
    deadlineMs: settings.REQUEST_DEADLINE_MS,
    stopSignal: needs.stopSignal,
  });
  const route = {
    ...{ clock, answerWithin, callers, findAlias, policies },
    moderateBy,
    metrics,
    newId: needs.newId,
    bodies,
  };
  const readInput = createInputReader({
    findUnseen: createFindUnseen(backend.findTraits),
    rules: { limits, unjudged: settings.UNJUDGED_INPUT },
  });
  const moderation = createModerationRoute({ ...route, readInput, noVerdict });
  const guardFace = createGuardRoute({ ...route, limits, noVerdict });
  const watched: WatchVerdicts = watch?.watchVerdicts ?? ((_, route) => (request) => route(request));
  const integrations = createIntegrations({
    ...{ ...route, limits, readInput, unjudged: settings.UNJUDGED_INPUT },
    watched: (asked) => watched('guard', asked),
  });
  const checkReadiness = createReadyCheck({
    clock,
    isStopping: needs.isStopping,
    restReasons: backend.restReasons,
    isBreakerOpen: () => backend.breaker.status().state === 'open',
    checkBackend: backend.checkHealth,
    findTraits: backend.findTraits,
    models,
    log,
  });
  needs.onCreated?.(checkReadiness);
  metrics.watch(() => ({
    keys: backend.pool.statuses(),
    breaker: backend.breaker.status(),
    callsRunning: semaphore.running(),
    callsWaiting: semaphore.waiting(),
    callsWaitingLimit,
    cachedVerdicts: cache.size(),
    bytesInFlight: budget.usedBytes(),
    largeTexts: views.waiting(),
  }));

  const admin =
    adminKey === undefined || watch === undefined
      ? {}
      : createAdminRoutes({
          ...{ ...needs, ...backend, ...watch, bodies, semaphore, cache, checkReadiness, adminKey },
          shadowState: shadow?.summary,
          check: createCheckRoute({ ...route, runInSlices, limits }),
        });
  const routes = createRoutes(
    {
      '/v1/moderations': { POST: watched('moderations', moderation) },
      '/v1/chat/completions': { POST: watched('guard', guardFace) },
      ...integrations.routes,
      ...admin,
      ...modelRoutes(models, findAlias, gatewayKeys),
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
  return guard(routes.handler, {
    ...{ clock, log, bodies, spans },
    newRequestId: () => `req-${needs.newId()}`,
    routeOf: routes.routeOf,
    onAnswered: metrics.answered,
    errors: GATEWAY_ERRORS,
    replaceFailure: (request, error) => noVerdict.answer(request, error) ?? integrations.answerFailure(request, error),
  });
};
