import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { createKeyedQueue } from '../../core/keyed-queue.ts';
import type { Log } from '../../core/log.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { AgentFeatures } from '../agent/features.ts';
import type { AgentClient, AgentEventStream } from '../agent/types.ts';
import { createConversationClaims } from './claims.ts';
import type { NewHash } from './digest.ts';
import { createConversationLocking } from './lock.ts';
import { createConversationIndex, createStoppedAnswers, type IndexLimits } from './lookup.ts';
import { createResolver } from './resolve.ts';
import { createLeftTurns } from './started/left.ts';
import { createRequestMarks } from './started/marks.ts';
import { type ChangeConversation, createBridgeID, createTurnReaders } from './started/readers.ts';
import { createStartedTurns } from './started/turns.ts';
import { type ClientConversations, createClientConversations } from './stored/created.ts';
import { createItemResponses } from './stored/item-response.ts';
import { createStoredResponses } from './stored/responses.ts';
import { createConversationSync } from './sync.ts';
import type { Conversations } from './types.ts';
import { createConversationWrites } from './writes.ts';

/** `limit` and `lifetimeMs` are about memory: at the agent all conversations stay. */
export type ConversationsNeeds = IndexLimits & {
  readonly agent: AgentClient;
  readonly feed: Pick<AgentEventStream, 'subscribe' | 'isOpen' | 'untilOpen'>;
  readonly features: Pick<AgentFeatures, 'takesPromptMetadata'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
  /** Returns twenty random letters and digits. */
  readonly newToken: () => string;
  /** `prefix`: a conversation without a name is also recognised by its whole history. */
  readonly matching: 'prefix' | 'named';
  /** How many requests may wait for the same conversation. */
  readonly queueLimit: number;
};

/** Turns of an agent take seconds to minutes. */
const TURN_RETRY_AFTER_MS = 5000;

const never = new AbortController().signal;

/**
 * The conversations of all clients. The truth is in the metadata of the agent's sessions, where any number of bridges read and
 * write it; what is here is an index of it, which follows the agent's events. What the index lacks is looked up. A bridge
 * that continues a conversation first writes that to the metadata, on top of the revision in its index: if that is old, the agent refuses.
 */
export const createConversations = (
  needs: ConversationsNeeds,
): Conversations & { readonly ofClients: ClientConversations } => {
  const { agent, feed, clock, log, newHash, runInSlices, newToken, matching, limit, lifetimeMs, queueLimit } = needs;
  const newName = () => `chat_${newToken()}`;
  const index = createConversationIndex(clock, newName, { limit, lifetimeMs });
  const writes = createConversationWrites({ agent, index, clock, log });
  const sync = createConversationSync({ agent, feed, index, writes, limit, lifetimeMs, clock, log });
  const stopped = createStoppedAnswers();
  const queue = createKeyedQueue({
    count: queueLimit,
    per: 'key',
    createError: () => new Fault({ kind: 'overloaded', retryAfterMs: TURN_RETRY_AFTER_MS }),
  });
  const ownTokens = new Set<string>();
  const claims = createConversationClaims({ agent, index, sync, writes, clock });
  const lock = createConversationLocking({
    ...{ agent, index, sync, writes, claims, ownTokens, stopped, newName, newHash, runInSlices },
    takesPromptMetadata: needs.features.takesPromptMetadata,
  });

  const marks = createRequestMarks({ agent, feed, clock });
  const bridgeID = createBridgeID(clock.now(), newToken());
  const change: ChangeConversation = async (sessionID, changeStored, base) => {
    // A write refuses what is old by itself, and is made again on top of what is stored then.
    if (base === 'latest') await sync.refresh(sessionID, never);
    const stored = index.bySession(sessionID);
    const changed = stored && changeStored(stored);
    if (changed === undefined) return stored;
    index.put(changed);
    await writes.write(changed, changeStored);
    return index.bySession(sessionID);
  };

  const readersOf = createTurnReaders({ bridgeID, change, known: index.bySession, marks, clock });

  const responseOfItem = createItemResponses({ agent, index, sync });

  return {
    responseOfItem,
    resolve: createResolver({
      ...{ agent, responseOfItem, index, sync, stopped, queue, lock, newHash, runInSlices, newName, matching },
    }),
    findStarted: createStartedTurns({
      agent,
      index,
      sync,
      marks,
      queue,
      lock,
      ownTokens,
      newHash,
      runInSlices,
      clock,
      readersOf,
      bridgeID,
    }),
    enterRace(owner, mark) {
      const tokensOf = () => marks.of({ owner, mark }).map(({ conversation }) => conversation.request.token);
      const before = new Set(tokensOf());
      return async (signal) => {
        await marks.untilSeen(mark.token, signal);
        const first = tokensOf().find((token) => !before.has(token));
        return first === undefined || first === mark.token;
      };
    },
    isLeftElsewhere: (owner, digest, times) =>
      marks.of({ owner, mark: { digest } }).some(({ conversation }) => {
        // What this bridge has written itself it knows before the event comes.
        const { request = conversation.request } = index.bySession(conversation.sessionID) ?? {};
        const leftAtMs = marks.times.leftAtOf(request);
        const isWaiting = leftAtMs !== undefined && clock.now() - leftAtMs < times.abortedAfterMs;
        const isOfMark = request.token === conversation.request.token;
        return isOfMark && isWaiting && request.left?.by !== bridgeID && !ownTokens.has(request.token);
      }),
    endLeft: createLeftTurns({ agent, marks, clock }),
    readersOf,
    bridgeID,
    ...createStoredResponses({ agent, index, sync, writes, queue, clock }),
    ofClients: createClientConversations({
      ...{ agent, index, sync, writes, queue, lock, newToken },
      nowSeconds: () => Math.floor(clock.now() / 1000),
    }),
    count: index.count,
  };
};
