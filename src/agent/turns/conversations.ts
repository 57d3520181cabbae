import { joinPublications, type Publication } from '../events/publisher.ts';
import { withConversationName } from '../protocol/conversation-name.ts';
import type { Conversation, GivenMessage, GivenPart } from '../protocol/turns.ts';
import type { Session } from '../protocol/types.ts';
import { responderFor } from '../session/prompt.ts';
import { messagesRemoval, partsRemoval } from '../session/revert.ts';
import { requireCapacity, sessionCreation } from '../session/sessions.ts';
import type { MessageWithParts, Store } from '../store/store.ts';
import type { ImportedMessages } from './history/import.ts';
import type { TurnNeeds } from './new-turn.ts';
import { whileStale } from './records.ts';
import { turnRefusal } from './refusals.ts';
import { deleteConversation } from './removal.ts';

type ConversationNeeds = Pick<
  TurnNeeds,
  'store' | 'publisher' | 'sessions' | 'catalog' | 'ids' | 'clock' | 'importMessages'
> & {
  /** Removes a session with those below it. */
  readonly removeFamily: (sessionID: string) => Promise<void>;
  /** The largest session that may grow further. */
  readonly sessionLimitBytes: number;
};

type NewConversation = {
  readonly owner: string;
  readonly name: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly messages: readonly GivenMessage[];
  readonly directory: string;
};

/** TurnConversations as objects that clients create, read, change and delete. */
export type TurnConversations = ReturnType<typeof createTurnConversations>;

/** The conversation of an owner; a refusal where there is none. */
const requireConversation = async (store: Pick<Store, 'turns'>, owner: string, id: string): Promise<Conversation> => {
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

/** The conversations of a server. */
export const createTurnConversations = (needs: ConversationNeeds) => {
  const { store, publisher, sessions, catalog, ids, clock, importMessages, sessionLimitBytes: limitBytes } = needs;
  const imported = (session: Session, messages: readonly GivenMessage[], lastID?: string): ImportedMessages => {
    const { agent, model } = responderFor(catalog, session, {});
    return importMessages(messages, { session, agent: agent.name, model, now: clock.now(), lastID });
  };
  /** Changes the messages of a conversation that is at rest. Of its history not all is known then. */
  const whileIdle = (owner: string, id: string, work: (session: Session) => Promise<Publication>): Promise<Session> =>
    whileStale(async () => {
      const before = await requireConversation(store, owner, id);
      const { lastTurnID: _, ...conversation } = before;
      let more: Publication = {};
      const change = async (session: Session): Promise<Session> => {
        const isBusy = session.awaitedCalls !== undefined || (await store.owed(session.id)).length > 0;
        if (isBusy) throw turnRefusal('conversation_busy');
        more = joinPublications(await work(session), { changes: [{ kind: 'conversation', conversation, before }] });
        return session;
      };
      return sessions.update(before.sessionID, change, (changed) => joinPublications(changed, more));
    });
  const changed = (owner: string, id: string, change: (before: Conversation) => Conversation): Promise<Conversation> =>
    whileStale(async () => {
      const before = await requireConversation(store, owner, id);
      const conversation = change(before);
      await store.commit([{ kind: 'conversation', conversation, before }], []);
      return conversation;
    });

  return {
    create: ({ owner, name, metadata, messages, directory }: NewConversation): Promise<Conversation> =>
      whileStale(async () => {
        const taken = name === undefined ? undefined : await store.turns.conversationByName(owner, name);
        if (taken !== undefined) throw turnRefusal('name_taken');
        const session = withConversationName(sessions.build({ directory }), { owner, name });
        await requireCapacity(store, { sessionID: session.id, limitBytes }, contentOf(messages));
        const conversation: Conversation = {
          ...{ id: ids('conversation'), owner, ...(name === undefined ? {} : { name }), sessionID: session.id },
          ...{ isOfClient: true, metadata, createdMs: clock.now() },
        };
        const { changes = [] } = joinPublications(...imported(session, messages).publications);
        const added: Publication = {
          changes: [...changes, { kind: 'conversation', conversation, before: undefined }],
        };
        await publisher.publish(directory, joinPublications(sessionCreation(session), added));
        return conversation;
      }),
    get: (owner: string, id: string) => requireConversation(store, owner, id),
    change: (owner: string, id: string, metadata: NewConversation['metadata']) =>
      changed(owner, id, (before) => ({ ...before, metadata })),
    async remove(owner: string, id: string): Promise<void> {
      await deleteConversation(needs, await requireConversation(store, owner, id));
    },
    /** Stores further messages, and returns their ids. */
    async add(owner: string, id: string, messages: readonly GivenMessage[]): Promise<readonly string[]> {
      let messageIDs: readonly string[] = [];
      await whileIdle(owner, id, async (session) => {
        const stored = await requireCapacity(store, { sessionID: session.id, limitBytes }, contentOf(messages));
        const made = imported(session, messages, stored.at(-1)?.id);
        messageIDs = made.messageIDs;
        return joinPublications(...made.publications);
      });
      return messageIDs;
    },
    /** Removes a message that was added. An answer to it stays. */
    async removeMessage(owner: string, id: string, messageID: string): Promise<void> {
      await whileIdle(owner, id, async ({ id: sessionID }) => {
        const message = await store.message(sessionID, messageID);
        if (message === undefined) throw turnRefusal('message_not_found');
        const later = await store.messages(sessionID, { fromID: messageID });
        const answers = later.filter(({ info }) => info.role === 'assistant' && info.parentID === messageID);
        const isOfTurn = (await store.turns.ofPrompt(sessionID, messageID)).length > 0;
        if (isOfTurn || [message, ...answers].some(isOfAnswer)) throw turnRefusal('not_added');
        return answers.length === 0 ? messagesRemoval(sessionID, [messageID]) : partsRemoval(sessionID, message.parts);
      });
    },
  };
};
