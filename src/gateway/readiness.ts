import { createDeadline } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { BackendHealth } from '../llm/health.ts';
import { isSameModel } from '../llm/model-name.ts';
import type { ModelAlias } from './models.ts';

/** Ready when `reasons` is empty. `missing`: the aliases whose model the backend does not list. */
type Readiness = { readonly reasons: readonly string[]; readonly missing: readonly string[] };

type ReadyCheckNeeds = {
  readonly clock: Clock;
  readonly isStopping: () => boolean;
  readonly hasUsableKey: () => boolean;
  readonly checkBackend: (signal: AbortSignal) => Promise<BackendHealth>;
  readonly models: ReadonlyMap<string, ModelAlias>;
  readonly isBreakerOpen: () => boolean;
  /** Called with the first result, and with each that differs from the one before. */
  readonly onChange: (readiness: Readiness) => void;
};

/** However many probes arrive, the backend is checked at most once in this time. */
const CHECK_INTERVAL_MS = 5000;
const CHECK_LIMIT_MS = 3000;

const toReadiness = (health: BackendHealth, models: ReadonlyMap<string, ModelAlias>): Readiness => {
  if (health.kind === 'down') return { reasons: [health.reason], missing: [] };
  const absent = [...models.values()].filter(
    ({ model }) => !health.models.some((listed) => isSameModel(model, listed)),
  );
  const missing = absent.map(({ alias }) => alias);
  const names = [...new Set(absent.map(({ model }) => model))].join(', ');
  const reasons =
    missing.length === models.size ? [`the backend has none of the models that the aliases need: ${names}`] : [];
  return { reasons, missing };
};

/** Creates the check behind `/ready`. Its result is reused for a short time, and concurrent callers share one check. */
export const createReadyCheck = (needs: ReadyCheckNeeds): (() => Promise<Readiness>) => {
  const {
    clock,
    isStopping,
    hasUsableKey,
    isBreakerOpen: isLeftAlone,
    checkBackend: askBackend,
    models,
    onChange,
  } = needs;
  let lastCheck: { readonly at: number; readonly answer: Promise<Readiness> } | undefined;

  const checkNow = async (): Promise<Readiness> => {
    const deadline = createDeadline(clock, CHECK_LIMIT_MS);
    try {
      return toReadiness(await askBackend(deadline.signal), models);
    } catch (error) {
      if (error instanceof Fault) return { reasons: ['the backend does not answer in time'], missing: [] };
      throw error;
    } finally {
      deadline.clear();
    }
  };

  const current = async (): Promise<Readiness> => {
    if (isStopping()) return { reasons: ['the service is stopping'], missing: [] };
    if (!hasUsableKey()) return { reasons: ['every backend key is cooling down'], missing: [] };
    if (isLeftAlone()) return { reasons: ['the backend failed several times in a row'], missing: [] };
    if (lastCheck === undefined || Math.abs(clock.now() - lastCheck.at) >= CHECK_INTERVAL_MS)
      lastCheck = { at: clock.now(), answer: checkNow() };
    return lastCheck.answer;
  };
  let lastReported: string | undefined;
  return async () => {
    const readiness = await current();
    const summary = JSON.stringify(readiness);
    if (summary !== lastReported) onChange(readiness);
    lastReported = summary;
    return readiness;
  };
};
