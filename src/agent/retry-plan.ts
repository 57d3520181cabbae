import type { ModelProblem } from './model/types.ts';

const ATTEMPT_LIMIT = 5;
const FIRST_DELAY_MS = 2000;
const LONGEST_DELAY_MS = 30_000;
/** A backend that wants to be left alone for longer is answered with its refusal. */
const LONGEST_ASKED_MS = 60_000;
const JITTER = 0.25;

/** How long to wait before a step is tried again, or nothing when it has failed: whole milliseconds. `attempt` counts from 1, `chance` is 0 to 1. */
export const retryDelayMs = (problem: ModelProblem, attempt: number, chance: number): number | undefined => {
  if (!problem.isRetryable || attempt > ATTEMPT_LIMIT) return undefined;
  if (problem.retryAfterMs !== undefined) {
    return problem.retryAfterMs <= LONGEST_ASKED_MS ? Math.ceil(problem.retryAfterMs) : undefined;
  }
  return Math.round(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (1 + JITTER * chance));
};
