import type { Clock } from '../../core/clock.ts';
import { normalizeMessages } from './fingerprint.ts';
import type { StoredConversation } from './record.ts';

/** The conversations that are remembered. What is dropped here is still at the agent. */
export type ConversationIndex = {
  /** Remembers one, or what has become of it. Another one that has its name so far gets a new name. */
  readonly put: (kept: StoredConversation) => void;
  /** The same for one that was found at the agent: of two with one name the older gets a new one. */
  readonly adopt: (kept: StoredConversation) => void;
  readonly remove: (sessionID: string) => void;
  readonly bySession: (sessionID: string) => StoredConversation | undefined;
  readonly byName: (owner: string, name: string) => StoredConversation | undefined;
  readonly byHead: (owner: string, head: string) => readonly StoredConversation[];
  /** Drops those that nobody has used for a lifetime. */
  readonly dropOld: () => void;
  readonly count: () => number;
};

export type ConversationIndexNeeds = {
  readonly limit: number;
  readonly lifetimeMs: number;
  readonly clock: Clock;
  readonly newName: () => string;
};

/** No owner has a line break in it. */
const keyOf = (owner: string, word: string): string => `${owner}\n${word}`;

export const createConversationIndex = (needs: ConversationIndexNeeds): ConversationIndex => {
  const { limit, lifetimeMs, clock, newName } = needs;
  /** The one that was used longest ago comes first. */
  const sessions = new Map<string, StoredConversation>();
  const names = new Map<string, string>();
  const heads = new Map<string, Set<string>>();

  const bySession = (sessionID: string) => sessions.get(sessionID);
  const byName = (owner: string, name: string) => bySession(names.get(keyOf(owner, name)) ?? '');
  const nameIt = (kept: StoredConversation): void => {
    sessions.set(kept.sessionID, kept);
    names.set(keyOf(kept.owner, kept.name), kept.sessionID);
  };
  const rename = (kept: StoredConversation): void => nameIt({ ...kept, name: newName() });
  const remove = (sessionID: string): void => {
    const kept = sessions.get(sessionID);
    if (kept === undefined) return;
    const headKey = keyOf(kept.owner, kept.fingerprint.head);
    sessions.delete(sessionID);
    names.delete(keyOf(kept.owner, kept.name));
    heads.get(headKey)?.delete(sessionID);
    if (heads.get(headKey)?.size === 0) heads.delete(headKey);
  };
  const enter = (kept: StoredConversation, keepsName: (other: StoredConversation) => boolean): void => {
    remove(kept.sessionID);
    const headKey = keyOf(kept.owner, kept.fingerprint.head);
    heads.set(headKey, (heads.get(headKey) ?? new Set()).add(kept.sessionID));
    const other = byName(kept.owner, kept.name);
    if (other !== undefined && keepsName(other)) rename(kept);
    else {
      if (other !== undefined) rename(other);
      nameIt(kept);
    }
    const [oldest] = sessions.keys();
    if (sessions.size > limit && oldest !== undefined) remove(oldest);
  };

  return {
    put: (kept) => enter({ ...kept, usedAt: clock.now() }, () => false),
    adopt: (kept) => enter(kept, ({ createdAt }) => createdAt > kept.createdAt),
    remove,
    bySession,
    byName,
    byHead: (owner, head) => [...(heads.get(keyOf(owner, head)) ?? [])].flatMap((id) => bySession(id) ?? []),
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

/** What clients were told in answers that they did not stay for. Only the latest few, and of each only the beginning. */
export type StoppedAnswers = {
  readonly set: (sessionID: string, told: string | undefined) => void;
  readonly get: (sessionID: string) => string | undefined;
};

const CHARS_EACH = 64 * 1024;
const KEPT = 200;

export const createStoppedAnswers = (): StoppedAnswers => {
  const answers = new Map<string, string>();
  return {
    set(sessionID, told) {
      answers.delete(sessionID);
      if (told === undefined) return;
      const [entry] = normalizeMessages([{ role: 'assistant', text: told }]);
      answers.set(sessionID, entry?.text.slice(0, CHARS_EACH) ?? '');
      const [oldest] = answers.keys();
      if (answers.size > KEPT && oldest !== undefined) answers.delete(oldest);
    },
    get: (sessionID) => answers.get(sessionID),
  };
};
