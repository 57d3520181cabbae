import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { createKeyedQueue } from '../../core/keyed-queue.ts';
import type { Log } from '../../core/log.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import { isNotFound } from '../agent/errors.ts';
import type { AgentClient, AgentEventStream } from '../agent/types.ts';
import { createConversationClaims } from './claims.ts';
import type { NewHash } from './digest.ts';
import { createConversationLocking } from './lock.ts';
import { createConversationIndex, createStoppedAnswers, type IndexLimits } from './lookup.ts';
import type { StoredConversation, StoredExchange } from './record.ts';
import { createResolver, queueKeyOf } from './resolve.ts';
import { readResponseID } from './response-id.ts';
import { createLeftTurns } from './started/left.ts';
import { createRequestMarks } from './started/marks.ts';
import { type ChangeConversation, createBridgeID, createTurnReaders } from './started/readers.ts';
import { createStartedTurns } from './started/turns.ts';
import { createConversationSync } from './sync.ts';
import type { Conversations, Owner } from './types.ts';
import { createConversationWrites } from './writes.ts';

/** `limit` and `lifetimeMs` are about memory: at the agent all conversations stay. */
export type ConversationsNeeds = IndexLimits & {
  readonly agent: AgentClient;
  readonly feed: Pick<AgentEventStream, 'subscribe' | 'isOpen' | 'untilOpen'>;
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

/** What the agent has lost needs no deletion. */
const ignoreNotFound = (error: unknown): void => {
  if (!isNotFound(error)) throw error;
};

/** Turns of an agent take seconds to minutes. */
const TURN_RETRY_AFTER_MS = 5000;

const never = new AbortController().signal;

type Found = { readonly conversation: StoredConversation; readonly exchange: StoredExchange };

/**
 * The conversations of all clients. The truth is in the metadata of the agent's sessions, where any number of bridges read and
 * write it; what is here is an index of it, which follows the agent's events. What the index lacks is looked up, and whoever
 * continues a conversation writes that down first, on top of what the index holds: if that is old, the agent refuses.
 */
export const createConversations = (needs: ConversationsNeeds): Conversations => {
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
  });

  const marks = createRequestMarks({ agent, feed, clock });
  const bridgeID = createBridgeID(clock.now(), newToken());
  const change: ChangeConversation = async (sessionID, changeStored) => {
    await sync.refresh(sessionID, never);
    const stored = index.bySession(sessionID);
    const changed = stored && changeStored(stored);
    if (changed === undefined) return stored;
    index.put(changed);
    await writes.write(changed, changeStored);
    return index.bySession(sessionID);
  };

  const readersOf = createTurnReaders({ bridgeID, change, marks, clock });

  const find = async (responseID: string, owner: Owner, signal: AbortSignal): Promise<Found | undefined> => {
    const location = readResponseID(responseID);
    if (location === undefined) return undefined;
    const { sessionID, token: wanted } = location;
    const exchangeIn = (found: StoredConversation | undefined) =>
      found?.exchanges.find(({ token }) => token === wanted);
    if (exchangeIn(index.bySession(sessionID)) === undefined) await sync.refresh(sessionID, signal);
    const conversation = index.bySession(sessionID);
    const exchange = exchangeIn(conversation);
    return conversation?.owner !== owner || exchange === undefined ? undefined : { conversation, exchange };
  };
  /** Removes the session from memory first, so that no request continues it in the meantime. */
  const deleteConversation = async ({ sessionID }: StoredConversation, signal: AbortSignal): Promise<void> => {
    index.remove(sessionID);
    await agent.deleteSession(sessionID, signal).catch(ignoreNotFound);
  };

  return {
    resolve: createResolver({ agent, index, sync, stopped, queue, lock, newHash, runInSlices, newName, matching }),
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
    endLeft: createLeftTurns({ agent, marks, clock }),
    readersOf,
    bridgeID,
    async findResponse(responseID, owner, signal) {
      const found = await find(responseID, owner, signal);
      if (found === undefined || found.exchange.promptID === '') return undefined;
      const { sessionID, name } = found.conversation;
      return { sessionID, name, promptID: found.exchange.promptID };
    },
    async deleteResponse(responseID, owner, signal) {
      const known = await find(responseID, owner, signal);
      if (known === undefined) return false;
      // Another bridge may have begun to answer in it.
      await sync.refresh(known.conversation.sessionID, signal);
      const found = await find(responseID, owner, signal);
      // With a session that the agent has lost, it is gone.
      if (found === undefined) return index.bySession(known.conversation.sessionID) === undefined;
      const { token: deleted } = found.exchange;
      const withoutIt = (conversation: StoredConversation): StoredConversation => ({
        ...conversation,
        exchanges: conversation.exchanges.map((exchange) =>
          exchange.token === deleted ? { ...exchange, token: '' } : exchange,
        ),
      });
      const changed = withoutIt(found.conversation);
      const isInUse = changed.claim !== undefined || !queue.isFree(queueKeyOf(changed));
      if (!isInUse && changed.exchanges.every(({ token }) => token === '')) await deleteConversation(changed, signal);
      else {
        index.put(changed);
        await writes.write(changed, withoutIt).catch(ignoreNotFound);
      }
      return true;
    },
    count: index.count,
  };
};
