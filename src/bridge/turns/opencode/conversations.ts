import { isNotFound } from '../../../core/fault.ts';
import { extendChain } from '../../../core/http/history-digests.ts';
import type { MessageRecord } from '../../agent/schema.ts';
import { refused } from '../../errors.ts';
import type { ConversationsPort, ConversationView, SentMessage, TurnCaller } from '../port.ts';
import { markOf, readMarks } from './marks.ts';
import { NEVER } from './needs.ts';
import { createSessionFor, openConversation } from './records.ts';
import { conversationAt, type KnownConversation, type TurnsState, turnsIn } from './state.ts';

const TITLE = 'Conversation';

const toConversationView = (conversation: KnownConversation): ConversationView => {
  const { id, name, sessionID, lastTurnID, metadata, createdMs } = conversation;
  return { id, name, sessionID, lastTurnID, metadata, createdMs };
};

/** Stores messages of users, without an answer. OpenCode stores no other messages of a client. */
const addMessages = async (
  { needs }: TurnsState,
  conversation: KnownConversation,
  messages: readonly SentMessage[],
  signal: AbortSignal,
): Promise<readonly MessageRecord[]> => {
  const { agent, runInSlices, digest } = needs;
  const added: MessageRecord[] = [];
  for (const message of messages) {
    if (message.role !== 'user') throw refused('unsupported');
    const prompt = { parts: message.parts, hasTools: true, isContext: true };
    const record = await agent.prompt(conversation.sessionID, prompt, signal);
    conversation.addedIDs.add(record.info.id);
    added.push(record);
  }
  const tip = conversation.tip?.digest;
  if (tip !== undefined) conversation.tip = { digest: await runInSlices(extendChain(tip, messages, digest), signal) };
  return added;
};

const requireUserMessages = (messages: readonly SentMessage[]): void => {
  if (messages.some(({ role }) => role !== 'user')) throw refused('unsupported');
};

/** Conversations as objects: sessions with a mark in their metadata. */
export const createConversations = (state: TurnsState): ConversationsPort => {
  const { agent } = state.needs;
  const find = async (place: { readonly id: string } | { readonly name: string }, by: TurnCaller) => {
    await readMarks(state, by.signal);
    const found = conversationAt(state, place, by.owner);
    if (found === undefined || found.sessionID === '') throw refused('conversation_not_found');
    return found;
  };
  return {
    async create({ metadata, messages }, { owner, signal }) {
      requireUserMessages(messages);
      const conversation = openConversation(state, { owner, isOfClient: true, metadata });
      try {
        conversation.sessionID = await createSessionFor(state, conversation, TITLE, signal);
        await addMessages(state, conversation, messages, signal);
      } catch (error) {
        state.conversations.delete(conversation.id);
        throw error;
      }
      return toConversationView(conversation);
    },
    find: async (place, by) => toConversationView(await find(place, by)),
    async setMetadata(id, metadata, by) {
      const conversation = await find({ id }, by);
      await agent.setMetadata(conversation.sessionID, markOf({ ...conversation, metadata }), by.signal);
      conversation.metadata = metadata;
      return toConversationView(conversation);
    },
    async delete(id, by) {
      const conversation = await find({ id }, by);
      await conversation.openTurn?.run?.abort();
      await agent.deleteSession(conversation.sessionID, NEVER).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      for (const turn of turnsIn(state, conversation)) state.turns.delete(turn.id);
      state.conversations.delete(id);
    },
    async messages(id, { limit, order, after }, by) {
      const records = await agent.messages((await find({ id }, by)).sessionID, by.signal);
      const ordered = order === 'asc' ? records : records.toReversed();
      const from = after === undefined ? 0 : ordered.findIndex(({ info }) => info.id === after) + 1;
      return ordered.slice(from, from + limit);
    },
    async append(id, messages, by) {
      requireUserMessages(messages);
      const conversation = await find({ id }, by);
      if (conversation.openTurn !== undefined || !state.queue.isFree(id)) throw refused('conversation_busy');
      const release = await state.queue.acquire(id, by.signal);
      try {
        return await addMessages(state, conversation, messages, by.signal);
      } finally {
        release();
      }
    },
    async deleteMessage(id, messageID, by) {
      const conversation = await find({ id }, by);
      if (!conversation.addedIDs.has(messageID)) throw refused('not_added');
      await agent.deleteMessage(conversation.sessionID, messageID, by.signal);
      conversation.addedIDs.delete(messageID);
      conversation.tip = undefined;
    },
  };
};
