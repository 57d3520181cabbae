import { Fault } from '../../../core/fault.ts';
import type { RequestBodies } from '../../../core/http/request-bodies.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import type { MessageRecord } from '../../agent/schema.ts';
import { placeOfName } from '../../answer/turn-request.ts';
import { isTurnRefused, unlessRefused } from '../../answer/waiting-turn.ts';
import { conversationIDOf } from '../../ids.ts';
import { badInput, missingMember } from '../../request.ts';
import type { ConversationView, TurnCaller, TurnsPort } from '../../turns/port.ts';
import { parseBodyObject } from '../body.ts';
import type { OwnerRoute } from '../tracked.ts';
import { type HistoryItem, messageOfItem, readHistoryItems } from './history.ts';
import { parseMetadata } from './metadata.ts';
import { parseNewItems } from './new-items.ts';
import { parsePageQuery, toItemPage } from './page.ts';

type ConversationRoutesOptions = {
  readonly forOwner: OwnerRoute;
  readonly turns: Pick<TurnsPort, 'conversations'>;
  readonly bodies: Pick<RequestBodies, 'readJson' | 'readJsonIfAny'>;
  readonly newToken: () => string;
  readonly showsReasoning: boolean;
};

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

const unlessBusy = (error: unknown): never => {
  throw isTurnRefused(error, 'conversation_busy') ? BUSY : error;
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
  const { forOwner, turns, bodies, newToken, showsReasoning } = options;
  const { conversations } = turns;
  const newCallID = (): string => `call_${newToken()}`;
  const find = (id = '', by: TurnCaller) => conversations.find(placeOfName(id), by);
  const itemsOf = async ({ id }: ConversationView, by: TurnCaller): Promise<readonly HistoryItem[]> =>
    readHistoryItems(await messagesOf(turns, id, by), showsReasoning);

  return {
    '/v1/conversations': {
      POST: forOwner(async (request, by) => {
        const body = parseBodyObject((await bodies.readJsonIfAny(request)) ?? {});
        const metadata = parseMetadata(body.metadata);
        const messages = parseNewItems(body.items ?? [], newCallID);
        return toConversation(await conversations.create({ metadata, messages }, by));
      }),
    },
    '/v1/conversations/:id': {
      GET: forOwner(async (_request, by, { id }) => toConversation(await find(id, by))),
      POST: forOwner(async (request, by, { id }) => {
        const body = parseBodyObject(await bodies.readJson(request));
        if (body.metadata === undefined) throw missingMember('metadata');
        const metadata = parseMetadata(body.metadata);
        return toConversation(await conversations.setMetadata((await find(id, by)).id, metadata, by));
      }),
      DELETE: forOwner(async (_request, by, { id }) => {
        const found = await find(id, by);
        // It may be gone already: a request whose connection broke was sent twice.
        await conversations.delete(found.id, by).catch(unlessRefused('conversation_not_found'));
        return { id: toConversation(found).id, object: 'conversation.deleted', deleted: true };
      }),
    },
    '/v1/conversations/:id/items': {
      GET: forOwner(async (request, by, { id }) => {
        const query = parsePageQuery(request);
        return toItemPage(await itemsOf(await find(id, by), by), query);
      }),
      POST: forOwner(async (request, by, { id }) => {
        const messages = parseNewItems(parseBodyObject(await bodies.readJson(request)).items, newCallID);
        if (messages.length === 0) throw badInput('empty_array', 'items', "Expected at least one item at 'items'");
        const added = await conversations.append((await find(id, by)).id, messages, by).catch(unlessBusy);
        const items = readHistoryItems(added, true);
        return toItemPage(items, { limit: Math.max(1, items.length), order: 'asc', after: undefined });
      }),
    },
    '/v1/conversations/:id/items/:item': {
      GET: forOwner(async (_request, by, { id, item: itemID }) => {
        const item = (await itemsOf(await find(id, by), by)).find((one) => one.id === itemID);
        if (item === undefined) throw ITEM_NOT_FOUND;
        return item;
      }),
      DELETE: forOwner(async (_request, by, { id, item = '' }) => {
        const found = await find(id, by);
        const record = messageOfItem(item, await messagesOf(turns, found.id, by));
        if (record === undefined) throw ITEM_NOT_FOUND;
        const deleted = conversations.deleteMessage(found.id, record.info.id, by);
        await deleted.catch(unlessRefused('message_not_found')).catch((error: unknown) => {
          throw isTurnRefused(error, 'not_added') ? ITEM_OF_TURN : unlessBusy(error);
        });
        return toConversation(found);
      }),
    },
  };
};
