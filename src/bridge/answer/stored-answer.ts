import type { ApprovalRequest, OutputEvent } from '../output.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import { shapeOutput } from '../stream/structured.ts';
import type { TurnCaller, TurnEntry, TurnSnapshot, TurnsPort } from '../turns/port.ts';
import { approvalRequestsOf, endWithRequests, endWithTurn, hasEnded } from './answer-end.ts';
import { outputOf } from './answer-output.ts';
import { createEntryReader } from './entry-reader.ts';
import { readTurnMetadata } from './turn-request.ts';

const ANY_FORM = { kind: 'text', schema: {}, schemaAt: '' } as const;

/** The output of a turn whose answer has to be one JSON value: that value, which was checked when it was first sent. */
export const showFormat = (output: PolledOutput, turn: TurnSnapshot): PolledOutput =>
  readTurnMetadata(turn).hasFormat ? shapeOutput(output, ANY_FORM, () => undefined) : output;

/** The requests with which a turn ended that goes on in another one: its decisions brought them. */
export const requestsBefore = async (
  { status, continuedBy }: TurnSnapshot,
  turns: Pick<TurnsPort, 'view'>,
  by: TurnCaller,
): Promise<readonly ApprovalRequest[]> =>
  status !== 'continued' || continuedBy === undefined ? [] : readTurnMetadata(await turns.view(continuedBy, by)).asked;

const lastEvents = (
  reader: ReturnType<typeof createEntryReader>,
  turn: TurnSnapshot,
  asked: readonly ApprovalRequest[],
): readonly OutputEvent[] => {
  if (turn.status === 'waiting') return endWithRequests(reader, turn, approvalRequestsOf(turn));
  return hasEnded(turn) ? endWithTurn(reader, turn, { asked }) : [];
};

/** The output of a turn as it is now. Without an `end` or a `failure` while it goes on. `asked`: with which it ended. */
export const readStored = (
  turn: TurnSnapshot,
  entries: readonly TurnEntry[],
  asked: readonly ApprovalRequest[],
): readonly OutputEvent[] => {
  const reader = createEntryReader(turn.from);
  const events = entries.flatMap((entry) => reader.read(entry));
  const last = lastEvents(reader, turn, asked);
  if (!readTurnMetadata(turn).hasFormat) return [...events, ...last];
  // A value is shown whole.
  if (last.length === 0) return [];
  const output = showFormat(outputOf([...events, ...last]), turn);
  const shown: OutputEvent[] = [];
  for (let event = output.poll(); event !== undefined; event = output.poll()) shown.push(event);
  return shown;
};
