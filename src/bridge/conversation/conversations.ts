import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { createKeyedQueue } from '../../core/keyed-queue.ts';
import type { Log } from '../../core/log.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import { isNotFound } from '../agent/errors.ts';
import type { AgentClient } from '../agent/types.ts';
import type { NewHash } from './digest.ts';
import { createConversationLocking } from './lock.ts';
import { createConversationIndex, createStoppedAnswers, type IndexLimits } from './lookup.ts';
import type { StoredConversation, StoredExchange } from './record.ts';
import { createResolver, queueKeyOf } from './resolve.ts';
import { readResponseID } from './response-id.ts';
import { createStartedTurns } from './started.ts';
import { createConversationSync } from './sync.ts';
import type { Conversations, Owner } from './types.ts';

/** `limit` and `lifetimeMs` are about memory: at the agent all conversations stay. */
export type ConversationsNeeds = IndexLimits & {
  readonly agent: AgentClient;
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

type Found = { readonly conversation: StoredConversation; readonly exchange: StoredExchange };

/**
 * The conversations of all clients. They are read from the agent's sessions once, and written there after each exchange, so
 * they outlive this process. They are not read again: one bridge serves an agent, or each client uses always the same bridge.
 */
export const createConversations = (needs: ConversationsNeeds): Conversations => {
  const { agent, clock, log, newHash, runInSlices, newToken, matching, limit, lifetimeMs, queueLimit } = needs;
  const newName = () => `chat_${newToken()}`;
  const index = createConversationIndex(clock, newName, { limit, lifetimeMs });
  const sync = createConversationSync({ agent, index, limit, clock, log });
  const stopped = createStoppedAnswers();
  const queue = createKeyedQueue({
    count: queueLimit,
    per: 'key',
    createError: () => new Fault({ kind: 'overloaded', retryAfterMs: TURN_RETRY_AFTER_MS }),
  });
  const lock = createConversationLocking({ agent, index, sync, stopped, newHash, runInSlices });

  const find = async (responseID: string, owner: Owner, signal: AbortSignal): Promise<Found | undefined> => {
    const location = readResponseID(responseID);
    if (location === undefined) return undefined;
    await sync.load(signal);
    await sync.loadSession(location.sessionID, signal);
    const conversation = index.bySession(location.sessionID);
    const exchange = conversation?.exchanges.find(({ token }) => token === location.token);
    return conversation?.owner !== owner || exchange === undefined ? undefined : { conversation, exchange };
  };
  /** Removes the session from memory first, so that no request continues it in the meantime. */
  const deleteConversation = async ({ sessionID }: StoredConversation, signal: AbortSignal): Promise<void> => {
    index.remove(sessionID);
    await agent.deleteSession(sessionID, signal).catch(ignoreNotFound);
  };

  return {
    resolve: createResolver({ agent, index, sync, stopped, queue, lock, newHash, runInSlices, newName, matching }),
    findStarted: createStartedTurns({ agent, index, sync, queue, lock, newHash, runInSlices, clock }),
    async findResponse(responseID, owner, signal) {
      const found = await find(responseID, owner, signal);
      if (found === undefined || found.exchange.promptID === '') return undefined;
      const { sessionID, name } = found.conversation;
      return { sessionID, name, promptID: found.exchange.promptID };
    },
    async deleteResponse(responseID, owner, signal) {
      const found = await find(responseID, owner, signal);
      if (found === undefined) return false;
      const { conversation } = found;
      const exchanges = conversation.exchanges.map((exchange) =>
        exchange === found.exchange ? { ...exchange, token: '' } : exchange,
      );
      if (exchanges.every(({ token }) => token === '') && queue.isFree(queueKeyOf(conversation)))
        await deleteConversation(conversation, signal);
      else {
        index.put({ ...conversation, exchanges });
        await sync.write({ ...conversation, exchanges }).catch(ignoreNotFound);
      }
      return true;
    },
    count: index.count,
  };
};
