import { untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { metadataRevision } from '../../core/http/metadata-revision.ts';
import type { Log } from '../../core/log.ts';
import { isNotFound, isTooMuchData, isTooSlow } from '../agent/errors.ts';
import { promptOfToken } from '../agent/prompt-token.ts';
import type { SessionRecord } from '../agent/schema.ts';
import type { AgentClient, AgentEventStream, AgentEventUpdate } from '../agent/types.ts';
import type { ConversationIndex } from './lookup.ts';
import {
  latestExchanges,
  promptIDsIn,
  readConversation,
  type StoredConversation,
  type StoredExchange,
} from './record.ts';
import { responseTokenOf } from './response-id.ts';
import { newestWithoutToken, promptIDsAfter } from './transcript.ts';
import { type ConversationWrites, withinLimit } from './writes.ts';

type Find<T> = () => T | undefined;

/** Keeps the index like the sessions of the agent, which other bridges change too. */
export type ConversationSync = {
  /**
   * Resolves once the index holds the conversations of the agent, or the latest ones if it cannot list all of them at once,
   * and no event was lost since. Rejects when that fails; the next call tries again.
   */
  readonly load: (signal: AbortSignal) => Promise<void>;
  /** How many looks at the agent have begun. */
  readonly looks: () => number;
  /** Resolves once the index holds what bridges had written when that number of looks had begun, events or not. */
  readonly lookAfter: (looks: number, signal: AbortSignal) => Promise<void>;
  /** Reads one conversation from the agent, if there is such a session. */
  readonly refresh: (sessionID: string, signal: AbortSignal) => Promise<void>;
  /**
   * Calls `find` until it returns a conversation that is up to date. Something may have happened in a session that the bridge
   * did not see, such as the turn during which an earlier process ended. Then no client knows the whole history.
   */
  readonly findUpToDate: <T extends { readonly conversation: StoredConversation }>(
    find: Find<T>,
    signal: AbortSignal,
  ) => Promise<T | undefined>;
};

type ConversationSyncNeeds = {
  readonly agent: Pick<AgentClient, 'session' | 'sessions' | 'messages'>;
  readonly feed: Pick<AgentEventStream, 'subscribe' | 'isOpen' | 'untilOpen'>;
  readonly index: ConversationIndex;
  readonly writes: Pick<ConversationWrites, 'isWriting'>;
  /** How many conversations to read, and how long after their last use. */
  readonly limit: number;
  readonly lifetimeMs: number;
  readonly clock: Clock;
  readonly log: Log;
};

const LOAD_LIMIT_MS = 45_000;
/** An agent that cannot list this few sessions is not usable. */
const FEWEST_LOADED = 100;
/** A session may become visible later than its time says: clocks of several servers differ, and a commit takes its time. */
const LOOK_BACK_MS = 5000;
/** Equal to no hash, so that no client's history matches. */
const UNKNOWN_HEAD = '?';

/**
 * The exchange of a prompt that this bridge has not seen. That of a response in the background keeps its id: its client looks at
 * it also after the bridge has ended that began it.
 */
const leftExchange = (
  { request, exchanges }: StoredConversation,
  promptID: string,
  requestPromptID: string | undefined,
): StoredExchange => {
  const isOfRequest = (request?.promptID ?? requestPromptID) === promptID;
  if (request?.isBackground !== true || !isOfRequest) return { token: '', promptID };
  const token = responseTokenOf(request.token);
  return exchanges.some((known) => known.token === token)
    ? { token: '', promptID }
    : { token, promptID, isBackground: true };
};

export const createConversationSync = (needs: ConversationSyncNeeds): ConversationSync => {
  const { agent, feed, index, writes, limit, lifetimeMs, clock, log } = needs;
  /** The latest time of an update up to which all sessions are known. Undefined before the first look. */
  let knownUntilMs: number | undefined;
  let begun = 0;
  let completed = 0;
  /** The look from which on no event was lost. */
  let firstComplete = 1;
  let running: Promise<void> | undefined;

  /** Whether a session holds something newer than the index. What is being written here is newer than what is read. */
  const isNews = ({ id, parentID, metadata }: SessionRecord): boolean =>
    parentID === undefined &&
    !writes.isWriting(id) &&
    metadataRevision(metadata) > (index.bySession(id)?.revision ?? -1);
  /** The conversation as another bridge has just written it; it has seen all that happened before, unless it still answers. */
  const readWritten = (session: SessionRecord, isNew = false): StoredConversation | undefined => {
    const conversation = readConversation(session);
    const isWritten = isNew || index.bySession(session.id) !== undefined;
    return (
      conversation && {
        ...conversation,
        usedAt: clock.now(),
        isUpToDate: isWritten && conversation.claim === undefined && conversation.isUnsure !== true,
      }
    );
  };
  const adoptNews = (session: SessionRecord, isNew = false): void => {
    const conversation = isNews(session) ? readWritten(session, isNew) : undefined;
    if (conversation !== undefined) index.adopt(conversation);
  };
  const onUpdate = (update: AgentEventUpdate): void => {
    if (update.kind === 'gap') {
      firstComplete = begun + 1;
      return;
    }
    const { event } = update;
    switch (event.type) {
      case 'session.created':
      case 'session.updated':
        adoptNews(event.properties.info, event.type === 'session.created');
        if (knownUntilMs !== undefined && completed >= firstComplete)
          knownUntilMs = Math.max(knownUntilMs, event.properties.info.time.updated);
        return;
      case 'session.deleted':
        index.remove(event.properties.info.id);
        return;
      default:
    }
  };
  feed.subscribe(onUpdate);

  /** The latest sessions, as many as the agent can list. Steps are long after a slow answer, because each is waited for. */
  const readLatestSessions = async (count: number, signal: AbortSignal): Promise<readonly SessionRecord[]> => {
    const sinceMs = knownUntilMs === undefined ? undefined : Math.max(0, knownUntilMs - LOOK_BACK_MS);
    try {
      return await agent.sessions(count, signal, sinceMs);
    } catch (error) {
      if (signal.aborted || count <= FEWEST_LOADED || !isTooMuchData(error)) throw error;
      const fewer = Math.floor(count / (isTooSlow(error) ? 10 : 2));
      return readLatestSessions(Math.max(FEWEST_LOADED, fewer), signal);
    }
  };
  const look = async (): Promise<void> => {
    begun += 1;
    const number = begun;
    const isFirst = knownUntilMs === undefined;
    const isFollowed = feed.isOpen();
    const sessions = await withinLimit(clock, LOAD_LIMIT_MS, (signal) => readLatestSessions(limit, signal));
    const latestLast = sessions.filter(({ time }) => clock.now() - time.updated < lifetimeMs).toReversed();
    if (isFirst) index.adoptOlder(latestLast.filter(isNews).flatMap((session) => readConversation(session) ?? []));
    else for (const session of latestLast) adoptNews(session);
    knownUntilMs = Math.max(knownUntilMs ?? 0, ...sessions.slice(0, 1).map(({ time }) => time.updated));
    completed = number;
    if (!isFollowed) firstComplete = Math.max(firstComplete, number + 1);
    if (isFirst) log('info', 'conversations-known', { count: index.count() });
  };
  const untilLook = async (number: number, signal: AbortSignal): Promise<void> => {
    while (completed < number) {
      running ??= look().finally(() => {
        running = undefined;
      });
      await untilAborted(running, signal);
    }
  };

  const never = new AbortController().signal;
  // What has failed is tried again by the first request that searches.
  feed.untilOpen(never).then(
    () => untilLook(1, never).catch(() => {}),
    () => {},
  );

  const bringUpToDate = async (conversation: StoredConversation, signal: AbortSignal): Promise<void> => {
    const { sessionID } = conversation;
    const isUnchanged = () => index.bySession(sessionID) === conversation;
    try {
      const records = await agent.messages(sessionID, signal);
      const known = promptIDsIn(conversation);
      const unseen = promptIDsAfter(records, known);
      if (!isUnchanged()) return;
      const ofRequest = promptOfToken(records, conversation.request?.token) ?? newestWithoutToken(records, known);
      if (unseen.length === 0) index.put({ ...conversation, isUpToDate: true });
      else
        index.put({
          ...conversation,
          exchanges: latestExchanges([
            ...conversation.exchanges,
            ...unseen.map((promptID) => leftExchange(conversation, promptID, ofRequest)),
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
    load: (signal) => untilLook(firstComplete, signal),
    looks: () => begun,
    lookAfter: (looks, signal) => untilLook(looks + 1, signal),
    async refresh(sessionID, signal) {
      try {
        adoptNews(await agent.session(sessionID, signal));
      } catch (error) {
        if (!isNotFound(error)) throw error;
        index.remove(sessionID);
      }
    },
    async findUpToDate(find, signal) {
      let found = find();
      while (found !== undefined && !found.conversation.isUpToDate) {
        await bringUpToDate(found.conversation, signal);
        found = find();
      }
      return found;
    },
  };
};
