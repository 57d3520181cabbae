import * as v from 'valibot';
import { MessageRecord } from '../../agent/schema.ts';
import { createAgentUrls } from '../../agent/servers.ts';
import type { ConversationsPort, TurnCaller, TurnsPort } from '../port.ts';
import { AddedRecord, ConversationRecord, MessagePageRecord, OutputRecord, TurnViewRecord } from '../records.ts';
import { beginTurnAtAgent, followTurn } from './output.ts';
import { createTracedPost } from './traced-post.ts';
import {
  type AgentTurns,
  CONVERSATIONS,
  callFor,
  DECIDER,
  messageBodies,
  segment,
  TURNS,
  turnPath,
  viewTurn,
} from './wire.ts';

const Done = v.unknown();

const conversationPath = (id: string): string => `${CONVERSATIONS}/${segment(id, 'conversation_not_found')}`;

const hasCallOf = ({ parts }: MessageRecord, callIDs: readonly string[]): boolean =>
  parts.some((part) => part.type === 'tool' && callIDs.includes(part.callID));

const messagesIn = (turns: AgentTurns, sessionID: string, by: TurnCaller): Promise<readonly MessageRecord[]> => {
  const path = `/session/${segment(sessionID, 'turn_not_found')}/message`;
  return callFor(turns, { method: 'GET', path, schema: v.array(MessageRecord) }, by);
};

const createAgentConversations = (turns: AgentTurns): ConversationsPort => {
  const schema = ConversationRecord;
  const find: ConversationsPort['find'] = (place, by) =>
    'id' in place
      ? callFor(turns, { method: 'GET', path: conversationPath(place.id), schema }, by)
      : callFor(turns, { method: 'GET', path: CONVERSATIONS, query: { name: place.name }, schema }, by);
  return {
    create(given, by) {
      const body = { ...given, messages: messageBodies(given.messages) };
      return callFor(turns, { method: 'POST', path: CONVERSATIONS, schema, body }, by);
    },
    find,
    setMetadata: (id, metadata, by) =>
      callFor(turns, { method: 'PATCH', path: conversationPath(id), body: { metadata }, schema }, by),
    async delete(id, by) {
      await callFor(turns, { method: 'DELETE', path: conversationPath(id), schema: Done }, by);
    },
    async messages(id, { limit, order, after }, by) {
      const query = { limit: String(limit), order, ...(after === undefined ? {} : { after }) };
      const path = `${conversationPath(id)}/messages`;
      return (await callFor(turns, { method: 'GET', path, query, schema: MessagePageRecord }, by)).messages;
    },
    async append(id, given, by) {
      const messages = messageBodies(given);
      const path = `${conversationPath(id)}/messages`;
      const added = await callFor(turns, { method: 'POST', path, body: { messages }, schema: AddedRecord }, by);
      const { sessionID } = await find({ id }, by);
      const callIDs = messages.flatMap((message) => (message.role === 'tool' ? [message.callID] : []));
      const all = await messagesIn(turns, sessionID, by);
      return all.filter((record) => added.messageIDs.includes(record.info.id) || hasCallOf(record, callIDs));
    },
    async deleteMessage(id, messageID, by) {
      const path = `${conversationPath(id)}/messages/${segment(messageID, 'conversation_not_found')}`;
      await callFor(turns, { method: 'DELETE', path, schema: Done }, by);
    },
  };
};

/** The turns of our agent server, over HTTP. Every request may be sent twice: those that begin a turn have a key. */
export const createAgentTurns = (needs: Omit<AgentTurns, 'headers' | 'urlOf' | 'traced'>): TurnsPort => {
  const { transport } = needs;
  const turns: AgentTurns = { ...needs, ...createAgentUrls(transport), traced: createTracedPost(transport.baseUrl) };
  const turnsWhere = (query: Readonly<Record<string, string>>, by: TurnCaller) =>
    callFor(turns, { method: 'GET', path: TURNS, query, schema: v.array(TurnViewRecord) }, by);
  return {
    begin: (request, by) => beginTurnAtAgent(turns, request, by),
    follow: (turnID, after, by) => followTurn(turns, turnID, { after }, by),
    read: (turnID, by) =>
      callFor(turns, { method: 'GET', path: `${turnPath(turnID)}/output`, schema: OutputRecord }, by),
    view: (turnID, by) => viewTurn(turns, turnID, by),
    async input({ sessionID, promptID, messageIDs, callIDs }, by) {
      const all = await messagesIn(turns, sessionID, by);
      const isOfAnswer = ({ info }: MessageRecord): boolean => info.role === 'assistant' && info.parentID === promptID;
      return all.filter(
        (record) => messageIDs.includes(record.info.id) || (isOfAnswer(record) && hasCallOf(record, callIDs)),
      );
    },
    async turnsOfPart({ sessionID, partID }, by) {
      const found = await messagesIn(turns, sessionID, by);
      const info = found.find(({ parts }) => parts.some(({ id }) => id === partID))?.info;
      return info?.role === 'assistant' ? turnsWhere({ sessionID, promptID: info.parentID }, by) : [];
    },
    waitingTurns: (by) => turnsWhere({ status: 'waiting' }, by),
    async leave(turnID, { id: reader, readTo, shownIDs }, by) {
      const [path, body] = [`${turnPath(turnID)}/leave`, { reader, readTo, shownIDs }];
      await callFor(turns, { method: 'POST', path, body, schema: Done, isRepeatable: true }, by);
    },
    cancel(turnID, by) {
      const path = `${turnPath(turnID)}/cancel`;
      return callFor(turns, { method: 'POST', path, schema: TurnViewRecord, isRepeatable: true }, by);
    },
    async delete(turnID, by) {
      await callFor(turns, { method: 'DELETE', path: turnPath(turnID), schema: Done }, by);
    },
    async decide(turnID, decisions, by) {
      const body = { decisions, by: DECIDER };
      await callFor(turns, { method: 'POST', path: `${turnPath(turnID)}/decisions`, body, schema: Done }, by);
    },
    conversations: createAgentConversations(turns),
    takesClientTools: async () => true,
  };
};
