import { startCoolDown } from '../core/retry.ts';

/** A key of the backend. Logs and metrics may show its `fingerprint` only. */
export type BackendKey = { readonly secret: string; readonly fingerprint: string };

/** Why a backend refused a key; each reason has its own cool-down. */
export const REFUSAL_REASONS = ['auth', 'quota', 'burst'] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];
/** Why a key is cooling down: the backend's reason, or that an operator lets it rest. */
export const COOL_DOWN_REASONS = [...REFUSAL_REASONS, 'manual'] as const;
export type CoolDownReason = (typeof COOL_DOWN_REASONS)[number];
/**
 * A backend's refusal of a key. `retryAfterMs`: the wait that the backend itself demands. `scope: 'model'`: the key may
 * not use this model, and is as good as before for the others.
 */
export type KeyRefusal = {
  readonly reason: RefusalReason;
  readonly retryAfterMs?: number;
  readonly scope?: 'model';
};

/** A key for one call. The first call of `succeed`, `refuse` or `release` counts, later ones do nothing. */
export type KeyLease = {
  readonly key: BackendKey;
  readonly succeed: () => void;
  readonly refuse: (refusal: KeyRefusal) => void;
  /** Neither: the call failed for another reason, or its caller disconnected. */
  readonly release: () => void;
};

/** Half-open: the cool-down is over, no call has succeeded yet. Probing: one call tries a half-open key. */
export type KeyStatus = {
  readonly fingerprint: string;
  readonly state: 'active' | 'cooling' | 'half-open' | 'probing';
  readonly coolDownMs: number;
  readonly reason?: CoolDownReason;
};

/**
 * A key's new state after a call or by hand, for one `model` where the refusal was about that alone. The end of a cool-down is no
 * change: only `statuses()` shows it. An active key with the reason `manual` was released by hand.
 */
export type KeyChange = KeyStatus & { readonly strikes: number; readonly model?: string };

/** A cool-down that another replica reports, or (`coolDownMs` 0) its end. One by hand ends only by hand. */
export type SharedCoolDown = {
  readonly fingerprint: string;
  readonly coolDownMs: number;
  readonly reason: CoolDownReason;
  readonly strikes: number;
};

/** The state machine of one key, or of one key with one model: active, cooling, half-open, probing, active. */
export type KeyState = {
  readonly key: BackendKey;
  /** A lease when the key is active or half-open. */
  readonly take: () => KeyLease | undefined;
  readonly waitMs: () => number;
  readonly status: () => KeyStatus;
  /** The status with its strikes, as `onChange` reports it. */
  readonly details: () => KeyChange;
  readonly adopt: (shared: SharedCoolDown) => void;
  /** Lets the key rest by hand. Never shortens a cool-down. */
  readonly rest: (lengthMs: number) => void;
  /** Ends every cool-down and forgets its strikes. */
  readonly release: () => void;
};

type KeyStateListeners = {
  readonly onChange: (change: KeyChange) => void;
  readonly onProbeEnd: () => void;
};

type CoolDown = { readonly reason: CoolDownReason; readonly strikes: number; readonly leftMs: () => number };

const MAX_COOL_DOWN_MS = 3_600_000;
/** The longest rest by hand: a day. */
export const MAX_REST_MS = 86_400_000;
/** When a probe ends is unknown; a second is the shortest Retry-After. */
const PROBE_WAIT_MS = 1_000;

const COOL_DOWNS = {
  auth: { baseMs: 600_000, maxMs: MAX_COOL_DOWN_MS },
  quota: { baseMs: 900_000, maxMs: MAX_COOL_DOWN_MS },
  burst: { baseMs: 5_000, maxMs: 300_000 },
} as const;

/** The backend knows when a burst limit ends, because it counts the calls. Of other refusals it does not. */
const backendDelayMs = ({ reason, retryAfterMs }: KeyRefusal): number | undefined =>
  reason === 'burst' ? retryAfterMs : undefined;

const coolDownLengthMs = (refusal: KeyRefusal, strikes: number): number => {
  const { baseMs, maxMs } = COOL_DOWNS[refusal.reason];
  return backendDelayMs(refusal) ?? Math.min(baseMs * 2 ** (strikes - 1), maxMs);
};

type State = KeyStateListeners & {
  readonly key: BackendKey;
  readonly now: () => number;
  coolDown: CoolDown | undefined;
  /** How many have begun: the result of a lease from before the last one is late. */
  coolDowns: number;
  isProbed: boolean;
};

const leftMsOf = ({ coolDown }: State): number => coolDown?.leftMs() ?? 0;

const stateOf = (state: State): KeyStatus['state'] => {
  if (state.coolDown === undefined) return 'active';
  if (state.isProbed) return 'probing';
  return leftMsOf(state) > 0 ? 'cooling' : 'half-open';
};

const statusOf = (of: State): KeyStatus => {
  const state = stateOf(of);
  const reason = of.coolDown === undefined ? {} : { reason: of.coolDown.reason };
  return { fingerprint: of.key.fingerprint, state, coolDownMs: state === 'cooling' ? leftMsOf(of) : 0, ...reason };
};

const detailsOf = (state: State): KeyChange => ({ ...statusOf(state), strikes: state.coolDown?.strikes ?? 0 });
const report = (state: State): void => state.onChange(detailsOf(state));

const setCoolDown = (state: State, next: CoolDown | undefined): void => {
  state.coolDown = next;
  if (!state.isProbed) return;
  state.isProbed = false;
  state.onProbeEnd();
};

const startNewCoolDown = (state: State, reason: CoolDownReason, strikes: number, lengthMs: number): void =>
  setCoolDown(state, { reason, strikes, leftMs: startCoolDown(state.now, lengthMs) });

const refuse = (state: State, refusal: KeyRefusal): void => {
  const { coolDown } = state;
  const strikes = coolDown?.reason === refusal.reason ? coolDown.strikes + 1 : 1;
  state.coolDowns += 1;
  startNewCoolDown(state, refusal.reason, strikes, coolDownLengthMs(refusal, strikes));
  report(state);
};

const refuseLate = (state: State, refusal: KeyRefusal): void => {
  const { coolDown, isProbed } = state;
  // After a success, or while a probe runs, newer results count.
  if (coolDown === undefined || isProbed) return;
  const isRepeat = coolDown.reason === refusal.reason;
  // Without a time from the backend, a repeat would only restart our own estimate.
  if (isRepeat && backendDelayMs(refusal) === undefined) return;
  const lengthMs = coolDownLengthMs(refusal, 1);
  if (lengthMs <= leftMsOf(state)) return;
  startNewCoolDown(state, refusal.reason, isRepeat ? coolDown.strikes : 1, lengthMs);
  report(state);
};

/** A success elsewhere, of a call from before it, says nothing about a rest by hand. */
const endCoolDown = (state: State, reason: CoolDownReason): void => {
  if (leftMsOf(state) === 0 || state.coolDown?.reason !== 'manual' || reason === 'manual')
    setCoolDown(state, undefined);
};

/** Starts a cool-down unless the present one takes as long. The results of leases from before it are late. */
const lengthen = (state: State, reason: CoolDownReason, strikes: number, lengthMs: number): boolean => {
  if (!(lengthMs > leftMsOf(state))) return false;
  state.coolDowns += 1;
  startNewCoolDown(state, reason, strikes, lengthMs);
  return true;
};

const createLease = (state: State): KeyLease => {
  const before = state.coolDowns;
  let isOpen = true;
  const once = (end: (isLate: boolean) => void): void => {
    if (!isOpen) return;
    isOpen = false;
    end(state.coolDowns !== before);
  };
  return {
    key: state.key,
    succeed: () =>
      once((isLate) => {
        if (isLate || state.coolDown === undefined) return;
        setCoolDown(state, undefined);
        report(state);
      }),
    refuse: (refusal) => once((isLate) => (isLate ? refuseLate : refuse)(state, refusal)),
    release: () =>
      once((isLate) => {
        if (isLate || !state.isProbed) return;
        setCoolDown(state, state.coolDown);
        report(state);
      }),
  };
};

/** Creates an active key. The result of a lease from before a cool-down is late: it neither ends it nor adds a strike. */
export const createKeyState = (key: BackendKey, now: () => number, listeners: KeyStateListeners): KeyState => {
  const state: State = { ...listeners, key, now, coolDown: undefined, coolDowns: 0, isProbed: false };
  return {
    key,
    take() {
      const current = stateOf(state);
      if (current === 'cooling' || current === 'probing') return undefined;
      const lease = createLease(state);
      if (current === 'half-open') {
        state.isProbed = true;
        report(state);
      }
      return lease;
    },
    waitMs: () => (stateOf(state) === 'probing' ? PROBE_WAIT_MS : leftMsOf(state)),
    status: () => statusOf(state),
    details: () => detailsOf(state),
    adopt({ reason, coolDownMs, strikes }) {
      if (coolDownMs === 0) return endCoolDown(state, reason);
      lengthen(state, reason, strikes, Math.min(coolDownMs, reason === 'manual' ? MAX_REST_MS : MAX_COOL_DOWN_MS));
    },
    rest(lengthMs) {
      if (lengthen(state, 'manual', 0, lengthMs)) report(state);
    },
    release() {
      setCoolDown(state, undefined);
      state.onChange({ ...detailsOf(state), reason: 'manual' });
    },
  };
};
