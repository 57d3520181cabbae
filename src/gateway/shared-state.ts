import type { KeyChange, SharedCoolDown } from '../llm/key-state.ts';
import type { KeyChangeScope } from './admin/routes.ts';
import type { SharedVerdicts } from './judge/cache.ts';
import type { RateLimit } from './routes/rate-limit.ts';

/** State that several replicas share. None of it fails: a replica that cannot reach it uses its own. */
export type SharedState = {
  readonly verdicts: (lifetimeMs: number) => SharedVerdicts;
  readonly rateLimit: (limit: number, local: RateLimit) => RateLimit;
  readonly coolDowns: {
    readonly publish: (change: KeyChange) => void;
    readonly subscribe: (adopt: (coolDown: SharedCoolDown) => void) => void;
    /** How far a change that is published now goes at once. */
    readonly scope: () => KeyChangeScope;
  };
};
