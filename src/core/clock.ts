/** Time as a parameter, so that cool-downs and deadlines can be tested without sleeping. */
export type Clock = {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Runs `task` once after `delayMs`; the returned function takes it back and may be called any number of times. */
  readonly after: (delayMs: number, task: () => void) => () => void;
};
