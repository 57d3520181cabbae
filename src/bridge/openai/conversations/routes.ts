import { Fault } from '../../../core/fault.ts';
import type { RequestBodies } from '../../../core/http/request-bodies.ts';
import { jsonResponse, jsonTextResponse } from '../../../core/http/response.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import { writeJson } from '../../../core/json.ts';
import type { RunInSlices } from '../../../core/time-slices.ts';
import type { MessageRecord } from '../../agent/schema.ts';
import { placeOfName } from '../../answer/turn-request.ts';
import { isTurnRefused } from '../../answer/waiting-turn.ts';
import type { TurnRefusalCode } from '../../errors.ts';
import { conversationIDOf } from '../../ids.ts';
import { badInput } from '../../request.ts';
import type { ConversationView, TurnCaller, TurnsPort } from '../../turns/port.ts';
import { parseBodyObject } from '../body.ts';
import type { TrackRequest } from '../tracked.ts';
import { type HistoryItem, messageOfItem, readHistoryItems } from './history.ts';
import { parseMetadata } from './metadata.ts';
import { parseNewItems } from './new-items.ts';
import { parsePageQuery, toItemPage } from './page.ts';

type ConversationRoutesOptions = {
  readonly tracked: TrackRequest;
  readonly authenticate: (request: Request) => string;
  readonly turns: Pick<TurnsPort, 'conversations'>;
  readonly bodies: Pick<RequestBodies, 'readJson' | 'readJsonIfAny'>;
  readonly runInSlices: RunInSlices;
  readonly newToken: () => string;
  readonly showsReasoning: boolean;
};

/** A client that has left by then waits for nothing, and the rest of the writing is short. */
const never = new AbortController().signal;
const PAGE = 200;

const toConversation = ({ id, name, createdMs, metadata }: ConversationView) => ({
  id: name ?? conversationIDOf(id),
  object: 'conversation' as const,
  created_at: Math.floor(createdMs / 1000),
  metadata,
});

const ITEM_OF_TURN = badInput(
  'unsupported_value',
  null,
  'The agent keeps a prompt and its answer together: delete the conversation, or put the items that you want into a new one',
);
const BUSY = new Fault({
  kind: 'conflict',
  message:
    'The agent is at work in this conversation, or waits for an approval or for results of your functions: answer that first, or wait for the end',
});
const ITEM_NOT_FOUND = new Fault({ kind: 'not-found', hint: 'There is no item with this id in this conversation' });

/** What was there a moment ago is deleted: a request whose connection broke was sent twice. */
const unlessGone =
  (code: TurnRefusalCode) =>
  (error: unknown): void => {
    if (!isTurnRefused(error, code)) throw error;
  };

/** All messages of a conversation, in order. */
export const messagesOf = async (
  { conversations }: Pick<TurnsPort, 'conversations'>,
  id: string,
  by: TurnCaller,
): Promise<readonly MessageRecord[]> => {
  const all: MessageRecord[] = [];
  for (;;) {
    const after = all.at(-1)?.info.id;
    const page = await conversations.messages(id, { limit: PAGE, order: 'asc', after }, by);
    all.push(...page);
    if (page.length < PAGE) return all;
  }
};

/** `/v1/conversations` and the items of one, at the agent. */
export const createConversationRoutes = (options: ConversationRoutesOptions): RouteTable => {
  const { tracked, authenticate, turns, bodies, runInSlices, newToken, showsReasoning } = options;
  const { conversations } = turns;
  const toResponse = async (value: object): Promise<Response> =>
    jsonTextResponse(200, await runInSlices(writeJson(value), never));
  const newCallID = (): string => `call_${newToken()}`;
  const find = (id: string, by: TurnCaller) => conversations.find(placeOfName(id), by);
  const readItems = async (id: string, by: TurnCaller): Promise<readonly HistoryItem[]> =>
    readHistoryItems(await messagesOf(turns, id, by), showsReasoning);

  return {
    '/v1/conversations': {
      POST: tracked(async (request, _params, signal) => {
        const by = { owner: authenticate(request), signal };
        const body = parseBodyObject((await bodies.readJsonIfAny(request)) ?? {});
        const metadata = parseMetadata(body.metadata);
        const messages = parseNewItems(body.items ?? [], newCallID);
        return jsonResponse(200, toConversation(await conversations.create({ metadata, messages }, by)));
      }),
    },
    '/v1/conversations/:id': {
      GET: tracked(async (request, { id = '' }, signal) =>
        jsonResponse(200, toConversation(await find(id, { owner: authenticate(request), signal }))),
      ),
      POST: tracked(async (request, { id = '' }, signal) => {
        const by = { owner: authenticate(request), signal };
        const body = parseBodyObject(await bodies.readJson(request));
        if (body.metadata === undefined)
          throw badInput('missing_required_parameter', 'metadata', "Missing required parameter: 'metadata'");
        const metadata = parseMetadata(body.metadata);
        const found = await find(id, by);
        return jsonResponse(200, toConversation(await conversations.setMetadata(found.id, metadata, by)));
      }),
      DELETE: tracked(async (request, { id = '' }, signal) => {
        const by = { owner: authenticate(request), signal };
        const found = await find(id, by);
        await conversations.delete(found.id, by).catch(unlessGone('conversation_not_found'));
        return jsonResponse(200, { id: toConversation(found).id, object: 'conversation.deleted', deleted: true });
      }),
    },
    '/v1/conversations/:id/items': {
      GET: tracked(async (request, { id = '' }, signal) => {
        const by = { owner: authenticate(request), signal };
        const query = parsePageQuery(request);
        const found = await find(id, by);
        return toResponse(toItemPage(await readItems(found.id, by), query));
      }),
      POST: tracked(async (request, { id = '' }, signal) => {
        const by = { owner: authenticate(request), signal };
        const messages = parseNewItems(parseBodyObject(await bodies.readJson(request)).items, newCallID);
        if (messages.length === 0) throw badInput('empty_array', 'items', "Expected at least one item at 'items'");
        const found = await find(id, by);
        const added = await conversations.append(found.id, messages, by).catch((error: unknown) => {
          throw isTurnRefused(error, 'conversation_busy') ? BUSY : error;
        });
        const items = readHistoryItems(added, true);
        return toResponse(toItemPage(items, { limit: Math.max(1, items.length), order: 'asc', after: undefined }));
      }),
    },
    '/v1/conversations/:id/items/:item': {
      GET: tracked(async (request, { id = '', item: itemID = '' }, signal) => {
        const by = { owner: authenticate(request), signal };
        const item = (await readItems((await find(id, by)).id, by)).find((one) => one.id === itemID);
        if (item === undefined) throw ITEM_NOT_FOUND;
        return toResponse(item);
      }),
      DELETE: tracked(async (request, { id = '', item: itemID = '' }, signal) => {
        const by = { owner: authenticate(request), signal };
        const found = await find(id, by);
        const record = messageOfItem(itemID, await messagesOf(turns, found.id, by));
        if (record === undefined) throw ITEM_NOT_FOUND;
        const deleted = conversations.deleteMessage(found.id, record.info.id, by);
        await deleted.catch(unlessGone('message_not_found')).catch((error: unknown) => {
          if (isTurnRefused(error, 'not_added')) throw ITEM_OF_TURN;
          throw isTurnRefused(error, 'conversation_busy') ? BUSY : error;
        });
        return jsonResponse(200, toConversation(found));
      }),
    },
  };
};
