/** How long a call to a backend may take, in milliseconds; 0 for no limit. */
export type BackendLimits = {
  /** Until its answer begins. */
  readonly headerMs: number;
  /** Between two pieces of it. */
  readonly gapMs: number;
  /** From the question to the end of the answer. */
  readonly wholeMs: number;
};

/** What holds for a provider of which the configuration says nothing else. */
export const USUAL_LIMITS: BackendLimits = { headerMs: 300_000, gapMs: 300_000, wholeMs: 0 };
