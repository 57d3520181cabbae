import { setNewest } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';
import type { StoredConversation } from './record.ts';

/** The conversations in memory. One that is dropped here is still stored at the agent. */
export type ConversationIndex = {
  /** Adds or replaces a conversation. Another one that has its name so far gets a new name. */
  readonly put: (conversation: StoredConversation) => void;
  /** Adds a conversation that was read from the agent. Of two with one name the older gets a new name, or one without exchanges. */
  readonly adopt: (conversation: StoredConversation) => void;
  /** Adds conversations that were used before all others, the least recently used first, as far as there is room. */
  readonly adoptOlder: (conversations: readonly StoredConversation[]) => void;
  readonly remove: (sessionID: string) => void;
  readonly bySession: (sessionID: string) => StoredConversation | undefined;
  readonly byName: (owner: string, name: string) => StoredConversation | undefined;
  /** Those whose history has this head. */
  readonly byHead: (owner: string, head: string) => readonly StoredConversation[];
  /** The latest of an owner that meets a condition. */
  readonly find: (
    owner: string,
    isMeant: (conversation: StoredConversation) => boolean,
  ) => StoredConversation | undefined;
  /** Drops those that were not used for `lifetimeMs`. */
  readonly dropOld: () => void;
  readonly count: () => number;
};

/** How many conversations stay in memory, and for how long while they are not used. */
export type IndexLimits = { readonly limit: number; readonly lifetimeMs: number };

/** No owner has a line break in it. */
const keyOf = (owner: string, word: string): string => `${owner}\n${word}`;

export const createConversationIndex = (
  clock: Clock,
  newName: () => string,
  { limit, lifetimeMs }: IndexLimits,
): ConversationIndex => {
  /** The least recently used one comes first. */
  const sessions = new Map<string, StoredConversation>();
  const names = new Map<string, string>();
  const heads = new Map<string, Set<string>>();

  const bySession = (sessionID: string) => sessions.get(sessionID);
  const byName = (owner: string, name: string) => bySession(names.get(keyOf(owner, name)) ?? '');
  const setNamed = (conversation: StoredConversation): void => {
    sessions.set(conversation.sessionID, conversation);
    names.set(keyOf(conversation.owner, conversation.name), conversation.sessionID);
  };
  const setRenamed = (conversation: StoredConversation): void => setNamed({ ...conversation, name: newName() });
  const remove = (sessionID: string): void => {
    const conversation = sessions.get(sessionID);
    if (conversation === undefined) return;
    const { owner, name, fingerprint } = conversation;
    const headKey = keyOf(owner, fingerprint.head);
    sessions.delete(sessionID);
    names.delete(keyOf(owner, name));
    heads.get(headKey)?.delete(sessionID);
    if (heads.get(headKey)?.size === 0) heads.delete(headKey);
  };
  const add = (conversation: StoredConversation, keepsName: (other: StoredConversation) => boolean): void => {
    const { sessionID, owner, name, fingerprint } = conversation;
    remove(sessionID);
    const headKey = keyOf(owner, fingerprint.head);
    heads.set(headKey, (heads.get(headKey) ?? new Set()).add(sessionID));
    const other = byName(owner, name);
    if (other !== undefined && keepsName(other)) setRenamed(conversation);
    else {
      if (other !== undefined) setRenamed(other);
      setNamed(conversation);
    }
    const [oldest] = sessions.keys();
    if (sessions.size > limit && oldest !== undefined) remove(oldest);
  };

  /** Until its first exchange a session may come to nothing, and then its name stays with the one before. */
  const hasBegun = ({ exchanges }: StoredConversation): boolean => exchanges.length > 0;
  /** Ids of sessions that were created later sort before. */
  const isOlder = (one: StoredConversation, other: StoredConversation): boolean =>
    one.createdAt === other.createdAt ? one.sessionID > other.sessionID : one.createdAt < other.createdAt;
  /** Of two that have begun the newer has the name; of two that have not, the one that all bridges wait for: the older. */
  const keepsName = (other: StoredConversation, conversation: StoredConversation): boolean => {
    if (hasBegun(other) !== hasBegun(conversation)) return hasBegun(other);
    return hasBegun(other) ? other.createdAt > conversation.createdAt : isOlder(other, conversation);
  };
  const adopt = (conversation: StoredConversation): void =>
    add(conversation, (other) => keepsName(other, conversation));

  return {
    put: (conversation) => add({ ...conversation, usedAt: clock.now() }, () => false),
    adopt,
    adoptOlder(conversations) {
      const later = [...sessions.keys()];
      const room = Math.max(0, limit - later.length);
      for (const conversation of conversations.slice(Math.max(0, conversations.length - room))) adopt(conversation);
      for (const sessionID of later) {
        const conversation = sessions.get(sessionID);
        sessions.delete(sessionID);
        if (conversation !== undefined) sessions.set(sessionID, conversation);
      }
    },
    remove,
    bySession,
    byName,
    byHead: (owner, head) => [...(heads.get(keyOf(owner, head)) ?? [])].flatMap((id) => bySession(id) ?? []),
    find: (owner, isMeant) =>
      [...sessions.values()].findLast((conversation) => conversation.owner === owner && isMeant(conversation)),
    dropOld() {
      const before = clock.now() - lifetimeMs;
      for (const { sessionID, usedAt } of sessions.values()) {
        if (usedAt >= before) return;
        remove(sessionID);
      }
    },
    count: () => sessions.size,
  };
};

/** An answer during which the client disconnected. `stoppedAt` tells it from others of the session. */
type StoppedAnswer = Pick<StoredConversation, 'sessionID' | 'stoppedAt'>;
/** Answers during which the client disconnected: only the latest few, and of each only the beginning. */
export type StoppedAnswers = {
  /** The text as `normalizeMessages` makes it. */
  readonly set: (answer: StoppedAnswer, answerText: string) => void;
  readonly get: (answer: StoppedAnswer) => string | undefined;
};

const CHARS_EACH = 64 * 1024;
const STOPPED_LIMIT = 200;

export const createStoppedAnswers = (): StoppedAnswers => {
  const answers = new Map<string, string>();
  const answerKeyOf = ({ sessionID, stoppedAt = '' }: StoppedAnswer): string => `${sessionID}\n${stoppedAt}`;
  return {
    set: (answer, answerText) =>
      void setNewest(answers, [answerKeyOf(answer), answerText.slice(0, CHARS_EACH)], STOPPED_LIMIT),
    get: (answer) => answers.get(answerKeyOf(answer)),
  };
};
