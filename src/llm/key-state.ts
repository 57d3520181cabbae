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

/** Creates an active key. The result of a lease from before a cool-down is late: it neither ends it nor adds a strike. */
export const createKeyState = (
  key: BackendKey,
  now: () => number,
  { onChange, onProbeEnd }: KeyStateListeners,
): KeyState => {
  let coolDown: CoolDown | undefined;
  let coolDowns = 0;
  let isProbed = false;

  const leftMs = (): number => coolDown?.leftMs() ?? 0;
  const currentState = (): KeyStatus['state'] => {
    if (coolDown === undefined) return 'active';
    if (isProbed) return 'probing';
    return leftMs() > 0 ? 'cooling' : 'half-open';
  };
  const status = (): KeyStatus => {
    const state = currentState();
    const reason = coolDown === undefined ? {} : { reason: coolDown.reason };
    return { fingerprint: key.fingerprint, state, coolDownMs: state === 'cooling' ? leftMs() : 0, ...reason };
  };
  const details = (): KeyChange => ({ ...status(), strikes: coolDown?.strikes ?? 0 });
  const report = (): void => onChange(details());

  const setCoolDown = (next: CoolDown | undefined): void => {
    coolDown = next;
    if (!isProbed) return;
    isProbed = false;
    onProbeEnd();
  };
  const startNewCoolDown = (reason: CoolDownReason, strikes: number, lengthMs: number): void =>
    setCoolDown({ reason, strikes, leftMs: startCoolDown(now, lengthMs) });

  const refuse = (refusal: KeyRefusal): void => {
    const strikes = coolDown?.reason === refusal.reason ? coolDown.strikes + 1 : 1;
    coolDowns += 1;
    startNewCoolDown(refusal.reason, strikes, coolDownLengthMs(refusal, strikes));
    report();
  };
  const refuseLate = (refusal: KeyRefusal): void => {
    // After a success, or while a probe runs, newer results count.
    if (coolDown === undefined || isProbed) return;
    const isRepeat = coolDown.reason === refusal.reason;
    // Without a time from the backend, a repeat would only restart our own estimate.
    if (isRepeat && backendDelayMs(refusal) === undefined) return;
    const lengthMs = coolDownLengthMs(refusal, 1);
    if (lengthMs <= leftMs()) return;
    startNewCoolDown(refusal.reason, isRepeat ? coolDown.strikes : 1, lengthMs);
    report();
  };

  /** A success elsewhere, of a call from before it, says nothing about a rest by hand. */
  const endCoolDown = (reason: CoolDownReason): void => {
    if (leftMs() === 0 || coolDown?.reason !== 'manual' || reason === 'manual') setCoolDown(undefined);
  };
  /** Starts a cool-down unless the present one takes as long. The results of leases from before it are late. */
  const lengthen = (reason: CoolDownReason, strikes: number, lengthMs: number): boolean => {
    if (!(lengthMs > leftMs())) return false;
    coolDowns += 1;
    startNewCoolDown(reason, strikes, lengthMs);
    return true;
  };

  const createLease = (): KeyLease => {
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
          setCoolDown(undefined);
          report();
        }),
      refuse: (refusal) => once((isLate) => (isLate ? refuseLate(refusal) : refuse(refusal))),
      release: () =>
        once((isLate) => {
          if (isLate || !isProbed) return;
          setCoolDown(coolDown);
          report();
        }),
    };
  };

  return {
    key,
    take() {
      const state = currentState();
      if (state === 'cooling' || state === 'probing') return undefined;
      const lease = createLease();
      if (state === 'half-open') {
        isProbed = true;
        report();
      }
      return lease;
    },
    waitMs: () => (currentState() === 'probing' ? PROBE_WAIT_MS : leftMs()),
    status,
    details,
    adopt({ reason, coolDownMs, strikes }) {
      if (coolDownMs === 0) return endCoolDown(reason);
      lengthen(reason, strikes, Math.min(coolDownMs, reason === 'manual' ? MAX_REST_MS : MAX_COOL_DOWN_MS));
    },
    rest(lengthMs) {
      if (lengthen('manual', 0, lengthMs)) report();
    },
    release() {
      setCoolDown(undefined);
      onChange({ ...details(), reason: 'manual' });
    },
  };
};
