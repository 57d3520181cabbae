import { joinPublications, type Publication } from '../events/publisher.ts';
import { withConversationName } from '../protocol/conversation-name.ts';
import type { GivenMessage, GivenPart } from '../protocol/given-messages.ts';
import type { Conversation } from '../protocol/turns.ts';
import type { Session } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { responderFor } from '../session/prompt.ts';
import { messagesRemoval, partsRemoval } from '../session/revert.ts';
import { requireCapacity, type SessionParts, sessionCreation } from '../session/sessions.ts';
import type { MessageWithParts } from '../store/store.ts';
import { type ImportedMessages, importMessages } from './history/import.ts';
import { whileStale } from './records.ts';
import { turnRefusal } from './refusals.ts';

type NewConversation = {
  readonly owner: string;
  readonly name: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly messages: readonly GivenMessage[];
  readonly directory: string;
};

/** The conversation of an owner; a refusal where there is none. */
export const requireConversation = async (
  { store }: AgentRuntime,
  owner: string,
  id: string,
): Promise<Conversation> => {
  const conversation = await store.turns.conversation(owner, id);
  if (conversation === undefined) throw turnRefusal('conversation_not_found');
  return conversation;
};

/** What counts of messages for the limits of a prompt: they are stored in one commit, too. */
const contentOf = (messages: readonly GivenMessage[]): { readonly parts: GivenPart[] } => {
  const textPart = (text: string): GivenPart => ({ type: 'text', text });
  const partsOf = (message: GivenMessage): readonly GivenPart[] => {
    if (message.role === 'user') return message.parts;
    if (message.role === 'tool') return [textPart(message.output), ...(message.files ?? [])];
    const { text = '', reasoning = '', calls = [] } = message;
    return [text, reasoning, ...calls.map((call) => call.arguments)].map(textPart);
  };
  return { parts: messages.flatMap(partsOf) };
};

/** Whether a message is of an answer, and not one that was added: those have no steps. */
const isOfAnswer = ({ info, parts }: MessageWithParts): boolean =>
  info.role === 'assistant' && (info.error !== undefined || parts.some(({ type }) => type === 'step-start'));

const imported = (
  runtime: AgentRuntime,
  session: Session,
  messages: readonly GivenMessage[],
  lastID?: string,
): ImportedMessages => {
  const { agent, model } = responderFor(runtime.catalog, session, {});
  return importMessages(runtime, messages, { session, agent: agent.name, model, now: runtime.clock.now(), lastID });
};

/** Which conversation of an owner. */
type Which = { readonly owner: string; readonly id: string };

/** Changes the messages of a conversation that is at rest. Of its history not all is known then. */
const whileIdle = (
  needs: SessionParts,
  { owner, id }: Which,
  work: (session: Session) => Promise<Publication>,
): Promise<Session> =>
  whileStale(async () => {
    const before = await requireConversation(needs, owner, id);
    const { lastTurnID: _, ...conversation } = before;
    let more: Publication = {};
    const change = async (session: Session): Promise<Session> => {
      const isBusy = session.awaitedCalls !== undefined || (await needs.store.owed(session.id)).length > 0;
      if (isBusy) throw turnRefusal('conversation_busy');
      more = joinPublications(await work(session), { changes: [{ kind: 'conversation', conversation, before }] });
      return session;
    };
    return needs.sessions.update(before.sessionID, change, (changed) => joinPublications(changed, more));
  });

/** Creates a conversation as an object of a client, with messages. */
export const createConversation = (
  needs: SessionParts,
  { owner, name, metadata, messages, directory }: NewConversation,
): Promise<Conversation> =>
  whileStale(async () => {
    const { store, ids, sessionLimitBytes: limitBytes } = needs;
    const taken = name === undefined ? undefined : await store.turns.conversationByName(owner, name);
    if (taken !== undefined) throw turnRefusal('name_taken');
    const session = withConversationName(needs.sessions.build({ directory }), { owner, name });
    await requireCapacity(store, { sessionID: session.id, limitBytes }, contentOf(messages));
    const conversation: Conversation = {
      ...{ id: ids('conversation'), owner, ...(name === undefined ? {} : { name }), sessionID: session.id },
      ...{ isOfClient: true, metadata, createdMs: needs.clock.now() },
    };
    const { changes = [] } = joinPublications(...imported(needs, session, messages).publications);
    const added: Publication = { changes: [...changes, { kind: 'conversation', conversation, before: undefined }] };
    await needs.publisher.publish(directory, joinPublications(sessionCreation(session), added));
    return conversation;
  });

/** Replaces the metadata of a conversation. */
export const changeConversation = (
  runtime: AgentRuntime,
  { owner, id }: Which,
  metadata: Conversation['metadata'],
): Promise<Conversation> =>
  whileStale(async () => {
    const before = await requireConversation(runtime, owner, id);
    const conversation = { ...before, metadata };
    await runtime.store.commit([{ kind: 'conversation', conversation, before }], []);
    return conversation;
  });

/** Stores further messages of a conversation, and returns their ids. */
export const addMessages = async (
  needs: SessionParts,
  which: Which,
  messages: readonly GivenMessage[],
): Promise<readonly string[]> => {
  const { store, sessionLimitBytes: limitBytes } = needs;
  let messageIDs: readonly string[] = [];
  await whileIdle(needs, which, async (session) => {
    const stored = await requireCapacity(store, { sessionID: session.id, limitBytes }, contentOf(messages));
    const made = imported(needs, session, messages, stored.at(-1)?.id);
    messageIDs = made.messageIDs;
    return joinPublications(...made.publications);
  });
  return messageIDs;
};

/** Removes a message that was added to a conversation. An answer to it stays. */
export const removeAddedMessage = async (needs: SessionParts, which: Which, messageID: string): Promise<void> => {
  const { store } = needs;
  await whileIdle(needs, which, async ({ id: sessionID }) => {
    const message = await store.message(sessionID, messageID);
    if (message === undefined) throw turnRefusal('message_not_found');
    const later = await store.messages(sessionID, { fromID: messageID });
    const answers = later.filter(({ info }) => info.role === 'assistant' && info.parentID === messageID);
    const isOfTurn = (await store.turns.ofPrompt(sessionID, messageID)).length > 0;
    if (isOfTurn || [message, ...answers].some(isOfAnswer)) throw turnRefusal('not_added');
    return answers.length === 0 ? messagesRemoval(sessionID, [messageID]) : partsRemoval(sessionID, message.parts);
  });
};
