import { pause } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import { Fault } from '../../../core/fault.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import { hasEnded } from '../../answer/answer-end.ts';
import { readTurn } from '../../answer/answer-output.ts';
import { requestsBefore, showFormat } from '../../answer/stored-answer.ts';
import { readTurnMetadata } from '../../answer/turn-request.ts';
import { isTurnRefused, unlessRefused } from '../../answer/waiting-turn.ts';
import { responseNotFoundText, turnOfResponseID } from '../../ids.ts';
import { badInput, invalidValue, unsupportedValue } from '../../request.ts';
import { withoutReasoning } from '../../stream/hidden-reasoning.ts';
import type { PolledOutput } from '../../stream/polled-output.ts';
import type { TurnCaller, TurnSnapshot, TurnsPort } from '../../turns/port.ts';
import { itemsOfInput } from '../conversations/history.ts';
import { parsePageQuery, toItemPage } from '../conversations/page.ts';
import type { StreamEncoder } from '../endpoint.ts';
import type { ActiveRequest, OwnerRoute } from '../tracked.ts';
import type { ResponseObject } from './response.ts';
import { startOfTurn, toStoredResponse } from './stored-response.ts';
import { createResponseEncoder } from './stream.ts';

type StoredResponseOptions = {
  readonly forOwner: OwnerRoute;
  readonly turns: TurnsPort;
  readonly clock: Clock;
  readonly showsReasoning: boolean;
  /** Tracks who reads a response again. Faults with `overloaded` when there are too many. */
  readonly track: (request: Request) => ActiveRequest;
  /** Sends the events of an answer in the background to one more reader. */
  readonly sendAgain: (output: PolledOutput, encoder: StreamEncoder, active: ActiveRequest) => Response;
};

/** How long an agent may take to end an aborted turn. */
const CANCEL_LIMIT_MS = 3000;
const CANCEL_PAUSE_MS = 50;

const NO_COMPACTION = new Fault({
  kind: 'not-found',
  hint: 'Conversations are not compacted by request here: the agent summarises one that has become too long by itself. Leave this request out, and go on with the same items, previous_response_id or conversation',
});
const NOT_ENDED = new Fault({
  kind: 'unavailable',
  message: 'The agent server has not ended the turn yet; ask again',
  retryAfterMs: 1000,
});
const NOT_IN_BACKGROUND = unsupportedValue(
  'stream',
  'only a response that was created with background: true is streamed again. Repeat this request without it',
);
const NOT_CANCELLED = badInput(
  'unsupported_value',
  null,
  'Only a response in the background can be cancelled. Any other one is ended by closing its connection',
);
const notFound = (id: string): Fault => new Fault({ kind: 'not-found', hint: responseNotFoundText(id) });

const turnIDIn = (id: string): string => {
  const turnID = turnOfResponseID(id);
  if (turnID === undefined) throw notFound(id);
  return turnID;
};

/** Throws an error with the id of the response, where it is that there is none. */
const quoting =
  (id: string) =>
  (error: unknown): never => {
    throw isTurnRefused(error, 'turn_not_found') ? notFound(id) : error;
  };

/** The number after which a client wants the events of a response, -1 for all. Undefined where it wants no events. */
const parseStreamQuery = ({ url }: Request): number | undefined => {
  const { searchParams } = new URL(url);
  const stream = searchParams.get('stream') ?? 'false';
  const after = searchParams.get('starting_after');
  if (stream !== 'true' && stream !== 'false') throw invalidValue('stream', 'expected true or false');
  if (after !== null && !/^\d{1,15}$/.test(after)) throw invalidValue('starting_after', 'expected a sequence_number');
  if (after !== null && stream === 'false') throw invalidValue('starting_after', 'it needs stream=true');
  return stream === 'true' ? Number(after ?? -1) : undefined;
};

const isInBackground = (turn: TurnSnapshot): boolean => readTurnMetadata(turn).isBackground;

/** `GET` and `DELETE /v1/responses/{id}`, its `input_items`, and `POST /v1/responses/{id}/cancel`, at any bridge. */
export const createStoredResponseRoutes = (options: StoredResponseOptions): RouteTable => {
  const { forOwner, turns, clock, showsReasoning } = options;
  const nowSeconds = (): number => Math.floor(clock.now() / 1000);
  const read = async (turnID: string, by: TurnCaller): Promise<ResponseObject> => {
    const stored = await turns.read(turnID, by);
    const asked = await requestsBefore(stored.turn, turns, by);
    return toStoredResponse({ ...stored, asked }, { showsReasoning, nowSeconds });
  };

  /** Streams the events of a response after a number, from its beginning or from wherever its client has lost it. */
  const stream = async (
    request: Request,
    owner: string,
    { turnID, startingAfter }: { readonly turnID: string; readonly startingAfter: number },
  ): Promise<Response> => {
    const active = options.track(request);
    const reading = new AbortController();
    const abort = (): void => reading.abort(active.signal.reason);
    active.signal.addEventListener('abort', abort, { once: true });
    try {
      const by = { owner, signal: reading.signal };
      const turn = await turns.view(turnID, by);
      if (!isInBackground(turn)) throw NOT_IN_BACKGROUND;
      const events = turns.follow(turnID, turn.from, by);
      const texts = { asked: await requestsBefore(turn, turns, by) };
      const { output } = readTurn({ clock, turn, events, reading, signal: active.signal, texts, goesOn: true });
      const shown = showFormat(showsReasoning ? output : withoutReasoning(output), turn);
      return options.sendAgain(
        shown,
        createResponseEncoder({ ...startOfTurn(turn, nowSeconds), startingAfter }),
        active,
      );
    } catch (error) {
      active.end();
      throw error;
    }
  };
  /** Aborts the turn, and waits until the agent has ended it. A response that has ended is left as it is. */
  const cancel = async (turnID: string, by: TurnCaller): Promise<ResponseObject> => {
    const turn = await turns.view(turnID, by);
    if (!isInBackground(turn)) throw NOT_CANCELLED;
    const untilMs = clock.now() + CANCEL_LIMIT_MS;
    let now = hasEnded(turn) ? turn : await turns.cancel(turnID, by);
    while (!hasEnded(now)) {
      if (clock.now() >= untilMs) throw NOT_ENDED;
      await pause(clock, CANCEL_PAUSE_MS, by.signal);
      now = await turns.view(turnID, by);
    }
    return read(turnID, by);
  };
  return {
    // Before the routes of an id, which have no POST: clients read a 404 as an endpoint that is not there, and repeat none.
    '/v1/responses/compact': {
      POST() {
        throw NO_COMPACTION;
      },
    },
    '/v1/responses/:id': {
      GET: forOwner(async (request, by, { id = '' }) => {
        const startingAfter = parseStreamQuery(request);
        const turnID = turnIDIn(id);
        const found: Promise<object> =
          startingAfter === undefined ? read(turnID, by) : stream(request, by.owner, { turnID, startingAfter });
        return found.catch(quoting(id));
      }),
      DELETE: forOwner(async (_request, by, { id = '' }) => {
        const { id: turnID } = await turns.view(turnIDIn(id), by).catch(quoting(id));
        // It may have come before, and its answer was lost.
        await turns.delete(turnID, by).catch(unlessRefused('turn_not_found'));
        return { id, object: 'response', deleted: true };
      }),
    },
    '/v1/responses/:id/input_items': {
      GET: forOwner(async (request, by, { id = '' }) => {
        const query = parsePageQuery(request);
        const turn = await turns.view(turnIDIn(id), by).catch(quoting(id));
        return toItemPage(itemsOfInput(turn, await turns.input(turn, by)), query);
      }),
    },
    '/v1/responses/:id/cancel': {
      POST: forOwner((_request, by, { id = '' }) => cancel(turnIDIn(id), by).catch(quoting(id))),
    },
  };
};
