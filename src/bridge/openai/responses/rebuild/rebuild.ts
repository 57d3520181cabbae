import type { AssistantInfo, MessageRecord } from '../../../agent/schema.ts';
import type { PausedTurn } from '../../../conversation/types.ts';
import type { ApprovalRequest, OutputEvent } from '../../../output.ts';
import { isReasoning } from '../../../stream/hidden-reasoning.ts';
import { STRUCTURED_OUTPUT_CALL } from '../../../stream/structured.ts';
import { toApprovalText } from '../../../turn/approvals/text.ts';
import { hasServerStopped, INTERRUPTED_FAILURE, isAbortError, toTurnEnd } from '../../../turn/failure.ts';
import { readItems } from '../../../turn/log-reader.ts';
import { NO_ECHO } from '../echo.ts';
import { type AnswerPlace, createOutputItems, type OutputItem, placeOfResponse } from '../items.ts';
import { isCompleted, type ResponseObject, type ResponseState, toResponseObject } from '../response.ts';
import { partOfSegment, requestsAsked } from './turn-parts.ts';
import { isAnswerOver, messagesOfTurn, type ReplayedTurn, replayTurn, type TurnSegment } from './turn-segments.ts';

/** A response whose turn is at the agent. */
export type StoredTurn = {
  readonly responseID: string;
  /** The id of the user message that it answers. */
  readonly promptID: string;
  /** How many responses of the same turn came before, each up to calls of the client. */
  readonly answersBefore: number;
  /** When its request came, if that is known. */
  readonly requestedSeconds: number | undefined;
  /** For an answer that has not started. */
  readonly nowSeconds: number;
  /** Whether the agent works in its session. */
  readonly isBusy: boolean;
  readonly isBackground: boolean;
  /** The name of its conversation, if its client names that. */
  readonly conversationName: string | undefined;
  /** The open approval requests that it ended with. */
  readonly approvalRequests: readonly ApprovalRequest[];
  /** Where it ended with approval requests that were decided since. */
  readonly asked?: PausedTurn | undefined;
  /** Where the response ended with such that it goes on after. */
  readonly continues?: PausedTurn | undefined;
  /** Whether clients get the model's reasoning. */
  readonly showsReasoning: boolean;
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

/**
 * The output of an answer as its client got it: one that had to be a JSON value has that as its only text. `endedWith`: it has ended,
 * with these approval requests.
 */
const outputOf = (
  { items, calls }: TurnSegment,
  endedWith: readonly ApprovalRequest[] | undefined,
): readonly OutputEvent[] => {
  const events = [...readItems(items, endedWith)];
  const given = events.find((event) => isValueCall(event) && event.kind === 'call-end' && !event.isError);
  const clientCalls = calls.map((call) => ({ kind: 'client-call' as const, ...call }));
  const closing = [...textEvents('closing', toApprovalText(endedWith ?? [])), ...clientCalls];
  if (given?.kind !== 'call-end') return [...events, ...closing];
  const isShown = (event: OutputEvent) => !isValueCall(event) && event.kind !== 'text' && event.kind !== 'text-end';
  return [...events.filter(isShown), ...textEvents(given.call.partID ?? 'value', given.call.input), ...closing];
};

const secondsOf = (ms: number): number => Math.floor(ms / 1000);
const endedSecondsOf = (info: AssistantInfo | undefined): number =>
  secondsOf(info?.time.completed ?? info?.time.created ?? 0);

/** An item that the client's result of a call is. */
export type CallOutputItem = {
  readonly id: string;
  readonly type: 'function_call_output';
  readonly status: 'completed';
  readonly call_id: string;
  readonly output: string;
};

const resultItemsOf = ({ results }: TurnSegment): readonly CallOutputItem[] =>
  results.map(({ callID, state }) => ({
    id: `fco_${callID}`,
    type: 'function_call_output',
    status: 'completed',
    call_id: callID,
    output: state.status === 'completed' ? state.output : '',
  }));

/** The client's results with which an answer of a turn begins, by how many came before it. */
export const resultsBefore = (turn: readonly MessageRecord[], answersBefore: number): readonly CallOutputItem[] => {
  const before = replayTurn(turn).segments[answersBefore - 1];
  return before === undefined ? [] : resultItemsOf(before);
};

/**
 * The items of a turn as far as it is, with the client's results of its calls. Its first message is the prompt, which has none.
 * `placeOf`: where each of its answers is.
 */
export const itemsOfTurn = (
  turn: readonly MessageRecord[],
  placeOf: (answersBefore: number) => AnswerPlace,
  showsReasoning: boolean,
): readonly (OutputItem | CallOutputItem)[] =>
  replayTurn(turn).segments.flatMap((segment, index) => {
    const items = createOutputItems(placeOf(index));
    for (const event of outputOf(segment, undefined))
      if (showsReasoning || !isReasoning(event)) items.applyEvent(event);
    items.close('in_progress');
    return [...items.list(), ...resultItemsOf(segment)];
  });

/** How far an answer is whose turn was read from the agent. */
const stateOf = (
  { isBusy, isBackground, approvalRequests, isAsked }: StoredTurn & { readonly isAsked: boolean },
  segment: TurnSegment,
  { isLast, last }: { readonly isLast: boolean; readonly last: AssistantInfo | undefined },
): Exclude<ResponseState, { readonly kind: 'queued' }> => {
  const output: [] = [];
  const { usage, endedBy } = segment;
  if (endedBy !== undefined) {
    const end = { finish: 'tool_calls', usage, approvalRequests: [] } as const;
    return { kind: 'ended', output, end, endedSeconds: endedSecondsOf(endedBy) };
  }
  if (isAsked || approvalRequests.length > 0) {
    const end = { finish: 'stop', usage, approvalRequests } as const;
    return { kind: 'ended', output, end, endedSeconds: endedSecondsOf(last) };
  }
  // Between two steps the last message is complete, and the turn is not.
  if (isBusy && isLast) return { kind: 'running', output };
  if (!isAnswerOver(last) || (isBackground && hasServerStopped(last.error)))
    return { kind: 'failed', output, failure: INTERRUPTED_FAILURE };
  if (isBackground && isAbortError(last.error)) return { kind: 'cancelled', output };
  const how = toTurnEnd(last);
  if (how.kind === 'failed') return { kind: 'failed', output, failure: how.failure };
  const end = { finish: how.finish, usage, approvalRequests };
  return { kind: 'ended', output, end, endedSeconds: endedSecondsOf(last) };
};

/** The status of items that are open in such a response. */
const itemStatusIn = (state: ResponseState) => {
  if (state.kind === 'running') return 'in_progress';
  return state.kind === 'ended' && isCompleted(state.end) ? 'completed' : 'incomplete';
};

const segmentAt = ({ segments }: ReplayedTurn, index: number): TurnSegment =>
  segments[index] ?? segments.at(-1) ?? segments[0];

/**
 * A response rebuilt from the agent's messages; undefined if its turn is not among them. One that asked for an approval which was not
 * decided here has what came after that, too.
 */
export const rebuildResponse = (messages: readonly MessageRecord[], stored: StoredTurn): ResponseObject | undefined => {
  const { responseID, promptID, nowSeconds, isBackground, conversationName } = stored;
  const { turn, isLast } = messagesOfTurn(messages, promptID);
  if (turn.length === 0) return undefined;
  const read = replayTurn(turn);
  const { last, log } = read;
  const asked = stored.asked?.promptID === promptID ? stored.asked : undefined;
  const continues = stored.continues?.promptID === promptID ? stored.continues : undefined;
  const approvalRequests = asked === undefined ? stored.approvalRequests : requestsAsked(turn, read, asked);
  const segment = partOfSegment(read, segmentAt(read, stored.answersBefore), { asked, continues });
  const state = stateOf({ ...stored, approvalRequests, isAsked: asked !== undefined }, segment, { isLast, last });
  if (state.kind !== 'running') log.closeTexts();
  const items = createOutputItems(placeOfResponse(responseID));
  for (const event of outputOf(segment, state.kind === 'running' ? undefined : approvalRequests))
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
