import { createDeadline } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { BackendHealth } from '../llm/health.ts';
import { isSameModel } from '../llm/model-name.ts';
import type { ModelAlias } from './models.ts';

/** Whether traffic should come here; `reasons` says why not, `missing` names aliases that the backend has no model for. */
export type Readiness = { readonly reasons: readonly string[]; readonly missing: readonly string[] };

export type ReadyNeeds = {
  readonly clock: Clock;
  readonly isStopping: () => boolean;
  readonly hasUsableKey: () => boolean;
  readonly askBackend: (signal: AbortSignal) => Promise<BackendHealth>;
  readonly models: ReadonlyMap<string, ModelAlias>;
  /** The breaker lets nothing through. */
  readonly isLeftAlone: () => boolean;
  /** Hears the first answer, and each that differs from the one before. */
  readonly onChange: (readiness: Readiness) => void;
};

/** However many probes come, the backend is asked at most once in this time. */
const FRESH_MS = 5000;
const ASK_LIMIT_MS = 3000;

const readinessOf = (health: BackendHealth, models: ReadonlyMap<string, ModelAlias>): Readiness => {
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

/** Answers from a short-lived check; callers at the same moment share one question. */
export const createReadyCheck = (needs: ReadyNeeds): (() => Promise<Readiness>) => {
  const { clock, isStopping, hasUsableKey, isLeftAlone, askBackend, models, onChange } = needs;
  let asked: { readonly at: number; readonly answer: Promise<Readiness> } | undefined;

  const ask = async (): Promise<Readiness> => {
    const deadline = createDeadline(clock, ASK_LIMIT_MS);
    try {
      return readinessOf(await askBackend(deadline.signal), models);
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
    if (asked === undefined || Math.abs(clock.now() - asked.at) >= FRESH_MS) asked = { at: clock.now(), answer: ask() };
    return asked.answer;
  };
  let told: string | undefined;
  return async () => {
    const readiness = await current();
    const summary = JSON.stringify(readiness);
    if (summary !== told) onChange(readiness);
    told = summary;
    return readiness;
  };
};
