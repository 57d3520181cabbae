import * as v from 'valibot';
import type { BreakerStatus } from '../../llm/breaker.ts';
import { COOL_DOWN_REASONS, type KeyChange } from '../../llm/key-state.ts';
import { addShadows, ShadowState } from './shadow-state.ts';

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const Ms = v.pipe(v.number(), v.finite(), v.minValue(0));
const KEY_STATES = ['active', 'half-open', 'probing', 'cooling'] as const;
const BREAKER_STATES = ['closed', 'half-open', 'open'] as const;

const Rest = v.object({
  state: v.picklist(KEY_STATES),
  reason: v.optional(v.picklist(COOL_DOWN_REASONS)),
  /** Milliseconds until it is tried again, 0 when it may be now. */
  rests_ms: Ms,
  strikes: Count,
});

/** A backend key by its fingerprint. `models`: those that it was refused. */
export const KeyReport = v.object({
  fingerprint: v.string(),
  ...Rest.entries,
  models: v.optional(v.array(v.object({ model: v.string(), ...Rest.entries }))),
  /** Workers of this service see it in different states; the worst is reported. */
  differs: v.optional(v.literal(true)),
});
export type KeyReport = v.InferOutput<typeof KeyReport>;

/** What the judge has cost since the start, and its answers without a usable verdict. */
export const JudgeUsage = v.object({
  tokens: v.array(v.object({ model: v.string(), prompt: Count, completion: Count, cached: Count })),
  unusable: v.array(v.object({ model: v.string(), reason: v.string(), count: Count })),
});
export type JudgeUsage = v.InferOutput<typeof JudgeUsage>;

/** What one process reports about itself, or several added up. No text and no key is in it. */
export const ProcessState = v.object({
  keys: v.array(KeyReport),
  breaker: v.object({
    state: v.picklist(BREAKER_STATES),
    rests_ms: Ms,
    /** In how many processes it is not closed: each has its own. */
    not_closed: Count,
  }),
  calls: v.object({ running: Count, waiting: Count, limit: Count }),
  cache: v.object({ verdicts: Count, limit: Count }),
  usage: JudgeUsage,
  shadow: v.optional(ShadowState),
});
export type ProcessState = v.InferOutput<typeof ProcessState>;

/** The states of the processes of a service that have answered, of so many that run, and what those that ended had counted. */
export const ProcessStates = v.object({ running: Count, states: v.array(ProcessState), ended: JudgeUsage });
export type ProcessStates = v.InferOutput<typeof ProcessStates>;

export const NO_JUDGE_USAGE: JudgeUsage = { tokens: [], unusable: [] };

const restOf = ({ state, reason, coolDownMs, strikes }: KeyChange): v.InferOutput<typeof Rest> => ({
  state,
  ...(reason === undefined ? {} : { reason }),
  rests_ms: Math.ceil(coolDownMs),
  strikes,
});

/** The reports of a pool's keys, from its details. */
export const keyReports = (details: readonly KeyChange[]): KeyReport[] =>
  details
    .filter(({ model }) => model === undefined)
    .map((key) => {
      const models = details.flatMap((one) =>
        one.model === undefined || one.fingerprint !== key.fingerprint ? [] : [{ model: one.model, ...restOf(one) }],
      );
      return { fingerprint: key.fingerprint, ...restOf(key), ...(models.length === 0 ? {} : { models }) };
    });

export const breakerReport = ({ state, coolDownMs }: BreakerStatus): ProcessState['breaker'] => ({
  state,
  rests_ms: Math.ceil(coolDownMs),
  not_closed: state === 'closed' ? 0 : 1,
});

type Ranked = { readonly state: string; readonly rests_ms: number };
/** The one that is furthest from normal, by the order of states, then by its rest. */
const worst = <One extends Ranked>(ones: readonly One[], order: readonly string[]): One | undefined =>
  ones.toSorted(
    (left, right) => order.indexOf(right.state) - order.indexOf(left.state) || right.rests_ms - left.rests_ms,
  )[0];

const groupBy = <One>(ones: readonly One[], nameOf: (one: One) => string): readonly (readonly One[])[] => [
  ...Map.groupBy(ones, nameOf).values(),
];

const mergeKeys = (reports: readonly KeyReport[]): KeyReport[] =>
  groupBy(reports, ({ fingerprint }) => fingerprint).flatMap((ofKey) => {
    const found = worst(ofKey, KEY_STATES);
    if (found === undefined) return [];
    const models = groupBy(
      ofKey.flatMap((one) => one.models ?? []),
      ({ model }) => model,
    ).flatMap((ofModel) => worst(ofModel, KEY_STATES) ?? []);
    const differs = ofKey.some(({ state }) => state !== found.state);
    const { models: _, ...rest } = found;
    return [{ ...rest, ...(models.length === 0 ? {} : { models }), ...(differs ? { differs: true as const } : {}) }];
  });

/** Adds up the usage of several processes. */
export const addUsages = (usages: readonly JudgeUsage[]): JudgeUsage => ({
  tokens: groupBy(
    usages.flatMap(({ tokens }) => tokens),
    ({ model }) => model,
  ).flatMap((ofModel) =>
    ofModel.reduce((sum, one) => ({
      model: one.model,
      prompt: sum.prompt + one.prompt,
      completion: sum.completion + one.completion,
      cached: sum.cached + one.cached,
    })),
  ),
  unusable: groupBy(
    usages.flatMap(({ unusable }) => unusable),
    ({ model, reason }) => `${model} ${reason}`,
  ).flatMap((alike) => alike.reduce((sum, one) => ({ ...one, count: sum.count + one.count }))),
});

/** The state of a service from those of its processes. */
export const mergeStates = ({ states, ended }: Pick<ProcessStates, 'states' | 'ended'>): ProcessState => {
  const sum = (read: (state: ProcessState) => number): number =>
    states.reduce((total, state) => total + read(state), 0);
  const { state = 'closed', rests_ms = 0 } =
    worst(
      states.map(({ breaker }) => breaker),
      BREAKER_STATES,
    ) ?? {};
  const shadow = addShadows(states.flatMap((one) => one.shadow ?? []));
  return {
    ...(shadow === undefined ? {} : { shadow }),
    keys: mergeKeys(states.flatMap(({ keys }) => keys)),
    breaker: { state, rests_ms, not_closed: sum(({ breaker }) => breaker.not_closed) },
    calls: {
      running: sum(({ calls }) => calls.running),
      waiting: sum(({ calls }) => calls.waiting),
      limit: sum(({ calls }) => calls.limit),
    },
    cache: { verdicts: sum(({ cache }) => cache.verdicts), limit: sum(({ cache }) => cache.limit) },
    usage: addUsages([ended, ...states.map(({ usage }) => usage)]),
  };
};
