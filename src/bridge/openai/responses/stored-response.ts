import { readStored } from '../../answer/stored-answer.ts';
import { readTurnMetadata } from '../../answer/turn-request.ts';
import { answerIDOf, conversationIDOf, responseIDOf } from '../../ids.ts';
import type { ApprovalRequest } from '../../output.ts';
import { isReasoning } from '../../stream/hidden-reasoning.ts';
import type { TurnEntry, TurnSnapshot } from '../../turns/port.ts';
import { NO_ECHO } from './echo.ts';
import { createOutputItems } from './items.ts';
import { openItemsAfter, type ResponseObject, type ResponseStart, stateAfter, toResponseObject } from './response.ts';

const secondsOf = (ms: number): number => Math.floor(ms / 1000);

/** What is known of the response of a turn whose request is not known any more. */
export const startOfTurn = (turn: TurnSnapshot, nowSeconds: () => number): ResponseStart => {
  const { isBackground, custom } = readTurnMetadata(turn);
  const conversationID = turn.conversationName ?? conversationIDOf(turn.conversationID);
  return {
    place: { responseID: responseIDOf(answerIDOf(turn.id)), sessionID: turn.sessionID, custom: new Set(custom) },
    model: turn.model,
    echo: { ...NO_ECHO, background: isBackground, conversation: { id: conversationID } },
    createdSeconds: secondsOf(turn.createdMs),
    nowSeconds,
  };
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
  const last = events.at(-1);
  if (last?.kind !== 'end' && last?.kind !== 'failure') {
    items.close('in_progress');
    return toResponseObject(start, items.list(), { status: turn.status === 'queued' ? 'queued' : 'in_progress' });
  }
  items.close(openItemsAfter(last));
  const endedSeconds = turn.endedMs === undefined ? nowSeconds() : secondsOf(turn.endedMs);
  return toResponseObject(start, items.list(), stateAfter(last, endedSeconds, true));
};
