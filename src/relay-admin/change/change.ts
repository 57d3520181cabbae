import * as v from 'valibot';
import { createDeadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { CallDeadline } from '../call-deadline.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient, Write } from '../relay/client.ts';
import type { WriteAnswer } from '../relay/response.ts';
import { resolveOutcome, type SentChange, type SettingValues, toRefusalError } from './outcome.ts';

/** A line of the journal about a change: one before the change is sent, one when its outcome is known. */
export type ChangeNote = {
  readonly tool: string;
  /** The id of the user or the account. */
  readonly subject: number;
  readonly change: SettingValues;
  readonly state: 'sent' | 'verified' | 'accepted_unverified' | 'refused' | 'unknown';
  readonly at: number;
};

/** Where changes are recorded. A rejection means that the note may be lost. */
export type ChangeNotes = { readonly note: (entry: ChangeNote) => Promise<void> };

export type ChangeNeeds = {
  readonly relay: RelayClient;
  readonly journal: ChangeNotes;
  readonly clock: Clock;
  readonly log: Log;
};

/** A change of settings, with how to read them back and how to report the outcome. */
export type ChangePlan<State, Result> = {
  readonly tool: string;
  readonly what: 'user' | 'account';
  readonly subject: number;
  readonly write: Pick<Write, 'method' | 'path'>;
  /** The whole body that is sent, and the values that have to be read back. */
  readonly requested: SettingValues;
  readonly read: (signal: AbortSignal) => Promise<State>;
  readonly hasRequested: (state: State) => boolean;
  readonly toResult: (changed: SentChange<State>) => Result;
  readonly output: v.GenericSchema<Result>;
};

type FinalState<Result> =
  | { readonly state: 'verified' | 'accepted_unverified'; readonly result: Result }
  | { readonly state: 'refused' | 'unknown'; readonly problem: RelayError };

/** A change may start only while this share of the call's time is left: for its answer, and for reading it back. */
const SHARE_TO_START = 0.5;
const SHARE_TO_READ_BACK = 0.25;

/** The result in the shape of the tool's output schema; `undefined` when it does not fit. Never throws. */
const tryResult = <State, Result>(
  change: ChangePlan<State, Result>,
  changed: SentChange<State>,
): Result | undefined => {
  try {
    const parsed = v.safeParse(change.output, change.toResult(changed));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
};

/** Whether the relay has no such user or account: nothing can have been changed about it. */
const isGone = (error: unknown): boolean => error instanceof RelayError && error.detail.kind === 'not-found';

const assertTimeLeft = ({ signal, remainingMs, limitMs }: CallDeadline): void => {
  signal.throwIfAborted();
  if (remainingMs() < limitMs * SHARE_TO_START) throw new RelayError({ kind: 'deadline' });
};

/**
 * Sends a change once, between two notes in the journal, and reads it back. Before sending it may reject for many reasons;
 * after sending only with a refusal after which the former value was read, or with `change-unknown`.
 */
export const applyChange = async <State, Result>(
  change: ChangePlan<State, Result>,
  { relay, journal, clock, log }: ChangeNeeds,
  call: CallDeadline,
): Promise<Result> => {
  const { tool, what, subject, write, requested: asked } = change;
  const note = async (state: ChangeNote['state']): Promise<void> =>
    untilAborted(journal.note({ tool, subject, change: asked, state, at: clock.now() }), call.sentSignal);
  /** A journal that fails now must not hide the outcome. */
  const noteOutcome = (state: ChangeNote['state']): Promise<void> =>
    note(state).catch(() => log('error', 'journal-not-written', { tool, subject }));

  const begin = async (): Promise<void> => {
    assertTimeLeft(call);
    await note('sent').catch((error: unknown) => {
      call.sentSignal.throwIfAborted();
      throw error instanceof RelayError ? error : new RelayError({ kind: 'journal-unavailable', why: 'no code' });
    });
    try {
      assertTimeLeft(call);
    } catch (error) {
      await noteOutcome('refused');
      throw error;
    }
  };
  const sendOnce = async (): Promise<WriteAnswer> => {
    const deadline = createDeadline(clock, call.remainingMs() - call.limitMs * SHARE_TO_READ_BACK, call.sentSignal);
    try {
      return await relay.send({ ...write, body: JSON.stringify(asked) }, deadline.signal);
    } catch {
      // `send` promises not to reject once it may have sent. If it does, the outcome is unknown.
      return { kind: 'unknown', reason: 'no-answer' };
    } finally {
      deadline.clear();
    }
  };
  const endingOf = async (answer: WriteAnswer, draft: Result): Promise<FinalState<Result>> => {
    if (answer.kind === 'refused' && answer.status === 0)
      return { state: 'refused', problem: toRefusalError(answer, what) };
    const after = await change.read(call.sentSignal).catch((error: unknown) => (isGone(error) ? 'gone' : undefined));
    // A refusal alone proves nothing: the relay was seen to refuse what it had done.
    const isProven = after === 'gone' || (after !== undefined && !change.hasRequested(after));
    if (answer.kind === 'refused' && isProven) return { state: 'refused', problem: toRefusalError(answer, what) };
    const present = after === 'gone' ? undefined : after;
    const kind = answer.kind === 'accepted' ? 'accepted' : 'unknown';
    const changed = resolveOutcome(kind, present, present !== undefined && change.hasRequested(present));
    const result = changed && tryResult(change, changed);
    if (changed !== undefined && result !== undefined) return { state: changed.outcome, result };
    if (answer.kind === 'accepted') return { state: 'accepted_unverified', result: draft };
    return { state: 'unknown', problem: new RelayError({ kind: 'change-unknown' }) };
  };

  // The smallest result of an accepted change. Built before sending, so that there is always a valid result.
  const draft = tryResult<State, Result>(change, {
    outcome: 'accepted_unverified',
    after: null,
    reason: 'not_read_back',
  });
  if (draft === undefined) throw new RelayError({ kind: 'bug', outcome: 'not_applied' });
  await begin();
  const ending = await endingOf(await sendOnce(), draft);
  const level = ending.state === 'verified' || ending.state === 'refused' ? 'info' : 'warn';
  log(level, 'change', { tool, subject, outcome: ending.state });
  await noteOutcome(ending.state);
  if ('problem' in ending) throw ending.problem;
  return ending.result;
};
