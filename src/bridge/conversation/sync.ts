import { createDeadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { isNotFound, isTooMuchData, isTooSlow } from '../agent/errors.ts';
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

type Find<T> = () => T | undefined;

/** Reads conversations from the agent, and stores them there. */
export type ConversationSync = {
  /**
   * Reads all conversations once, or the latest ones if the agent cannot list all of them at once. Rejects when that fails;
   * the next call tries again.
   */
  readonly load: (signal: AbortSignal) => Promise<void>;
  /** Reads one conversation that may be at the agent but not in memory. */
  readonly loadSession: (sessionID: string, signal: AbortSignal) => Promise<void>;
  /**
   * Calls `find` until it returns a conversation that is up to date. Something may have happened in a session that the bridge
   * did not see, such as the turn during which an earlier process ended. Then no client knows the whole history.
   */
  readonly findUpToDate: <T extends { readonly conversation: StoredConversation }>(
    find: Find<T>,
    signal: AbortSignal,
  ) => Promise<T | undefined>;
  /** Stores a conversation at the agent; writes of one conversation run in order. A failure is logged, and rejects. */
  readonly write: (conversation: StoredConversation) => Promise<void>;
  /** Deletes a session that no client knows. Never throws. */
  readonly discard: (sessionID: string) => void;
};

type ConversationSyncNeeds = {
  readonly agent: Pick<AgentClient, 'session' | 'sessions' | 'messages' | 'setMetadata' | 'deleteSession'>;
  readonly index: ConversationIndex;
  /** How many conversations to read. */
  readonly limit: number;
  readonly clock: Clock;
  readonly log: Log;
};

const LOAD_LIMIT_MS = 45_000;
/** An agent that cannot list this few sessions is not usable. */
const FEWEST_LOADED = 100;
const WRITE_LIMIT_MS = 10_000;
/** Equal to no hash, so that no client's history matches. */
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
  const logFailure = (event: string, session: string, error: unknown): void =>
    log('warn', event, { session, reason: error instanceof Fault ? error.detail.kind : 'bug' });

  /** The latest sessions, as many as the agent can list. Steps are long after a slow answer, because each is waited for. */
  const readLatestSessions = async (count: number, signal: AbortSignal): Promise<readonly SessionRecord[]> => {
    try {
      return await agent.sessions(count, signal);
    } catch (error) {
      if (signal.aborted || count <= FEWEST_LOADED || !isTooMuchData(error)) throw error;
      const fewer = Math.floor(count / (isTooSlow(error) ? 10 : 2));
      return readLatestSessions(Math.max(FEWEST_LOADED, fewer), signal);
    }
  };
  const loadAll = async (): Promise<void> => {
    const sessions = await within(LOAD_LIMIT_MS, (signal) => readLatestSessions(limit, signal));
    const latestLast = sessions.toReversed();
    for (const conversation of latestLast.flatMap((session) => readConversation(session) ?? []))
      index.adopt(conversation);
    log('info', 'conversations-known', { count: index.count() });
  };
  const writeNow = async (conversation: StoredConversation): Promise<void> => {
    const { sessionID } = conversation;
    const metadata = toSessionMetadata(conversation);
    try {
      await within(WRITE_LIMIT_MS, (signal) => agent.setMetadata(sessionID, metadata, signal));
    } catch (error) {
      if (isNotFound(error)) index.remove(sessionID);
      logFailure('conversation-not-kept', sessionID, error);
      throw error;
    }
  };
  const bringUpToDate = async (conversation: StoredConversation, signal: AbortSignal): Promise<void> => {
    const { sessionID } = conversation;
    const isUnchanged = () => index.bySession(sessionID) === conversation;
    try {
      const unseen = promptIDsAfter(await agent.messages(sessionID, signal), promptIDsIn(conversation));
      if (!isUnchanged()) return;
      if (unseen.length === 0) index.put({ ...conversation, isUpToDate: true });
      else
        index.put({
          ...conversation,
          exchanges: latestExchanges([
            ...conversation.exchanges,
            ...unseen.map((promptID) => ({ token: '', promptID })),
          ]),
          fingerprint: { ...conversation.fingerprint, head: UNKNOWN_HEAD },
          tail: [],
          stoppedAt: undefined,
          isUpToDate: true,
        });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (isUnchanged()) index.remove(sessionID);
    }
  };

  return {
    load(signal) {
      loading ??= loadAll().catch((error: unknown) => {
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
      const conversation = readConversation(session);
      if (conversation === undefined || index.bySession(sessionID) !== undefined) return;
      index.adopt({ ...conversation, usedAt: clock.now() });
    },
    async findUpToDate(find, signal) {
      let found = find();
      while (found !== undefined && !found.conversation.isUpToDate) {
        await bringUpToDate(found.conversation, signal);
        found = find();
      }
      return found;
    },
    write(conversation) {
      const { sessionID } = conversation;
      const written = (writes.get(sessionID) ?? Promise.resolve()).then(() => writeNow(conversation));
      const settled = written
        .catch(() => {})
        .then(() => {
          if (writes.get(sessionID) === settled) writes.delete(sessionID);
        });
      writes.set(sessionID, settled);
      return written;
    },
    discard(sessionID) {
      const deleting = within(WRITE_LIMIT_MS, (signal) => agent.deleteSession(sessionID, signal));
      deleting.catch((error: unknown) => {
        if (!isNotFound(error)) logFailure('session-not-deleted', sessionID, error);
      });
    },
  };
};
