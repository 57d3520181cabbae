import type { KeyRefusal, KeyStatus, SharedCoolDown } from './key-state.ts';
import { type BackendKey, createKeyState, type KeyChange, type KeyLease, type KeyState } from './key-state.ts';

/** The keys of one backend and their states. With a `model`, a key that may not use that model counts as cooling down. */
export type KeyPool = {
  readonly size: number;
  /** The next usable key in round-robin order that is not in `tried`; undefined when there is none. */
  readonly take: (tried: ReadonlySet<BackendKey>, model?: string) => KeyLease | undefined;
  /** Milliseconds until the first key is usable, 0 when one is now. A running probe counts as one second. */
  readonly waitMs: (model?: string) => number;
  /** Resolves when the first of the running probes ends; undefined when none runs. */
  readonly probeEnd: (model?: string) => Promise<void> | undefined;
  readonly statuses: (model?: string) => readonly KeyStatus[];
  /** Every key with its strikes, and after it each model that it was refused, where that is not over. */
  readonly details: () => readonly KeyChange[];
  /** Applies another replica's report. Does not call `onChange` for the whole key, or replicas would repeat it for ever. */
  readonly adopt: (shared: SharedCoolDown) => void;
  /** Lets a key rest by hand, for `lengthMs` from now. Never shortens a cool-down. Returns whether there is such a key. */
  readonly rest: (fingerprint: string, lengthMs: number) => boolean;
  /** Ends every cool-down of a key, also those for single models. Returns whether there is such a key. */
  readonly release: (fingerprint: string) => boolean;
};

/** One key of a pool: its own state, and one for each model that the backend has refused it. */
type PooledKey = Pick<KeyState, 'key' | 'adopt' | 'rest' | 'release'> & {
  readonly take: (model: string | undefined) => KeyLease | undefined;
  readonly waitMs: (model: string | undefined) => number;
  readonly status: (model: string | undefined) => KeyStatus;
  readonly details: () => readonly KeyChange[];
};

/** `createState` makes a state that has never been refused, for the whole key or for one model of it. */
const createPooledKey = (createState: (model?: string) => KeyState): PooledKey => {
  const whole = createState();
  const byModel = new Map<string, KeyState>();
  const stateOf = (model: string | undefined) => (model === undefined ? undefined : byModel.get(model));

  const createLease = (keyLease: KeyLease, modelLease: KeyLease | undefined, model: string | undefined): KeyLease => {
    const refuseModel = (refused: string, refusal: KeyRefusal): void => {
      keyLease.release();
      const state = byModel.get(refused) ?? createState(refused);
      byModel.set(refused, state);
      // Without a lease of its own, and cooling down already: another call was refused first.
      (modelLease ?? state.take())?.refuse(refusal);
    };
    return {
      key: whole.key,
      succeed() {
        keyLease.succeed();
        modelLease?.succeed();
      },
      refuse(refusal) {
        if (refusal.scope === 'model' && model !== undefined) return refuseModel(model, refusal);
        modelLease?.release();
        keyLease.refuse(refusal);
      },
      release() {
        keyLease.release();
        modelLease?.release();
      },
    };
  };

  const releaseModels = (): void => {
    for (const state of byModel.values()) if (state.status().state !== 'active') state.release();
  };

  return {
    key: whole.key,
    rest: whole.rest,
    adopt(shared) {
      if (shared.coolDownMs === 0 && shared.reason === 'manual') releaseModels();
      whole.adopt(shared);
    },
    release() {
      releaseModels();
      whole.release();
    },
    details: () => [
      whole.details(),
      ...[...byModel].flatMap(([model, { details }]) => {
        const found = details();
        return found.state === 'active' ? [] : [{ ...found, model }];
      }),
    ],
    take(model) {
      const forModel = stateOf(model);
      // Looked at before either is taken: taking a half-open state begins its probe.
      if (whole.waitMs() > 0 || (forModel?.waitMs() ?? 0) > 0) return undefined;
      const keyLease = whole.take();
      return keyLease === undefined ? undefined : createLease(keyLease, forModel?.take(), model);
    },
    waitMs: (model) => Math.max(whole.waitMs(), stateOf(model)?.waitMs() ?? 0),
    status(model) {
      const forModel = stateOf(model);
      return forModel === undefined || forModel.waitMs() <= whole.waitMs() ? whole.status() : forModel.status();
    },
  };
};

/**
 * Creates a pool that distributes calls over keys and cools down those that the backend refuses. It uses no timers, only
 * `now`. A server that needs no key still needs an entry here, with an empty secret.
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
  const pooled = keys.map((key) =>
    createPooledKey((model) =>
      createKeyState(key, now, {
        onChange: model === undefined ? onChange : (change) => onChange({ ...change, model }),
        onProbeEnd,
      }),
    ),
  );

  const changeKey = (fingerprint: string, change: (one: PooledKey) => void): boolean => {
    const found = pooled.filter(({ key }) => key.fingerprint === fingerprint);
    for (const one of found) change(one);
    return found.length > 0;
  };

  return {
    size: pooled.length,
    take(tried, model) {
      // The order is that of the list: a key has the same place after its cool-down.
      for (const [offset, one] of [...pooled.slice(cursor), ...pooled.slice(0, cursor)].entries()) {
        const lease = tried.has(one.key) ? undefined : one.take(model);
        if (lease === undefined) continue;
        cursor = (cursor + offset + 1) % pooled.length;
        return lease;
      }
      return undefined;
    },
    waitMs: (model) => Math.min(...pooled.map((one) => one.waitMs(model))),
    probeEnd(model) {
      if (!pooled.some((one) => one.status(model).state === 'probing')) return undefined;
      probeEnded ??= Promise.withResolvers();
      return probeEnded.promise;
    },
    statuses: (model) => pooled.map((one) => one.status(model)),
    details: () => pooled.flatMap((one) => one.details()),
    adopt: (shared) => void changeKey(shared.fingerprint, (one) => one.adopt(shared)),
    rest: (fingerprint, lengthMs) => changeKey(fingerprint, (one) => one.rest(lengthMs)),
    release: (fingerprint) => changeKey(fingerprint, (one) => one.release()),
  };
};
