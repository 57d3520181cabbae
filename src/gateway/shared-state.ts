import type { KeyChange, SharedCoolDown } from '../llm/key-state.ts';
import type { SharedAdmin } from './admin/admin.ts';
import type { KeyChangeScope } from './admin/routes.ts';
import type { SharedVerdicts } from './judge/cache.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Readiness } from './readiness.ts';

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
  /** Where clients cannot choose which process they ask: what the admin routes show of all of them. */
  readonly admin?: SharedAdmin;
  /** The check that answers for all, where clients cannot choose whom they ask: not ready only when none is. */
  readonly readiness?: (own: () => Promise<Readiness>) => () => Promise<Readiness>;
};
