import type { FailureOutcome } from './errors.ts';

/** A failure as a model reads it: what happened, what became of the change, whether to try again, and one next step. */
export type ErrorText = {
  readonly code: string;
  readonly what: string;
  readonly outcome: FailureOutcome;
  readonly retry: string;
  readonly next: string;
  readonly reference?: string;
};

type Extras = Partial<Pick<ErrorText, 'outcome' | 'retry' | 'reference'>>;

/** An error text of a call that changed nothing and is not to be repeated, unless `extras` differ. */
export const errorText = (code: string, what: string, next: string, extras: Extras = {}): ErrorText => ({
  code,
  what,
  next,
  outcome: 'not_applied',
  retry: 'no',
  ...extras,
});

/** The advice to try again after a time, in whole seconds from 1: `after_10s`. */
export const formatRetryAfter = (ms: number): string => `after_${Math.max(1, Math.ceil(ms / 1000))}s`;

/** One line for a model. The code comes first, because some clients show nothing but the beginning. */
export const formatErrorText = ({ code, what, outcome, retry, next, reference }: ErrorText): string =>
  `${code}: ${what}. outcome=${outcome} retry=${retry}. Next: ${next}${reference === undefined ? '' : ` ref=${reference}`}`;
