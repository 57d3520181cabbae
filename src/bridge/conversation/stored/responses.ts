import { pause } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import { Fault } from '../../../core/fault.ts';
import type { KeyedQueue } from '../../../core/keyed-queue.ts';
import { ignoreNotFound } from '../../agent/errors.ts';
import type { AgentClient } from '../../agent/types.ts';
import type { ConversationIndex } from '../lookup.ts';
import { queueKeyOf } from '../lookup.ts';
import { promptIDsIn, type StoredConversation, type StoredExchange } from '../record.ts';
import { readResponseID, responseTokenOf, sessionInConversationID } from '../response-id.ts';
import type { ConversationSync } from '../sync.ts';
import type { Conversations, FoundResponse, Owner } from '../types.ts';
import type { ConversationWrites } from '../writes.ts';
import { continuationOf } from './continued.ts';

type StoredResponsesNeeds = {
  readonly agent: Pick<AgentClient, 'deleteSession' | 'busySessions'>;
  readonly index: ConversationIndex;
  readonly sync: Pick<ConversationSync, 'refresh'>;
  readonly writes: Pick<ConversationWrites, 'write'>;
  readonly queue: Pick<KeyedQueue, 'isFree'>;
  readonly clock: Clock;
};

type Located = { readonly conversation: StoredConversation; readonly token: string };

const IN_PROGRESS = new Fault({
  kind: 'conflict',
  message:
    'This response is still being made: wait for its end, or cancel it if it is in the background, and delete it then',
});

/** How long after the end of its turn a bridge may take to record a response. */
const RECORDED_WITHIN_MS = 500;
const RECORDED_PAUSE_MS = 10;

const exchangeIn = ({ conversation, token: wanted }: Located): StoredExchange | undefined =>
  conversation.exchanges.find(({ token }) => token === wanted);

const isOfLastRequest = ({ request }: StoredConversation, token: string): boolean =>
  request !== undefined && responseTokenOf(request.token) === token;
/** Whether a response is not recorded yet: a bridge makes it, or was ended while it did. */
const isUnrecorded = (located: Located): boolean => {
  const { request, claim } = located.conversation;
  const isBegun = request?.isBackground === true || (claim !== undefined && claim === request?.token);
  return isBegun && exchangeIn(located) === undefined && isOfLastRequest(located.conversation, located.token);
};

/** What else shows the last response of a conversation: it would count as one that is still made. */
const withoutTraces = ({ request, claim }: StoredConversation, isLeft: boolean) => ({
  request: request && { ...request, isBackground: undefined },
  claim: isLeft ? undefined : claim,
});

const toFoundResponse = ({ conversation, token }: Located): FoundResponse | undefined => {
  const { sessionID, name, isNamed, request, paused, claim } = conversation;
  const exchange = exchangeIn({ conversation, token });
  if (exchange === undefined ? !isUnrecorded({ conversation, token }) : exchange.promptID === '') return undefined;
  const promptID = exchange?.promptID ?? request?.promptID;
  const { exchanges } = conversation;
  const earlier = exchange === undefined ? exchanges : exchanges.slice(0, exchanges.indexOf(exchange));
  // Without a prompt of its own it goes on with the turn of the last one, or its prompt is not there yet.
  const turnID = promptID ?? exchanges.at(-1)?.promptID;
  const beforeIn = (prompt: string | undefined) => earlier.filter((one) => one.promptID === prompt);
  const isContinued = continuationOf(exchanges, earlier.length) !== undefined;
  const isDecided = isContinued || (claim !== undefined && responseTokenOf(claim) !== token);
  return {
    sessionID,
    conversationName: isNamed ? name : undefined,
    token,
    promptID,
    answersBefore: (prompt) => beforeIn(prompt).filter((one) => one.asked === undefined).length,
    promptIDs: promptIDsIn(conversation),
    isBackground: exchange === undefined ? request?.isBackground === true : exchange.isBackground === true,
    requestedSeconds: isOfLastRequest(conversation, token) ? request?.createdSeconds : undefined,
    paused: exchange !== undefined && !isContinued && paused?.promptID === promptID ? paused : undefined,
    asked: isDecided ? exchange?.asked : undefined,
    continues: beforeIn(turnID).at(-1)?.asked,
  };
};

/** Finds responses by their ids, whichever bridge has given them or still does, and deletes them. */
export const createStoredResponses = ({
  agent,
  index,
  sync,
  writes,
  queue,
  clock,
}: StoredResponsesNeeds): Pick<Conversations, 'findResponse' | 'deleteResponse'> => {
  const locate = async (responseID: string, owner: Owner, signal: AbortSignal): Promise<Located | undefined> => {
    const location = readResponseID(responseID);
    if (location === undefined) return undefined;
    const { sessionID, token } = location;
    const inIndex = (): Located | undefined => {
      const conversation = index.bySession(sessionID);
      return conversation?.owner === owner ? { conversation, token } : undefined;
    };
    const known = inIndex();
    if (known === undefined || exchangeIn(known) === undefined) await sync.refresh(sessionID, signal);
    return inIndex();
  };
  /**
   * A response that is recorded, or was left by a bridge that has ended since. Undefined where there is none; faults with
   * `conflict` while it is made.
   */
  const untilRecorded = async (responseID: string, owner: Owner, signal: AbortSignal): Promise<Located | undefined> => {
    const untilMs = clock.now() + RECORDED_WITHIN_MS;
    for (;;) {
      const located = await locate(responseID, owner, signal);
      if (located === undefined || exchangeIn(located) !== undefined) return located;
      if (!isUnrecorded(located)) return undefined;
      if ((await agent.busySessions(signal)).has(located.conversation.sessionID)) throw IN_PROGRESS;
      if (clock.now() >= untilMs) return located;
      await pause(clock, RECORDED_PAUSE_MS, signal);
    }
  };
  /** Removes the session from memory first, so that no request continues it in the meantime. */
  const deleteConversation = async ({ sessionID }: StoredConversation, signal: AbortSignal): Promise<void> => {
    index.remove(sessionID);
    await agent.deleteSession(sessionID, signal).catch(ignoreNotFound);
  };
  return {
    async findResponse(responseID, owner, signal) {
      const located = await locate(responseID, owner, signal);
      return located && toFoundResponse(located);
    },
    async deleteResponse(responseID, owner, signal) {
      const known = await untilRecorded(responseID, owner, signal);
      if (known === undefined) return false;
      // Another bridge may have begun to answer in it.
      await sync.refresh(known.conversation.sessionID, signal);
      const found = await locate(responseID, owner, signal);
      // With a session that the agent has lost, it is gone.
      if (found === undefined) return index.bySession(known.conversation.sessionID) === undefined;
      const { token: deleted } = found;
      const isLeft = isUnrecorded(found);
      if (!isLeft && exchangeIn(found) === undefined) return false;
      const withoutIt = (conversation: StoredConversation): StoredConversation => ({
        ...conversation,
        exchanges: conversation.exchanges.map((exchange) =>
          exchange.token === deleted ? { ...exchange, token: '' } : exchange,
        ),
        ...(isOfLastRequest(conversation, deleted) ? withoutTraces(conversation, isLeft) : {}),
      });
      const changed = withoutIt(found.conversation);
      const isInUse = changed.claim !== undefined || !queue.isFree(queueKeyOf(changed));
      // What a client has created it deletes itself: there may be items in it that are of no response.
      const isDeletedWithLast = !isInUse && sessionInConversationID(changed.name) === undefined;
      if (isDeletedWithLast && changed.exchanges.every(({ token }) => token === ''))
        await deleteConversation(changed, signal);
      else {
        index.put(changed);
        await writes.write(changed, withoutIt).catch(ignoreNotFound);
      }
      return true;
    },
  };
};
