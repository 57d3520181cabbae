import { createDeadline } from '../core/async.ts';
import { type HttpClient, HttpClientError } from '../core/http/client.ts';
import type { Runtime } from '../core/runtime.ts';
import { headersFor } from '../llm/attempt.ts';
import { type Breaker, createBreaker, createUpstream, type Upstream } from '../llm/breaker.ts';
import { createDetectedDialect, createFixedDialect, type DialectChoice, detectDialect } from '../llm/detect.ts';
import { type AttemptRecord, createFailover } from '../llm/failover.ts';
import { type BackendHealth, checkBackendHealth } from '../llm/health.ts';
import { createKeyPool, type KeyPool } from '../llm/key-pool.ts';
import type { BackendKey, CoolDownReason, KeyChange } from '../llm/key-state.ts';
import { createModelTraits, type FindModelTraits } from '../llm/model-traits.ts';
import { ollama } from '../llm/ollama.ts';
import { openai } from '../llm/openai.ts';
import type { BackendSettings } from './settings/config.ts';

/** What the client of a judge's backend is made of. */
export type JudgeBackendNeeds = Pick<Runtime, 'clock' | 'log'> &
  Pick<BackendSettings, 'baseUrl' | 'dialect'> & {
    readonly keys: readonly BackendKey[];
    readonly httpClient: HttpClient;
    readonly onAttempt: (attempt: AttemptRecord) => void;
  };

/** The backend that judges are asked at. */
export type JudgeBackend = {
  readonly upstream: Upstream;
  readonly pool: KeyPool;
  /** Adds a listener, which is called with each change that concerns a whole key. */
  readonly onKeyChange: (listener: (change: KeyChange) => void) => void;
  readonly breaker: Breaker;
  readonly checkHealth: (signal: AbortSignal) => Promise<BackendHealth>;
  readonly findTraits: FindModelTraits;
  /** Why every key is cooling down, each reason once; undefined where one may be used. */
  readonly restReasons: () => readonly CoolDownReason[] | undefined;
};

const BREAKER_LIMITS = { failures: 5, coolDownMs: 2000, maxCoolDownMs: 30_000 };
const DETECT_LIMIT_MS = 5000;

const dialectFor = (
  { dialect, baseUrl, httpClient, clock, log }: JudgeBackendNeeds,
  usableKey: () => BackendKey,
): DialectChoice => {
  if (dialect !== 'auto') return createFixedDialect(dialect === 'ollama' ? ollama : openai);
  return createDetectedDialect(async () => {
    const deadline = createDeadline(clock, DETECT_LIMIT_MS);
    try {
      const found = await detectDialect({
        baseUrl,
        httpClient,
        headers: headersFor(usableKey()),
        signal: deadline.signal,
      });
      log(found?.isCertain ? 'info' : 'warn', 'backend-dialect', { state: found?.dialect.name ?? 'unknown' });
      return found;
    } catch (error) {
      const { code } = error instanceof HttpClientError ? error : new HttpClientError('TIMEOUT');
      log('warn', 'backend-dialect', { state: 'unknown', reason: code });
      throw new HttpClientError(code);
    } finally {
      deadline.clear();
    }
  });
};

/** Creates the client of the judge's backend: keys, breaker, dialect and failover. Throws a `TypeError` without a key. */
export const createJudgeBackend = (needs: JudgeBackendNeeds): JudgeBackend => {
  const { baseUrl, keys, httpClient, clock, log } = needs;
  const [firstKey] = keys;
  if (firstKey === undefined) throw new TypeError('Cannot create a backend without a key');
  const listeners: ((change: KeyChange) => void)[] = [];
  const pool = createKeyPool(keys, clock.now, (change) => {
    const { fingerprint: key, state, reason, coolDownMs: restMs, strikes: count, model } = change;
    const about = { ...(reason === undefined ? {} : { reason }), ...(model === undefined ? {} : { model }) };
    log('warn', 'backend-key', { key, state, ...about, restMs, count });
    // Replicas share what concerns a whole key. That it may not use a model each learns by one call.
    if (model === undefined) for (const listen of listeners) listen(change);
  });
  const onAttempt = (attempt: AttemptRecord): void => {
    needs.onAttempt(attempt);
    const { kind: state, key, model, durationMs, reason = state } = attempt;
    if (state !== 'answered') log('info', 'backend-call-failed', { state, key, model, durationMs, reason });
  };
  const breaker = createBreaker(clock.now, BREAKER_LIMITS, ({ state, coolDownMs: restMs }) =>
    log('warn', 'backend-breaker', { state, restMs }),
  );
  const usableKey = (): BackendKey => {
    const usable = pool.statuses().find(({ state }) => state !== 'cooling');
    return keys.find(({ fingerprint }) => fingerprint === usable?.fingerprint) ?? firstKey;
  };
  const client = { baseUrl, httpClient, clock, dialect: dialectFor(needs, usableKey) };
  const failover = createFailover({ ...client, pool, onAttempt });
  return {
    upstream: createUpstream(failover, breaker, clock),
    pool,
    breaker,
    onKeyChange: (listener) => void listeners.push(listener),
    checkHealth: (signal) => checkBackendHealth(client, usableKey(), signal),
    findTraits: createModelTraits({ ...client, usableKey }),
    restReasons() {
      const isUsable = pool.waitMs() === 0 || pool.probeEnd() !== undefined;
      return isUsable ? undefined : [...new Set(pool.statuses().flatMap(({ reason }) => reason ?? []))];
    },
  };
};
