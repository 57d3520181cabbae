import { setNewest } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';
import type { StoredConversation } from './record.ts';
import type { Owner, RequestMark } from './types.ts';

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
  /** Those whose last request has the same key, or without one the same digest, in any order. */
  readonly byRequest: (identity: MarkIdentity) => readonly StoredConversation[];
  /** Drops those that were not used for `lifetimeMs`. */
  readonly dropOld: () => void;
  readonly count: () => number;
};

/** How many conversations stay in memory, and for how long while they are not used. */
export type IndexLimits = { readonly limit: number; readonly lifetimeMs: number };

/** What a request is recognised by when it is sent again. */
export type MarkIdentity = { readonly owner: string; readonly mark: Pick<RequestMark, 'digest' | 'keyDigest'> };

/** No owner has a line break in it. */
const keyOf = (owner: string, word: string): string => `${owner}\n${word}`;

/** The same for a request and for those that may be the same one sent again. */
export const requestKeyOf = ({ owner, mark }: MarkIdentity): string =>
  keyOf(owner, mark.keyDigest === undefined ? `digest ${mark.digest}` : `key ${mark.keyDigest}`);

/** Ids of sessions by something that several may have in common. */
const createGroups = () => {
  const groups = new Map<string, Set<string>>();
  return {
    add: (key: string, sessionID: string): void => {
      groups.set(key, (groups.get(key) ?? new Set()).add(sessionID));
    },
    remove(key: string, sessionID: string): void {
      const group = groups.get(key);
      group?.delete(sessionID);
      if (group?.size === 0) groups.delete(key);
    },
    of: (key: string): readonly string[] => [...(groups.get(key) ?? [])],
  };
};

export const createConversationIndex = (
  clock: Clock,
  newName: () => string,
  { limit, lifetimeMs }: IndexLimits,
): ConversationIndex => {
  /** The least recently used one comes first. */
  const sessions = new Map<string, StoredConversation>();
  const names = new Map<string, string>();
  const heads = createGroups();
  const requests = createGroups();

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
    const { owner, name, fingerprint, request } = conversation;
    sessions.delete(sessionID);
    names.delete(keyOf(owner, name));
    heads.remove(keyOf(owner, fingerprint.head), sessionID);
    if (request !== undefined) requests.remove(requestKeyOf({ owner, mark: request }), sessionID);
  };
  const add = (conversation: StoredConversation, keepsName: (other: StoredConversation) => boolean): void => {
    const { sessionID, owner, name, fingerprint, request } = conversation;
    remove(sessionID);
    heads.add(keyOf(owner, fingerprint.head), sessionID);
    if (request !== undefined) requests.add(requestKeyOf({ owner, mark: request }), sessionID);
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
    byHead: (owner, head) => heads.of(keyOf(owner, head)).flatMap((id) => bySession(id) ?? []),
    byRequest: (identity) => requests.of(requestKeyOf(identity)).flatMap((id) => bySession(id) ?? []),
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

/** The key of a conversation's queue. No owner has a line break in it. */
export const queueKeyOf = ({ owner, name }: { readonly owner: Owner; readonly name: string }): string =>
  `${owner}\n${name}`;
