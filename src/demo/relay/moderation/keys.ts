/** What the platform knows of one of its moderation keys. Times are milliseconds since the epoch. */
export type ModerationKey = {
  readonly key: string;
  frozenUntilMs: number;
  failures: number;
  successes: number;
  /** 0 where there was no answer. */
  lastStatus: number | undefined;
};

export const createModerationKey = (key: string): ModerationKey => ({
  key,
  frozenUntilMs: 0,
  failures: 0,
  successes: 0,
  lastStatus: undefined,
});

const MINUTE_MS = 60_000;

/** How long a key is frozen after a failure with this status; 0 stands for no answer. */
const freezeMsFor = (status: number): number => {
  if (status === 0 || status === 400) return 0;
  if (status === 401 || status === 403) return 10 * MINUTE_MS;
  return status === 429 || status === 529 ? MINUTE_MS : 10_000;
};

/** Takes down how a call with the key ended: a success ends its freeze, a failure may freeze it. */
export const recordCall = (key: ModerationKey, status: number, isSuccess: boolean, nowMs: number): void => {
  key.lastStatus = status;
  if (isSuccess) {
    key.successes += 1;
    key.frozenUntilMs = 0;
  } else {
    key.failures += 1;
    key.frozenUntilMs = Math.max(key.frozenUntilMs, nowMs + freezeMsFor(status));
  }
};

/** Takes the keys in turn, without those that are frozen. Undefined when all of them are. */
export const createKeyRotation = (keys: readonly ModerationKey[]): ((nowMs: number) => ModerationKey | undefined) => {
  let next = 0;
  return (nowMs) => {
    for (let tried = 0; tried < keys.length; tried++) {
      const key = keys[next++ % keys.length];
      // As long as it is frozen at this very moment: an end that has come is no freeze.
      if (key !== undefined && key.frozenUntilMs <= nowMs) return key;
    }
    return undefined;
  };
};
