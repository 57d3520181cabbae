import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { HttpClient } from '../core/http/client.ts';
import { guard, type Handler } from '../core/http/handler.ts';
import { jsonResponse } from '../core/http/json-response.ts';
import { createRoutes, type RouteTable } from '../core/http/router.ts';

import type { Log } from '../core/log.ts';
import { createSemaphore } from '../core/semaphore.ts';
import type { BackendKey, KeyChange, SharedCoolDown } from '../llm/key-pool.ts';
import { createBackend } from './backend.ts';
import type { BackendSettings, GatewaySettings } from './config.ts';
import { createVerdictCache } from './judge/cache.ts';
import { createJudge } from './judge/judge.ts';
import { createModerate, type SharedVerdicts } from './judge/moderate.ts';
import { contextTokensFor, systemPrompt } from './judge/prompt.ts';
import type { Meter } from './metrics.ts';
import type { ModelAlias } from './models.ts';
import { openApiOf } from './openapi.ts';
import type { Policy } from './policy/policy.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';
import { createReadyCheck } from './readiness.ts';
import { modelRoutes } from './routes/models.ts';
import { createModerationRoute } from './routes/moderations.ts';

/** What several replicas hold in common. None of it fails: without it each goes on with its own. */
export type SharedState = {
  readonly verdicts: (lifetimeMs: number) => SharedVerdicts;
  readonly rateLimit: (limit: number, local: RateLimit) => RateLimit;
  readonly coolDowns: {
    readonly publish: (change: KeyChange) => void;
    readonly subscribe: (adopt: (rest: SharedCoolDown) => void) => void;
  };
};

export type GatewayNeeds = {
  readonly settings: GatewaySettings;
  readonly gatewayKeys: readonly string[];
  readonly backend: Pick<BackendSettings, 'baseUrl' | 'dialect'> & { readonly keys: readonly BackendKey[] };
  readonly models: ReadonlyMap<string, ModelAlias>;
  readonly policy: Policy;
  readonly httpClient: HttpClient;
  readonly clock: Clock;
  readonly digest: (text: string) => string | Promise<string>;
  /** Unguessable and unique, fit for a header. */
  readonly newId: () => string;
  /** Twelve digits that nobody can guess. */
  readonly newNonce: () => string;
  readonly log: Log;
  readonly meter: Meter;
  readonly version: string;
  readonly isStopping: () => boolean;
  readonly shared?: SharedState;
  /** Is handed the look at the backend that `/ready` takes, for a first one before anybody asks. Its outcome is logged. */
  readonly onBuilt?: (look: () => Promise<unknown>) => void;
};

/** Calls that may wait for each one that runs: enough for a burst, little enough that waiting still ends in an answer. */
const WAITING_PER_RUNNING = 4;

/** The calls that the largest request allowed can need: two views of each input, and windows of a whole body. */
const callsOfOneRequest = ({ MAX_INPUTS, MAX_BODY_BYTES, MODERATION_WINDOW_CHARS }: GatewaySettings): number =>
  // Windows overlap by a tenth at most.
  2 * (MAX_INPUTS + Math.ceil((2 * MAX_BODY_BYTES) / (0.9 * MODERATION_WINDOW_CHARS)));

const hintFor = (path: string): string => {
  if (path.startsWith('/v1/v1'))
    return 'The path holds /v1 twice: the base URL must not end in /v1, the client adds it';
  if (path.startsWith('//')) return 'The path begins with two slashes: the base URL must not end in one';
  if (path === '/moderations' || path === '/models')
    return 'The path lacks /v1: for this client the base URL must end in /v1';
  return 'No such path. This service answers POST /v1/moderations and GET /v1/models, /health, /ready, /metrics, /openapi.json';
};

/** The moderation gateway, from its needs to a handler. Building it does no I/O. */
export const createGateway = (needs: GatewayNeeds): Handler => {
  const { settings, clock, log, meter, models, policy, gatewayKeys, version, shared } = needs;
  const system = systemPrompt(policy);
  const backend = createBackend({
    ...needs.backend,
    httpClient: needs.httpClient,
    clock,
    log,
    onAttempt(facts) {
      meter.attempt(facts);
      const { kind: state, key, model, durationMs, reason = state } = facts;
      if (state !== 'answered') log('info', 'backend-call-failed', { state, key, model, durationMs, reason });
    },
    onKeyChange: (change) => shared?.coolDowns.publish(change),
  });
  shared?.coolDowns.subscribe(backend.pool.adopt);
  const queueLimit = Math.max(settings.MAX_CONCURRENCY * WAITING_PER_RUNNING, callsOfOneRequest(settings));
  const gate = createSemaphore(settings.MAX_CONCURRENCY, queueLimit);
  const lifetimeMs = settings.CACHE_TTL_SECONDS * 1000;
  const cache = createVerdictCache(settings.CACHE_MAX_ENTRIES, lifetimeMs, clock.now);
  const judge = createJudge({
    upstream: backend.upstream,
    gate,
    clock,
    system,
    contextTokens: contextTokensFor(settings.MODERATION_WINDOW_CHARS, policy),
    newNonce: needs.newNonce,
    hedgeAfterMs: settings.HEDGE_AFTER_MS,
    onUnusable(model, reason) {
      meter.unusable(model);
      log('warn', 'verdict-unusable', { model, reason });
    },
    onTokens: meter.tokens,
  });
  const moderate = createModerate({
    judge,
    cache,
    shared: shared?.verdicts(lifetimeMs),
    clock,
    system,
    windowChars: settings.MODERATION_WINDOW_CHARS,
    deadlineMs: settings.REQUEST_DEADLINE_MS,
    digest: needs.digest,
  });
  const localRateLimit = createRateLimit(settings.RATE_LIMIT_RPM, clock.now);
  const moderation = createModerationRoute({
    clock,
    gatewayKeys,
    models,
    policy,
    moderate,
    rateLimit: shared?.rateLimit(settings.RATE_LIMIT_RPM, localRateLimit) ?? localRateLimit,
    meter,
    newId: needs.newId,
    digest: needs.digest,
    deadlineMs: settings.REQUEST_DEADLINE_MS,
    bodyLimitBytes: settings.MAX_BODY_BYTES,
    limits: { inputs: settings.MAX_INPUTS, chars: settings.MAX_INPUT_CHARS },
  });
  const readiness = createReadyCheck({
    clock,
    isStopping: needs.isStopping,
    hasUsableKey: () => backend.pool.waitMs() === 0 || backend.pool.probeEnd() !== undefined,
    isLeftAlone: () => backend.breaker.status().state === 'open',
    askBackend: backend.askHealth,
    models,
    onChange({ reasons, missing }) {
      const reason = [...reasons, ...missing.map((alias) => `no model for ${alias}`)].join('; ');
      if (reason === '') log('info', 'ready');
      else log('warn', reasons.length === 0 ? 'ready' : 'not-ready', { reason });
    },
  });
  needs.onBuilt?.(readiness);
  meter.watch(() => ({
    keys: backend.pool.statuses(),
    breaker: backend.breaker.status(),
    callsRunning: gate.running(),
    callsWaiting: gate.waiting(),
    cachedVerdicts: cache.size(),
  }));

  const table: RouteTable = {
    '/v1/moderations': { POST: moderation },
    ...modelRoutes(models, gatewayKeys),
    '/health': { GET: () => jsonResponse(200, { status: 'ok', service: 'gateway', version }) },
    '/ready': {
      async GET() {
        const { reasons, missing } = await readiness();
        const lacks = missing.length === 0 ? {} : { missing_models_for: missing };
        if (reasons.length > 0) return jsonResponse(503, { status: 'not ready', reasons, ...lacks });
        return jsonResponse(200, { status: 'ready', ...lacks });
      },
    },
    '/metrics': {
      async GET() {
        const text = await meter.text();
        if (text === undefined) throw new Fault({ kind: 'not-found', hint: 'This runtime keeps no metrics' });
        return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
      },
    },
    '/openapi.json': { GET: () => jsonResponse(200, openApiOf(version)) },
  };
  const routes = createRoutes(table, hintFor);
  return guard(routes.handler, {
    clock,
    log,
    newRequestId: () => `req-${needs.newId()}`,
    routeOf: routes.routeOf,
    onAnswered: meter.answered,
  });
};
