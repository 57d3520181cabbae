import { readStored } from '../../answer/stored-answer.ts';
import { readTurnMetadata } from '../../answer/turn-request.ts';
import { answerIDOf, conversationIDOf, responseIDOf } from '../../ids.ts';
import type { ApprovalRequest, OutputEvent } from '../../output.ts';
import { isReasoning } from '../../stream/hidden-reasoning.ts';
import type { TurnEntry, TurnSnapshot } from '../../turns/port.ts';
import { NO_ECHO } from './echo.ts';
import { createOutputItems } from './items.ts';
import {
  isCompleted,
  type ResponseObject,
  type ResponseStart,
  type ResponseState,
  toResponseObject,
} from './response.ts';

const secondsOf = (ms: number): number => Math.floor(ms / 1000);

/** What is known of the response of a turn whose request is not known any more. */
export const startOfTurn = (turn: TurnSnapshot, nowSeconds: () => number): ResponseStart => {
  const { isBackground, custom } = readTurnMetadata(turn.metadata);
  const conversationID = turn.conversationName ?? conversationIDOf(turn.conversationID);
  return {
    place: { responseID: responseIDOf(answerIDOf(turn.id)), sessionID: turn.sessionID, custom: new Set(custom) },
    model: turn.model,
    echo: { ...NO_ECHO, isBackground, conversationID },
    createdSeconds: secondsOf(turn.createdMs),
    nowSeconds,
  };
};

type StateBefore = {
  readonly turn: TurnSnapshot;
  readonly last: OutputEvent | undefined;
  readonly nowSeconds: () => number;
};

/** The state of a response without its items. `last`: its last event. */
const stateOf = ({ turn, last, nowSeconds }: StateBefore): ResponseState => {
  const output = [] as const;
  if (last?.kind === 'failure') return { kind: 'failed', output, failure: last.failure };
  if (last?.kind !== 'end') return { kind: turn.status === 'queued' ? 'queued' : 'running', output };
  if (last.end.isAborted === true) return { kind: 'cancelled', output };
  const endedSeconds = turn.endedMs === undefined ? nowSeconds() : secondsOf(turn.endedMs);
  return { kind: 'ended', output, end: last.end, endedSeconds };
};

const itemStatusIn = (state: ResponseState) => {
  if (state.kind === 'running' || state.kind === 'queued') return 'in_progress';
  return state.kind === 'ended' && isCompleted(state.end) ? 'completed' : 'incomplete';
};

/** What there is of a turn. `asked`: the permission requests with which it ended, if they were decided on since. */
type StoredTurn = {
  readonly turn: TurnSnapshot;
  readonly entries: readonly TurnEntry[];
  readonly asked: readonly ApprovalRequest[];
};

/** A response as its turn is now. */
export const toStoredResponse = (
  { turn, entries, asked }: StoredTurn,
  { showsReasoning, nowSeconds }: { readonly showsReasoning: boolean; readonly nowSeconds: () => number },
): ResponseObject => {
  const start = startOfTurn(turn, nowSeconds);
  const items = createOutputItems(start.place);
  const events = readStored(turn, entries, asked);
  for (const event of events) if (showsReasoning || !isReasoning(event)) items.applyEvent(event);
  const state = stateOf({ turn, last: events.at(-1), nowSeconds });
  items.close(itemStatusIn(state));
  const { place, model, createdSeconds, echo } = start;
  const facts = { id: place.responseID, model, createdSeconds, echo };
  return toResponseObject(facts, state.kind === 'queued' ? state : { ...state, output: items.list() });
};
