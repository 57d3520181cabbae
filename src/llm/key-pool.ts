import { createKeyState } from './key-state.ts';

/** A key to the backend. `fingerprint` is what logs and metrics may show of it. */
export type BackendKey = { readonly secret: string; readonly fingerprint: string };

/** Why a backend refused a key; each reason has its own cool-down. */
export type RefusalReason = 'auth' | 'quota' | 'burst';
export type Refusal = { readonly reason: RefusalReason; readonly retryAfterMs?: number };

/** A key for one call. The first of the three verbs counts, later ones do nothing. */
export type Lease = {
  readonly key: BackendKey;
  readonly succeed: () => void;
  readonly refuse: (refusal: Refusal) => void;
  /** Neither: the call failed for reasons that are not the key's, or its caller left. */
  readonly release: () => void;
};

/** A half-open key has served its rest but not yet a call; while one call tries it, it is probing. */
export type KeyStatus = {
  readonly fingerprint: string;
  readonly state: 'active' | 'cooling' | 'half-open' | 'probing';
  readonly restMs: number;
  readonly reason?: RefusalReason;
};

/** What a call did to a key. That a rest is over changes nothing yet, so it shows only in `statuses()`. */
export type KeyChange = KeyStatus & { readonly strikes: number };

/** A cool-down learnt from another replica, or (`restMs` 0) its end. */
export type SharedRest = {
  readonly fingerprint: string;
  readonly restMs: number;
  readonly reason: RefusalReason;
  readonly strikes: number;
};

export type KeyPool = {
  readonly size: number;
  /** The next usable key in round-robin order that is not in `tried`; nothing when there is none. */
  readonly take: (tried: ReadonlySet<BackendKey>) => Lease | undefined;
  /** Milliseconds until the first key returns, 0 when one is usable now. A running probe counts as one second. */
  readonly waitMs: () => number;
  /** Settles when the first of the running half-open probes ends; nothing when none runs. */
  readonly probeEnd: () => Promise<void> | undefined;
  readonly statuses: () => readonly KeyStatus[];
  /** Takes over what another replica learnt. `onChange` does not hear of it, or replicas would echo it for ever. */
  readonly adopt: (shared: SharedRest) => void;
};

/**
 * Spreads calls over keys and rests the ones that the backend refuses. Holds no timers: `now` is asked, never awaited.
 * A server that wants no key still needs one here, with an empty secret.
 */
export const createKeyPool = (
  keys: readonly BackendKey[],
  now: () => number,
  onChange: (change: KeyChange) => void = () => {},
): KeyPool => {
  if (keys.length === 0) throw new TypeError('Cannot create a key pool of no keys');
  let cursor = 0;
  let probeEnded: PromiseWithResolvers<void> | undefined;
  const onProbeEnd = (): void => {
    probeEnded?.resolve();
    probeEnded = undefined;
  };
  const states = keys.map((key) => createKeyState(key, now, { onChange, onProbeEnd }));

  return {
    size: states.length,
    take(tried) {
      // The order is that of the list, whoever rests: a key that returns is back in its old place.
      for (const [offset, state] of [...states.slice(cursor), ...states.slice(0, cursor)].entries()) {
        const lease = tried.has(state.key) ? undefined : state.take();
        if (lease === undefined) continue;
        cursor = (cursor + offset + 1) % states.length;
        return lease;
      }
      return undefined;
    },
    waitMs: () => Math.min(...states.map((state) => state.waitMs())),
    probeEnd() {
      if (!states.some((state) => state.status().state === 'probing')) return undefined;
      probeEnded ??= Promise.withResolvers();
      return probeEnded.promise;
    },
    statuses: () => states.map((state) => state.status()),
    adopt(shared) {
      for (const state of states) {
        if (state.key.fingerprint === shared.fingerprint) state.adopt(shared);
      }
    },
  };
};
