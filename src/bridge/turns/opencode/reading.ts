import { untilAborted } from '../../../core/async.ts';
import { isNotFound } from '../../../core/fault.ts';
import { withRetries } from '../../agent/errors.ts';
import { refused } from '../../errors.ts';
import type { TurnEntry, TurnEvent, TurnEvents, TurnsPort } from '../port.ts';
import { entriesOf, stepsIn } from './entries.ts';
import { rangeOf, removeIfRead, turnViewOf } from './records.ts';
import type { PromptRun } from './run.ts';
import { callLater, type TurnRecord, type TurnsState } from './state.ts';

type Reading = { readonly after: number; readonly signal: AbortSignal };

/** The entries of a turn so far: from its run, or from the agent's messages once it has ended. */
export const readTurnEntries = async (
  { needs }: TurnsState,
  record: TurnRecord,
  { after, signal }: Reading,
): Promise<readonly TurnEntry[]> => {
  const { agent } = needs;
  const { sessionID, promptID, run } = record;
  const range = { after: Math.max(after, record.from), until: rangeOf(record).until };
  if (run !== undefined) return entriesOf(run.steps, range);
  try {
    const records = await withRetries(() => agent.messages(sessionID, signal), { ...needs, signal });
    return entriesOf(stepsIn(records, promptID), range);
  } catch (error) {
    throw isNotFound(error) ? refused('turn_not_found') : error;
  }
};

async function* readEnded(state: TurnsState, record: TurnRecord, reading: Reading): AsyncGenerator<TurnEvent, void> {
  const entries = await readTurnEntries(state, record, reading);
  if (entries.length > 0) yield { kind: 'entries', entries };
  yield { kind: 'end', turn: turnViewOf(record) };
}

async function* readLive(
  record: TurnRecord,
  run: PromptRun,
  { after, signal }: Reading,
): AsyncGenerator<TurnEvent, void> {
  let position = Math.max(after, record.from);
  let shown = '';
  for (;;) {
    const change = run.nextChange();
    const hasEnded = record.end !== undefined;
    const entries = entriesOf(run.steps, { after: position, until: rangeOf(record).until });
    const last = entries.at(-1);
    const turn = turnViewOf(record);
    const waiting = turn.waiting.map(({ id }) => id).join(' ');
    if (last !== undefined) {
      position = last.position;
      yield { kind: 'entries', entries };
    } else if (hasEnded) {
      yield { kind: 'end', turn };
      return;
    } else if (waiting !== shown) {
      shown = waiting;
      yield { kind: 'turn', turn };
    } else await untilAborted(change, signal);
  }
}

/** The output of a turn after a position, as it comes. */
export const eventsOf = (state: TurnsState, record: TurnRecord, reading: Reading): TurnEvents =>
  record.run === undefined ? readEnded(state, record, reading) : readLive(record, record.run, reading);

type LeavingReader = Parameters<TurnsPort['leave']>[1];

/** A reader reads no more. A turn that nobody reads any more is aborted after its time. */
export const leaveTurn = (
  state: TurnsState,
  record: TurnRecord,
  { id, readTo, shownIDs = [] }: LeavingReader,
): void => {
  const nowMs = state.needs.clock.now();
  for (const shownID of shownIDs) record.shownIDs.add(shownID);
  if (!record.readers.delete(id)) return;
  if (readTo !== undefined) {
    record.readMs ??= nowMs;
    record.readTo ??= readTo;
  }
  if (record.readers.size > 0) return;
  if (record.run === undefined && record.end === undefined) record.starting.abort(refused('turn_not_found'));
  if (record.readMs === undefined) {
    record.leftMs = nowMs;
    const abort = (): void => {
      if (record.readers.size === 0 && record.leftMs === nowMs) void record.run?.abort();
    };
    if (record.end === undefined && record.abortAfterMs !== null) callLater(state, record.abortAfterMs, abort);
  }
  removeIfRead(state, record);
};
