import * as v from 'valibot';
import type { BreakerStatus } from '../../llm/breaker.ts';
import { COOL_DOWN_REASONS, type KeyChange } from '../../llm/key-state.ts';
import { ShadowState } from '../shadow/state.ts';

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
});
export type KeyReport = v.InferOutput<typeof KeyReport>;

/** What the judge has cost since the start, and its answers without a usable verdict. */
export const JudgeUsage = v.object({
  tokens: v.array(v.object({ model: v.string(), prompt: Count, completion: Count, cached: Count })),
  unusable: v.array(v.object({ model: v.string(), reason: v.string(), count: Count })),
});
export type JudgeUsage = v.InferOutput<typeof JudgeUsage>;

const BreakerReport = v.object({ state: v.picklist(BREAKER_STATES), rests_ms: Ms });

/** What a process reports about itself. No text and no key is in it. */
export const PROCESS_STATE = {
  keys: v.array(KeyReport),
  breaker: BreakerReport,
  calls: v.object({ running: Count, waiting: Count, limit: Count }),
  cache: v.object({ verdicts: Count, limit: Count }),
  ...JudgeUsage.entries,
  shadow: v.optional(ShadowState),
};

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

/** The report of the breaker, from its status. */
export const breakerReport = ({ state, coolDownMs }: BreakerStatus): v.InferOutput<typeof BreakerReport> => ({
  state,
  rests_ms: Math.ceil(coolDownMs),
});
