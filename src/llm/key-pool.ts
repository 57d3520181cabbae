import { startCoolDown } from '../core/retry.ts';

/** One key's way from active over cooling and half-open back to active. */
export type KeyState = {
  readonly key: BackendKey;
  /** A lease when the key is active, or half-open with no call trying it. */
  readonly take: () => Lease | undefined;
  readonly waitMs: () => number;
  readonly status: () => KeyStatus;
  readonly adopt: (shared: SharedCoolDown) => void;
};

export type KeyStateListeners = {
  readonly onChange: (change: KeyChange) => void;
  readonly onProbeEnd: () => void;
};

type CoolDown = { readonly reason: RefusalReason; readonly strikes: number; readonly leftMs: () => number };

const LONGEST_REST_MS = 3_600_000;
/** How a probe ends is unknown; a second is the least that a Retry-After can say. */
const PROBE_WAIT_MS = 1_000;

const REST = {
  auth: { baseMs: 600_000, longestMs: LONGEST_REST_MS },
  quota: { baseMs: 900_000, longestMs: LONGEST_REST_MS },
  burst: { baseMs: 5_000, longestMs: 300_000 },
} as const;

/** Only of a burst does the backend know the end: it counts the calls itself. */
const askedMs = ({ reason, retryAfterMs }: Refusal): number | undefined =>
  reason === 'burst' ? retryAfterMs : undefined;

const restLengthMs = (refusal: Refusal, strikes: number): number => {
  const { baseMs, longestMs } = REST[refusal.reason];
  return askedMs(refusal) ?? Math.min(baseMs * 2 ** (strikes - 1), longestMs);
};

/** A key that begins active. A lease from before a cool-down comes late: it cannot end it and is no further strike. */
export const createKeyState = (
  key: BackendKey,
  now: () => number,
  { onChange, onProbeEnd }: KeyStateListeners,
): KeyState => {
  let coolDown: CoolDown | undefined;
  let coolDowns = 0;
  let isProbed = false;

  const leftMs = (): number => coolDown?.leftMs() ?? 0;
  const stateName = (): KeyStatus['state'] => {
    if (coolDown === undefined) return 'active';
    if (isProbed) return 'probing';
    return leftMs() > 0 ? 'cooling' : 'half-open';
  };
  const status = (): KeyStatus => {
    const state = stateName();
    const reason = coolDown === undefined ? {} : { reason: coolDown.reason };
    return { fingerprint: key.fingerprint, state, restMs: state === 'cooling' ? leftMs() : 0, ...reason };
  };
  const announce = (): void => onChange({ ...status(), strikes: coolDown?.strikes ?? 0 });

  const become = (next: CoolDown | undefined): void => {
    coolDown = next;
    if (!isProbed) return;
    isProbed = false;
    onProbeEnd();
  };
  const rest = (reason: RefusalReason, strikes: number, lengthMs: number): void =>
    become({ reason, strikes, leftMs: startCoolDown(now, lengthMs) });

  const refuse = (refusal: Refusal): void => {
    const strikes = coolDown?.reason === refusal.reason ? coolDown.strikes + 1 : 1;
    coolDowns += 1;
    rest(refusal.reason, strikes, restLengthMs(refusal, strikes));
    announce();
  };
  const refuseLate = (refusal: Refusal): void => {
    // After a success, or with a probe under way, there is newer knowledge than this.
    if (coolDown === undefined || isProbed) return;
    const isRepeat = coolDown.reason === refusal.reason;
    // Without a time of the backend's own, a repeat would only start our guess anew.
    if (isRepeat && askedMs(refusal) === undefined) return;
    const lengthMs = restLengthMs(refusal, 1);
    if (lengthMs <= leftMs()) return;
    rest(refusal.reason, isRepeat ? coolDown.strikes : 1, lengthMs);
    announce();
  };

  const leaseOf = (): Lease => {
    const before = coolDowns;
    let isOpen = true;
    const once = (end: (isLate: boolean) => void): void => {
      if (!isOpen) return;
      isOpen = false;
      end(coolDowns !== before);
    };
    return {
      key,
      succeed: () =>
        once((isLate) => {
          if (isLate || coolDown === undefined) return;
          become(undefined);
          announce();
        }),
      refuse: (refusal) => once((isLate) => (isLate ? refuseLate(refusal) : refuse(refusal))),
      release: () =>
        once((isLate) => {
          if (isLate || !isProbed) return;
          become(coolDown);
          announce();
        }),
    };
  };

  return {
    key,
    take() {
      const state = stateName();
      if (state === 'cooling' || state === 'probing') return undefined;
      const lease = leaseOf();
      if (state === 'half-open') {
        isProbed = true;
        announce();
      }
      return lease;
    },
    waitMs: () => (stateName() === 'probing' ? PROBE_WAIT_MS : leftMs()),
    status,
    adopt({ reason, restMs, strikes }) {
      if (restMs === 0) return become(undefined);
      const lengthMs = Math.min(restMs, LONGEST_REST_MS);
      if (!(lengthMs > leftMs())) return;
      coolDowns += 1;
      rest(reason, strikes, lengthMs);
    },
  };
};

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
export type SharedCoolDown = {
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
  readonly adopt: (shared: SharedCoolDown) => void;
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
