import * as v from 'valibot';
import { RelayError } from '../errors/errors.ts';
import type { WriteAnswer } from '../relay/response.ts';

/** Settings under their names in the relay. */
export type SettingValues = Readonly<Record<string, number | boolean>>;

const REASONS = ['not_read_back', 'reads_differently', 'no_usable_answer'] as const;
type Reason = (typeof REASONS)[number];

/** The outcome of a change that was sent, with what was read back. */
export type SentChange<State> =
  | { readonly outcome: 'verified'; readonly after: State; readonly reason: null }
  | { readonly outcome: 'accepted_unverified'; readonly after: State | null; readonly reason: Reason };

/** What a tool reports: a change that was sent, or that nothing had to be changed. */
export type ChangeReport<State> =
  | SentChange<State>
  | { readonly outcome: 'already_set'; readonly after: State; readonly reason: null };

/** The output fields that every change has. */
export const OUTCOME_FIELDS = {
  outcome: v.pipe(
    v.picklist(['verified', 'accepted_unverified', 'already_set']),
    v.description('accepted_unverified is not success and is not to be reported as one'),
  ),
  applied: v.pipe(
    v.nullable(v.boolean()),
    v.description('whether this call changed anything; null when that is not certain'),
  ),
  reason: v.pipe(v.nullable(v.picklist(REASONS)), v.description('why it is not verified; null otherwise')),
  note: v.pipe(v.string(), v.description('the outcome in words')),
};

const NOTES = {
  verified: 'The relay accepted the change, and reading it back shows what was asked for.',
  already_set: 'Everything already was as asked for, so nothing was sent.',
  not_read_back:
    'Not confirmed: the relay accepted the change, but it could not be read back. Read the current value before anything else.',
  reads_differently:
    'Not confirmed: the relay accepted the change, but reading it back shows something else. Do not report it as done; ask a person to look.',
  no_usable_answer:
    'Not confirmed: reading it back shows what was asked for, but the relay gave no usable answer to the change itself. Read the current value again before relying on it.',
} as const;

/** The values of these fields. */
export const toOutcomeFields = ({ outcome, reason }: Pick<ChangeReport<unknown>, 'outcome' | 'reason'>) => ({
  outcome,
  applied: outcome === 'accepted_unverified' ? null : outcome === 'verified',
  reason,
  note: NOTES[reason ?? (outcome === 'verified' ? 'verified' : 'already_set')],
});

/** The names whose value in `present` is not the one in `asked`. */
export const differingNames = (asked: SettingValues, present: SettingValues): readonly string[] =>
  Object.keys(asked).filter((name) => asked[name] !== present[name]);

/** Throws `not-as-expected` when a value is no longer the one that the caller knew. */
export const assertExpected = (expected: SettingValues, present: SettingValues): void => {
  const fields = differingNames(expected, present);
  if (fields.length > 0) throw new RelayError({ kind: 'not-as-expected', fields });
};

/** The outcome from the relay's answer and the values read back; `undefined` when it is unknown. */
export const resolveOutcome = <State>(
  kind: 'accepted' | 'unknown',
  after: State | undefined,
  hasRequested: boolean,
): SentChange<State> | undefined => {
  if (kind === 'unknown') {
    // Values that are not there may still arrive, so only finding them proves something.
    if (after === undefined || !hasRequested) return undefined;
    return { outcome: 'accepted_unverified', after, reason: 'no_usable_answer' };
  }
  if (after === undefined) return { outcome: 'accepted_unverified', after: null, reason: 'not_read_back' };
  if (!hasRequested) return { outcome: 'accepted_unverified', after, reason: 'reads_differently' };
  return { outcome: 'verified', after, reason: null };
};

const RATE_LIMIT_PAUSE_MS = 10_000;

/** The error for a refusal after which the value was read and is not the requested one. */
export const toRefusalError = (
  { status }: Extract<WriteAnswer, { kind: 'refused' }>,
  what: 'user' | 'account',
): RelayError => {
  if (status === 0) return new RelayError({ kind: 'upstream-unavailable', why: 'no connection' });
  if (status === 401) return new RelayError({ kind: 'upstream-auth' });
  if (status === 403) return new RelayError({ kind: 'upstream-forbidden' });
  if (status === 404) return new RelayError({ kind: 'not-found', what });
  if (status === 423) return new RelayError({ kind: 'terms-not-accepted' });
  if (status === 429) return new RelayError({ kind: 'upstream-rate-limit', retryAfterMs: RATE_LIMIT_PAUSE_MS });
  return new RelayError({ kind: 'change-refused', status });
};
