import { createDeadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { isNotFound, isTooMuch, isTooSlow } from '../agent/errors.ts';
import type { SessionRecord } from '../agent/schema.ts';
import type { AgentClient } from '../agent/types.ts';
import type { ConversationIndex } from './lookup.ts';
import {
  latestExchanges,
  promptIDsIn,
  readConversation,
  type StoredConversation,
  toSessionMetadata,
} from './record.ts';
import { promptIDsAfter } from './transcript.ts';

/** Brings conversations from the agent and back to it. */
export type ConversationSync = {
  /**
   * Reads all conversations once, or the latest ones where all are too many for the agent to tell at once. A failure is the
   * caller's, and the next one tries again.
   */
  readonly load: (signal: AbortSignal) => Promise<void>;
  /** Makes a conversation known that is at the agent and may not be remembered. */
  readonly loadSession: (sessionID: string, signal: AbortSignal) => Promise<void>;
  /**
   * Looks for a conversation until it is one of which all is known. Something may have happened in its session that we did not
   * see, such as the turn during which a bridge before this one ended: then no history that a client tells is all of it.
   */
  readonly findUpToDate: <T extends { readonly conversation: StoredConversation }>(
    find: Find<T>,
    signal: AbortSignal,
  ) => Promise<T | undefined>;
  /** Keeps at the agent what is remembered of a conversation, writes of one in order. A failure is logged, too. */
  readonly write: (kept: StoredConversation) => Promise<void>;
  /** Deletes a session that nobody can know. Never throws. */
  readonly discard: (sessionID: string) => void;
};

type Find<T> = () => T | undefined;

export type ConversationSyncNeeds = {
  readonly agent: AgentClient;
  readonly index: ConversationIndex;
  readonly limit: number;
  readonly clock: Clock;
  readonly log: Log;
};

const LOAD_LIMIT_MS = 45_000;
/** Whoever cannot tell of so few is not to be talked to. */
const FEWEST_LOADED = 100;
const WRITE_LIMIT_MS = 10_000;
/** Equal to no hash, so that no history is ever found to be this one. */
const UNKNOWN_HEAD = '?';

export const createConversationSync = (needs: ConversationSyncNeeds): ConversationSync => {
  const { agent, index, limit, clock, log } = needs;
  const writes = new Map<string, Promise<void>>();
  let loading: Promise<void> | undefined;

  const within = async <T>(limitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const { signal, clear } = createDeadline(clock, limitMs);
    try {
      return await untilAborted(work(signal), signal);
    } finally {
      clear();
    }
  };
  const complain = (event: string, session: string) => (error: unknown) =>
    log('warn', event, { session, reason: error instanceof Fault ? error.detail.kind : 'bug' });

  /** The latest sessions, as many as the agent can tell of. Slow answers are waited for, so there the steps are long. */
  const latestSessions = async (count: number, signal: AbortSignal): Promise<readonly SessionRecord[]> => {
    try {
      return await agent.sessions(count, signal);
    } catch (error) {
      if (signal.aborted || count <= FEWEST_LOADED || !isTooMuch(error)) throw error;
      const fewer = Math.floor(count / (isTooSlow(error) ? 10 : 2));
      return latestSessions(Math.max(FEWEST_LOADED, fewer), signal);
    }
  };
  const readAll = async (): Promise<void> => {
    const sessions = await within(LOAD_LIMIT_MS, (signal) => latestSessions(limit, signal));
    const latestLast = sessions.toReversed();
    for (const kept of latestLast.flatMap((session) => readConversation(session) ?? [])) index.adopt(kept);
    log('info', 'conversations-known', { count: index.count() });
  };
  const write = async (kept: StoredConversation): Promise<void> => {
    const { sessionID } = kept;
    try {
      await within(WRITE_LIMIT_MS, (signal) => agent.setMetadata(sessionID, toSessionMetadata(kept), signal));
    } catch (error) {
      if (isNotFound(error)) index.remove(sessionID);
      complain('conversation-not-kept', sessionID)(error);
      throw error;
    }
  };
  const makeSure = async (kept: StoredConversation, signal: AbortSignal): Promise<void> => {
    const { sessionID } = kept;
    const isStill = () => index.bySession(sessionID) === kept;
    try {
      const unseen = promptIDsAfter(await agent.messages(sessionID, signal), promptIDsIn(kept));
      if (!isStill()) return;
      const more = unseen.map((promptID) => ({ token: '', promptID }));
      const exchanges = latestExchanges([...kept.exchanges, ...more]);
      const fingerprint = { ...kept.fingerprint, head: UNKNOWN_HEAD };
      const afterUnseen = { exchanges, fingerprint, tail: [], stoppedAt: undefined };
      index.put({ ...kept, ...(unseen.length === 0 ? {} : afterUnseen), isUpToDate: true });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (isStill()) index.remove(sessionID);
    }
  };

  return {
    load(signal) {
      loading ??= readAll().catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      return untilAborted(loading, signal);
    },
    async loadSession(sessionID, signal) {
      if (index.bySession(sessionID) !== undefined) return;
      let session: SessionRecord;
      try {
        session = await agent.session(sessionID, signal);
      } catch (error) {
        if (isNotFound(error)) return;
        throw error;
      }
      const kept = readConversation(session);
      if (kept === undefined || index.bySession(sessionID) !== undefined) return;
      index.adopt({ ...kept, usedAt: clock.now() });
    },
    async findUpToDate(find, signal) {
      let found = find();
      while (found !== undefined && !found.conversation.isUpToDate) {
        await makeSure(found.conversation, signal);
        found = find();
      }
      return found;
    },
    write(kept) {
      const { sessionID } = kept;
      const done = (writes.get(sessionID) ?? Promise.resolve()).then(() => write(kept));
      const settled = done
        .catch(() => {})
        .then(() => {
          if (writes.get(sessionID) === settled) writes.delete(sessionID);
        });
      writes.set(sessionID, settled);
      return done;
    },
    discard(sessionID) {
      const deleting = within(WRITE_LIMIT_MS, (signal) => agent.deleteSession(sessionID, signal));
      deleting.catch((error: unknown) => {
        if (!isNotFound(error)) complain('session-not-deleted', sessionID)(error);
      });
    },
  };
};
