import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import type { Conversation } from '../protocol/turns.ts';
import type { MessageWithParts } from '../store/store.ts';
import { ConversationBody, ConversationChangeBody, MessagesBody } from '../turns/body.ts';
import {
  addMessages,
  changeConversation,
  createConversation,
  removeAddedMessage,
  requireConversation,
} from '../turns/conversations.ts';
import { turnRefusal } from '../turns/refusals.ts';
import { deleteConversation } from '../turns/removal.ts';
import type { RouteContext } from './context.ts';
import { parseQuery, requestDirectory, wholeNumberParameter } from './query.ts';
import { requireOwner } from './turns.ts';

const MESSAGES = 100;
const MOST_MESSAGES = 1000;

const shown = ({ owner: _, ...conversation }: Conversation) => conversation;

/** Questions that are there only for the answers after them have no parts. */
const isShown = ({ info, parts }: MessageWithParts): boolean => info.role === 'assistant' || parts.length > 0;

/** Creates, reads, changes and removes the conversations of turns. */
export const turnConversationRoutes = (context: RouteContext): RouteTable => {
  const { store, directory, readBody } = context;
  /** A page of messages in the order that is asked for, and whether there are more after it. */
  const readPage = async (request: Request, { sessionID }: Conversation) => {
    const query = parseQuery(request);
    const limit = wholeNumberParameter(query, 'limit', MOST_MESSAGES) ?? MESSAGES;
    const after = query.get('after') ?? undefined;
    const order = query.get('order') ?? 'asc';
    if (order !== 'asc' && order !== 'desc')
      throw new Fault({
        kind: 'bad-input',
        code: 'invalid_query',
        param: 'order',
        message: 'order: expected asc or desc',
      });
    if (after !== undefined && (await store.message(sessionID, after)) === undefined)
      throw turnRefusal('message_not_found');
    const outlines = await store.messageOutlines(sessionID);
    const ids = order === 'asc' ? outlines.map(({ id }) => id) : outlines.map(({ id }) => id).reverse();
    const messages: MessageWithParts[] = [];
    for (const id of ids.slice(after === undefined ? 0 : ids.indexOf(after) + 1)) {
      const message = messages.length > limit ? undefined : await store.message(sessionID, id);
      if (message !== undefined && isShown(message)) messages.push(message);
    }
    return { messages: messages.slice(0, limit), hasMore: messages.length > limit };
  };
  return {
    '/gatehouse/conversations': {
      async GET(request) {
        const found = await store.turns.conversationByName(
          requireOwner(request),
          parseQuery(request).get('name') ?? '',
        );
        if (found === undefined) throw turnRefusal('conversation_not_found');
        return jsonResponse(200, shown(found));
      },
      async POST(request) {
        const owner = requireOwner(request);
        const { name, metadata, messages } = await readBody(request, ConversationBody, true);
        const given = { owner, name, metadata, messages, directory: requestDirectory(request, directory) };
        return jsonResponse(200, shown(await createConversation(context, given)));
      },
    },
    '/gatehouse/conversations/:id': {
      GET: async (request, { id = '' }) =>
        jsonResponse(200, shown(await requireConversation(context, requireOwner(request), id))),
      async PATCH(request, { id = '' }) {
        const owner = requireOwner(request);
        const { metadata } = await readBody(request, ConversationChangeBody);
        return jsonResponse(200, shown(await changeConversation(context, { owner, id }, metadata)));
      },
      async DELETE(request, { id = '' }) {
        await deleteConversation(context, await requireConversation(context, requireOwner(request), id));
        return jsonResponse(200, true);
      },
    },
    '/gatehouse/conversations/:id/messages': {
      GET: async (request, { id = '' }) =>
        jsonResponse(200, await readPage(request, await requireConversation(context, requireOwner(request), id))),
      async POST(request, { id = '' }) {
        const owner = requireOwner(request);
        const { messages } = await readBody(request, MessagesBody);
        return jsonResponse(200, { messageIDs: await addMessages(context, { owner, id }, messages) });
      },
    },
    '/gatehouse/conversations/:id/messages/:messageID': {
      async DELETE(request, { id = '', messageID = '' }) {
        await removeAddedMessage(context, { owner: requireOwner(request), id }, messageID);
        return jsonResponse(200, true);
      },
    },
  };
};
