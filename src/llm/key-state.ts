import type { BackendKey, KeyChange, KeyStatus, Lease, Refusal, RefusalReason, SharedRest } from './key-pool.ts';
import { startRest } from './rest.ts';

/** One key's way from active over cooling and half-open back to active. */
export type KeyState = {
  readonly key: BackendKey;
  /** A lease when the key is active, or half-open with no call trying it. */
  readonly take: () => Lease | undefined;
  readonly waitMs: () => number;
  readonly status: () => KeyStatus;
  readonly adopt: (shared: SharedRest) => void;
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
    become({ reason, strikes, leftMs: startRest(now, lengthMs) });

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
