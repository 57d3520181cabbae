import type { ApprovalRequest, OutputEvent } from '../output.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import { shapeOutput } from '../stream/structured.ts';
import type { TurnEntry, TurnView } from '../turns/port.ts';
import { approvalRequestsOf, endWithRequests, endWithTurn, hasEnded } from './answer-end.ts';
import { toApprovalRequest } from './approvals/text.ts';
import { createEntryReader } from './entry-reader.ts';
import { readTurnMetadata } from './turn-request.ts';

const ANY_FORM = { kind: 'text', schema: {}, schemaAt: '' } as const;

/** The output of a turn whose answer has to be one JSON value: that value, which was checked when it was first sent. */
export const showFormat = (output: PolledOutput, { metadata }: Pick<TurnView, 'metadata'>): PolledOutput =>
  readTurnMetadata(metadata).hasFormat ? shapeOutput(output, ANY_FORM, () => undefined) : output;

const outputOf = (events: readonly OutputEvent[]): PolledOutput => {
  let next = 0;
  return {
    poll: () => events[next++],
    isOver: () => next >= events.length,
    onChange() {},
    stop() {},
  };
};

/**
 * The requests that an answer has shown, after their end. They are those of its calls that had no result then. What the agent noted
 * beside the arguments is gone.
 */
const requestsShown = (
  { shownIDs, sessionID }: TurnView,
  calls: readonly Extract<TurnEntry, { readonly type: 'call' }>[],
): readonly ApprovalRequest[] =>
  shownIDs.flatMap((id, index) => {
    const call = calls[index];
    if (call === undefined) return [];
    const { name: permission, messageID, callID } = call;
    const metadata = { input: parsed(call.arguments) };
    return [toApprovalRequest({ id, sessionID, permission, metadata, tool: { messageID, callID } }, sessionID)];
  });

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
};

/** The calls of the agent among entries that have no end there. */
const openCallsIn = (entries: readonly TurnEntry[]) =>
  entries.flatMap((entry) => {
    if (entry.type !== 'call' || entry.isForClient) return [];
    const isOver = entries.some((other) => other.type === 'call-ended' && other.partID === entry.partID);
    return isOver ? [] : [entry];
  });

/** The output of a turn as it is now. Without an `end` or a `failure` while it goes on. */
export const readStored = (turn: TurnView, entries: readonly TurnEntry[]): readonly OutputEvent[] => {
  const reader = createEntryReader(turn.from);
  const events = entries.flatMap((entry) => reader.read(entry));
  const asked = turn.status === 'waiting' ? approvalRequestsOf(turn) : requestsShown(turn, openCallsIn(entries));
  const isAsking = asked.length > 0 && (turn.status === 'waiting' || turn.status === 'continued');
  const isOver = isAsking || hasEnded(turn);
  const last = isAsking ? endWithRequests(reader, turn, asked) : hasEnded(turn) ? endWithTurn(reader, turn, {}) : [];
  const all = [...events, ...last];
  if (!readTurnMetadata(turn.metadata).hasFormat) return all;
  // A value is shown whole.
  if (!isOver) return [];
  const output = showFormat(outputOf(all), turn);
  const shown: OutputEvent[] = [];
  for (let event = output.poll(); event !== undefined; event = output.poll()) shown.push(event);
  return shown;
};
