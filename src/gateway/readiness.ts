import { createDeadline, untilAborted } from '../core/async.ts';
import { Fault } from '../core/fault.ts';
import { jsonResponse } from '../core/http/response.ts';
import type { Log } from '../core/log.ts';
import type { Runtime } from '../core/runtime.ts';
import type { BackendHealth } from '../llm/health.ts';
import type { CoolDownReason } from '../llm/key-state.ts';
import { isSameModel } from '../llm/model-name.ts';
import type { FindModelTraits } from '../llm/model-traits.ts';
import type { JudgeBackend } from './backend.ts';
import { findUnfitness } from './judge/chain/fitness.ts';
import { judgesOf, type ModelAlias } from './models.ts';
import type { GatewaySettings } from './settings/variables.ts';

/**
 * Ready when `reasons` is empty. `missing`: the aliases whose model the backend does not list. `warnings`: what an alias
 * cannot do with its model, beginning with the alias.
 */
export type Readiness = {
  readonly reasons: readonly string[];
  readonly missing: readonly string[];
  readonly warnings: readonly string[];
};

type ReadyCheckNeeds = Pick<Runtime, 'clock' | 'log'> & {
  readonly isStopping: () => boolean;
  readonly backend: Pick<JudgeBackend, 'restReasons' | 'breaker' | 'checkHealth' | 'findTraits'>;
  readonly models: ReadonlyMap<string, ModelAlias>;
};

/** However many probes arrive, the backend is checked at most once in this time. */
const CHECK_INTERVAL_MS = 5000;
const CHECK_LIMIT_MS = 3000;

const REST_TEXTS: Readonly<Record<CoolDownReason, string>> = {
  auth: 'the backend has refused it; check BACKEND_API_KEYS, and whether their plan has the models',
  quota: 'its quota is used up',
  burst: 'it was used too often in a short time',
  manual: 'an operator has it rest',
};
const restText = (reason: CoolDownReason): string => REST_TEXTS[reason];

const notReady = (reason: string): Readiness => ({ reasons: [reason], missing: [], warnings: [] });

const toReadiness = async (
  health: BackendHealth,
  models: ReadonlyMap<string, ModelAlias>,
  findTraits: FindModelTraits,
): Promise<Readiness> => {
  if (health.kind === 'down') return notReady(health.reason);
  const isListed = ({ model }: ModelAlias): boolean => health.models.some((listed) => isSameModel(model, listed));
  // An alias needs the models of all its judges.
  const absent = [...models.values()].filter((alias) => !judgesOf(alias).every(isListed));
  const missing = absent.map(({ alias }) => alias);
  const needed = absent.flatMap(judgesOf).filter((judge) => !isListed(judge));
  const names = [...new Set(needed.map(({ model }) => model))].join(', ');
  if (missing.length === models.size)
    return {
      ...notReady(
        `the backend has none of the models that the aliases need: ${names}; let it load them, or name some that it has in MODERATION_MODELS`,
      ),
      missing,
    };
  const listed = [...models.values()].filter(({ alias }) => !missing.includes(alias));
  const found = await Promise.all(
    listed.map(async (alias) => ({ alias, unfit: findUnfitness(alias, (await findTraits(alias.model)) ?? {}) })),
  );
  const warnings = found.flatMap(({ alias, unfit }) => unfit.map(({ reason }) => `${alias.alias}: ${reason}`));
  const useless = found.filter(({ unfit }) => unfit.some(({ isUseless }) => isUseless)).map(({ alias }) => alias.alias);
  // Where one of its judges can give no verdict, no text may have one.
  const isUseful = listed.some((each) => !judgesOf(each).some(({ alias }) => useless.includes(alias)));
  return { reasons: isUseful ? [] : ['no alias can be judged for by its model'], missing, warnings };
};

const report = (log: Log, { reasons, missing, warnings }: Readiness): void => {
  const reason = [...reasons, ...missing.map((alias) => `no model for ${alias}`), ...warnings].join('; ');
  if (reason === '') log('info', 'ready');
  else log('warn', reasons.length === 0 ? 'ready' : 'not-ready', { reason });
};

/** Creates the check behind `/ready`. It logs the first result, and each that differs from the one before. A result is reused for a short time, and concurrent callers share one check. */
export const createReadyCheck = ({
  clock,
  log,
  isStopping,
  backend,
  models,
}: ReadyCheckNeeds): (() => Promise<Readiness>) => {
  let lastCheck: { readonly at: number; readonly answer: Promise<Readiness> } | undefined;

  const checkNow = async (): Promise<Readiness> => {
    const deadline = createDeadline(clock, CHECK_LIMIT_MS);
    try {
      const health = await backend.checkHealth(deadline.signal);
      return await untilAborted(toReadiness(health, models, backend.findTraits), deadline.signal);
    } catch (error) {
      if (error instanceof Fault) return notReady('the backend does not answer in time');
      throw error;
    } finally {
      deadline.clear();
    }
  };

  const current = async (): Promise<Readiness> => {
    if (isStopping()) return notReady('the service is stopping');
    const resting = backend.restReasons();
    if (resting !== undefined)
      return notReady(`every backend key is cooling down: ${resting.map(restText).join('; ')}`);
    if (backend.breaker.status().state === 'open') return notReady('the backend failed several times in a row');
    if (lastCheck === undefined || Math.abs(clock.now() - lastCheck.at) >= CHECK_INTERVAL_MS)
      lastCheck = { at: clock.now(), answer: checkNow() };
    return lastCheck.answer;
  };
  let lastReported: string | undefined;
  return async () => {
    const readiness = await current();
    const summary = JSON.stringify(readiness);
    if (summary !== lastReported) report(log, readiness);
    lastReported = summary;
    return readiness;
  };
};

type ReadyRouteNeeds = {
  readonly settings: Pick<GatewaySettings, 'NO_VERDICT'>;
  readonly isStopping: () => boolean;
  readonly checkReadiness: () => Promise<Readiness>;
};

/** `GET /ready`: 200 as long as the gateway can answer something that blocks, else 503 with the reasons. */
export const createReadyRoute =
  ({ settings, isStopping, checkReadiness }: ReadyRouteNeeds) =>
  async (): Promise<Response> => {
    const { reasons, missing, warnings } = await checkReadiness();
    const lacks = {
      ...(missing.length === 0 ? {} : { missing_models_for: missing }),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
    // Without endpoints clients are refused the connection, and those that fail open pass everything. A flag blocks.
    const isFlagging = settings.NO_VERDICT === 'flag' && !isStopping();
    if (reasons.length > 0 && isFlagging) return jsonResponse(200, { status: 'flagging', reasons, ...lacks });
    if (reasons.length > 0) return jsonResponse(503, { status: 'not ready', reasons, ...lacks });
    return jsonResponse(200, { status: 'ready', ...lacks });
  };
