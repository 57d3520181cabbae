import type { AssistantInfo, MessageRecord } from '../../agent/schema.ts';
import { isStoredItem } from '../../conversation/stored/items.ts';
import { promptIDsAfter } from '../../conversation/transcript.ts';
import { type ApprovalRequest, NO_USAGE, type OutputEvent, type Usage } from '../../output.ts';
import { isReasoning } from '../../stream/hidden-reasoning.ts';
import { STRUCTURED_OUTPUT_CALL } from '../../stream/structured.ts';
import { toApprovalText } from '../../turn/approvals/text.ts';
import { INTERRUPTED_FAILURE, isAbortError, toTurnEnd } from '../../turn/failure.ts';
import { type ClientCallsPause, createTurnLog, type TurnLog } from '../../turn/log.ts';
import { readItems } from '../../turn/log-reader.ts';
import { usageSince } from '../../turn/outcome.ts';
import { createTurnReducer, type TurnReducer } from '../../turn/reducer.ts';
import { NO_ECHO } from './echo.ts';
import { createOutputItems, type OutputItem } from './items.ts';
import { isCompleted, type ResponseObject, type ResponseState, toResponseObject } from './response.ts';

/** A response whose turn is at the agent. */
export type StoredTurn = {
  readonly responseID: string;
  /** The id of the user message that it answers. */
  readonly promptID: string;
  /** When its request came. Where that is not known, it is the time of the first message, or now if there is none. */
  readonly requestedSeconds: number | undefined;
  /** How many responses of the same turn came before, each up to calls of the client. */
  readonly answersBefore: number;
  readonly nowSeconds: number;
  /** Whether the agent works in its session. */
  readonly isBusy: boolean;
  readonly isBackground: boolean;
  /** The name of its conversation, if its client names that. */
  readonly conversationName: string | undefined;
  /** The open approval requests that it ended with. */
  readonly approvalRequests: readonly ApprovalRequest[];
  /** Whether clients get the model's reasoning. */
  readonly showsReasoning: boolean;
};

/** The messages of one turn, from its prompt to the next prompt of a user. Empty where it is not among them. */
export const messagesOfTurn = (
  messages: readonly MessageRecord[],
  promptID: string,
): { readonly turn: readonly MessageRecord[]; readonly isLast: boolean } => {
  const from = messages.findIndex(({ info }) => info.id === promptID);
  if (from === -1) return { turn: [], isLast: false };
  const [next] = promptIDsAfter(messages, new Set([promptID]));
  const to = messages.findIndex((record, index) => index > from && (record.info.id === next || isStoredItem(record)));
  return { turn: messages.slice(from, to === -1 ? undefined : to), isLast: next === undefined };
};

const readTurn = (turn: readonly MessageRecord[]): { log: TurnLog; transcript: TurnReducer } => {
  const writer = createTurnLog();
  const transcript = createTurnReducer(writer, new Set());
  const [prompt] = turn;
  if (prompt !== undefined) transcript.setPrompt(prompt.info.id);
  transcript.applySnapshot(turn);
  return { log: writer.log, transcript };
};

const isValueCall = (event: OutputEvent): boolean =>
  (event.kind === 'call' || event.kind === 'call-end') && event.call.name === STRUCTURED_OUTPUT_CALL;

const textEvents = (id: string, text: string): readonly OutputEvent[] =>
  text === ''
    ? []
    : [
        { kind: 'text', id, text },
        { kind: 'text-end', id },
      ];

/** A part of a turn that is a response of its own, up to calls that the client had to make or to the turn's end. */
type TurnSegment = { readonly from: number; readonly usageBefore: Usage; readonly pause: ClientCallsPause | undefined };

const segmentAt = (log: TurnLog, answersBefore: number): TurnSegment => {
  const before = log.pauses()[answersBefore - 1];
  return { from: before?.items ?? 0, usageBefore: before?.usage ?? NO_USAGE, pause: log.pauses()[answersBefore] };
};

/** The output of such a part as its client got it: an answer that had to be one JSON value has that as its only text. */
const outputOf = (
  log: TurnLog,
  { from, pause }: TurnSegment,
  approvalRequests: readonly ApprovalRequest[],
): readonly OutputEvent[] => {
  const calls = (pause?.calls ?? []).map((call) => ({ kind: 'client-call', ...call }) as const);
  const events = [...readItems(log.items().slice(from, pause?.items)), ...calls];
  const given = events.find((event) => isValueCall(event) && event.kind === 'call-end' && !event.isError);
  const closing = textEvents('closing', toApprovalText(approvalRequests));
  if (given?.kind !== 'call-end') return [...events, ...closing];
  const isShown = (event: OutputEvent) => !isValueCall(event) && event.kind !== 'text' && event.kind !== 'text-end';
  return [...events.filter(isShown), ...textEvents('value', given.call.input), ...closing];
};

const secondsOf = (ms: number): number => Math.floor(ms / 1000);

const isOver = (last: AssistantInfo | undefined): last is AssistantInfo =>
  last !== undefined && (last.time.completed !== undefined || last.error !== undefined);

/** The items of a turn as far as it is. Its first message is the prompt, which has none. */
export const itemsOfTurn = (
  turn: readonly MessageRecord[],
  responseID: string,
  showsReasoning: boolean,
): readonly OutputItem[] => {
  const { log, transcript } = readTurn(turn);
  if (isOver(transcript.lastAnswer())) log.closeTexts();
  const items = createOutputItems(responseID);
  const events = [...log.pauses(), undefined].flatMap((_pause, index) => outputOf(log, segmentAt(log, index), []));
  for (const event of events) if (showsReasoning || !isReasoning(event)) items.applyEvent(event);
  items.close('in_progress');
  return items.list();
};

type ReadTurn = {
  readonly isLast: boolean;
  readonly last: AssistantInfo | undefined;
  readonly log: TurnLog;
  readonly segment: TurnSegment;
};

/** How far a turn is that was read from the agent. */
const stateOf = (
  { isBusy, isBackground, approvalRequests }: StoredTurn,
  { isLast, last, log, segment }: ReadTurn,
): Exclude<ResponseState, { readonly kind: 'queued' }> => {
  const output: [] = [];
  const { pause, usageBefore } = segment;
  if (pause !== undefined) {
    const end = { finish: 'tool_calls', usage: usageSince(pause.usage, usageBefore), approvalRequests: [] } as const;
    return { kind: 'ended', output, end, endedSeconds: secondsOf(last?.time.completed ?? last?.time.created ?? 0) };
  }
  const usage = usageSince(log.usage(), usageBefore);
  if (approvalRequests.length > 0) {
    const end = { finish: 'stop', usage, approvalRequests } as const;
    return { kind: 'ended', output, end, endedSeconds: secondsOf(last?.time.completed ?? last?.time.created ?? 0) };
  }
  // Between two steps the last message is complete, and the turn is not.
  if (isBusy && isLast) return { kind: 'running', output };
  if (!isOver(last)) return { kind: 'failed', output, failure: INTERRUPTED_FAILURE };
  if (isBackground && isAbortError(last.error)) return { kind: 'cancelled', output };
  const how = toTurnEnd(last);
  if (how.kind === 'failed') return { kind: 'failed', output, failure: how.failure };
  const end = { finish: how.finish, usage, approvalRequests };
  return { kind: 'ended', output, end, endedSeconds: secondsOf(last.time.completed ?? last.time.created) };
};

/** The status of items that are open in such a response. */
const itemStatusIn = (state: ResponseState) => {
  if (state.kind === 'running') return 'in_progress';
  return state.kind === 'ended' && isCompleted(state.end) ? 'completed' : 'incomplete';
};

/**
 * A response rebuilt from the agent's messages; undefined if its turn is not among them. One that was continued after an approval
 * is the whole turn.
 */
export const rebuildResponse = (messages: readonly MessageRecord[], stored: StoredTurn): ResponseObject | undefined => {
  const { responseID, promptID, nowSeconds, isBackground, conversationName } = stored;
  const { turn, isLast } = messagesOfTurn(messages, promptID);
  if (turn.length === 0) return undefined;
  const { log, transcript } = readTurn(turn);
  const last = transcript.lastAnswer();
  const segment = segmentAt(log, stored.answersBefore);
  const state = stateOf(stored, { isLast, last, log, segment });
  if (state.kind !== 'running') log.closeTexts();
  const items = createOutputItems(responseID);
  for (const event of outputOf(log, segment, stored.approvalRequests))
    if (stored.showsReasoning || !isReasoning(event)) items.applyEvent(event);
  items.close(itemStatusIn(state));

  const first = turn.find(({ info }) => info.role === 'assistant')?.info;
  const facts = {
    id: responseID,
    model: last === undefined ? '' : `${last.providerID}/${last.modelID}`,
    createdSeconds:
      stored.requestedSeconds ?? (first?.role === 'assistant' ? secondsOf(first.time.created) : nowSeconds),
    echo: { ...NO_ECHO, isBackground, conversationID: conversationName ?? null },
  };
  return toResponseObject(facts, { ...state, output: items.list() });
};
