import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { createKeyedQueue } from '../../core/keyed-queue.ts';
import type { Log } from '../../core/log.ts';
import { isNotFound } from '../agent/errors.ts';
import type { AgentClient } from '../agent/types.ts';
import type { Digest } from './fingerprint.ts';
import { createConversationLocking } from './lock.ts';
import { createConversationIndex, createStoppedAnswers } from './lookup.ts';

import type { StoredConversation, StoredExchange } from './record.ts';
import { createResolver, queueKeyOf } from './resolve.ts';
import { readResponseID, responseIDFor } from './response-id.ts';
import { createConversationSync } from './sync.ts';
import type { Conversations, Owner } from './types.ts';

export type ConversationsNeeds = {
  readonly agent: AgentClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly digest: Digest;
  /** Twenty letters and digits that nobody can guess. */
  readonly newToken: () => string;
  /** `prefix`: a conversation without a name is also recognised by everything that was said in it. */
  readonly matching: 'prefix' | 'named';
  /** How many conversations are remembered, and for how long while nobody uses them. At the agent they all stay. */
  readonly limit: number;
  readonly lifetimeMs: number;
  /** How many may wait for the same conversation. */
  readonly queueLimit: number;
};

/** What the agent has lost is forgotten as well as can be. */
const unlessGone = (error: unknown): void => {
  if (!isNotFound(error)) throw error;
};

/** Turns of an agent take seconds to minutes. */
const TURN_RETRY_AFTER_MS = 5000;

type Found = { readonly kept: StoredConversation; readonly exchange: StoredExchange };

/**
 * The conversations of all clients. What is known of them is read from the agent's sessions once, and written there after each
 * exchange, so it outlives this process. It is not read again: one bridge serves an agent, or each client keeps to one of several.
 */
export const createConversations = (needs: ConversationsNeeds): Conversations => {
  const { agent, newToken } = needs;
  const newName = () => `chat_${newToken()}`;
  const index = createConversationIndex({ ...needs, newName });
  const keeper = createConversationSync({ ...needs, index });
  const stopped = createStoppedAnswers();
  const queue = createKeyedQueue({
    count: needs.queueLimit,
    per: 'key',
    createError: () => new Fault({ kind: 'rate-limited', retryAfterMs: TURN_RETRY_AFTER_MS }),
  });
  const hold = createConversationLocking({ ...needs, index, keeper, stopped });

  const found = async (responseID: string, owner: Owner, signal: AbortSignal): Promise<Found | undefined> => {
    const place = readResponseID(responseID);
    if (place === undefined) return undefined;
    await keeper.load(signal);
    await keeper.loadSession(place.sessionID, signal);
    const kept = index.bySession(place.sessionID);
    const exchange = kept?.exchanges.find(({ token }) => token === place.token);
    return kept?.owner !== owner || exchange === undefined ? undefined : { kept, exchange };
  };
  /** The session goes from memory first, so that nobody goes on with it meanwhile. */
  const forget = async ({ sessionID }: StoredConversation, signal: AbortSignal): Promise<void> => {
    index.remove(sessionID);
    await agent.deleteSession(sessionID, signal).catch(unlessGone);
  };

  return {
    resolve: createResolver({ ...needs, index, keeper, stopped, queue, hold, newName }),
    newResponseID: ({ sessionID }) => responseIDFor(sessionID, newToken()),
    async findResponse(responseID, owner, signal) {
      const { kept, exchange } = (await found(responseID, owner, signal)) ?? {};
      if (kept === undefined || exchange === undefined || exchange.promptID === '') return undefined;
      return { sessionID: kept.sessionID, name: kept.name, promptID: exchange.promptID };
    },
    async deleteResponse(responseID, owner, signal) {
      const there = await found(responseID, owner, signal);
      if (there === undefined) return false;
      const { kept, exchange } = there;
      const exchanges = kept.exchanges.map((one) => (one === exchange ? { ...one, token: '' } : one));
      if (exchanges.every(({ token }) => token === '') && queue.isFree(queueKeyOf(kept))) {
        await forget(kept, signal);
        return true;
      }
      index.put({ ...kept, exchanges });
      await keeper.write({ ...kept, exchanges }).catch(unlessGone);
      return true;
    },
    count: index.count,
  };
};
