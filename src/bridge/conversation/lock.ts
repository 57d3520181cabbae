import type { Ticket } from '../../core/keyed-queue.ts';
import type { AgentClient } from '../agent/types.ts';
import type { BridgeRequest, HistoryMessage } from '../request.ts';
import { type Digest, EMPTY_FINGERPRINT } from './fingerprint.ts';
import type { ConversationIndex, StoppedAnswers } from './lookup.ts';
import { addExchange, type ClientHistory, type HistoryBase } from './match.ts';
import { promptIDsIn, type StoredConversation, toSessionMetadata } from './record.ts';
import type { ConversationSync } from './sync.ts';
import { sessionTitleFor } from './transcript.ts';
import type { FinishedExchange, LockedConversation, Owner } from './types.ts';

/** A conversation to go on with, and what its client takes to be said in it. */
export type ConversationMatch = { readonly conversation: StoredConversation; readonly base: HistoryBase };

/** Where a request belongs, before its turn has come. */
export type ConversationPlan = {
  readonly owner: Owner;
  readonly name: string;
  readonly isNamed: boolean;
  /** A session that is not kept is deleted when it is given back, and nobody can find it. */
  readonly isKept: boolean;
  readonly prompt: BridgeRequest['prompt'];
  /** Asked when the request's turn has come; nothing stands for a new session. */
  readonly find: () => ConversationMatch | undefined;
  /** What a session has to be told that has heard nothing. */
  readonly replay: ClientHistory;
};

export type ConversationLockingNeeds = {
  readonly agent: AgentClient;
  readonly index: ConversationIndex;
  readonly keeper: ConversationSync;
  readonly stopped: StoppedAnswers;
  readonly digest: Digest;
};

type Session = ConversationMatch & { readonly replay: readonly HistoryMessage[]; readonly isNew: boolean };

/** Waits for a request's turn, and holds its conversation from then until it is given back. */
export type LockConversation = (
  plan: ConversationPlan,
  ticket: Ticket,
  signal: AbortSignal,
) => Promise<LockedConversation>;

const unborn = ({ owner, name, isNamed }: ConversationPlan): StoredConversation => ({
  sessionID: '',
  owner,
  name,
  isNamed,
  fingerprint: EMPTY_FINGERPRINT,
  tail: [],
  stoppedAt: undefined,
  hasReplay: false,
  exchanges: [],
  otherMetadata: {},
  createdAt: 0,
  usedAt: 0,
  isUpToDate: true,
});

/** Whether the agent has been told anything of it. An answer in our own words is none of the agent's. */
const hasBegun = (kept: StoredConversation): boolean => promptIDsIn(kept).size > 0;

export const createConversationLocking = ({
  agent,
  index,
  keeper,
  stopped,
  digest,
}: ConversationLockingNeeds): LockConversation => {
  const begin = async (plan: ConversationPlan, signal: AbortSignal): Promise<Session> => {
    const metadata = plan.isKept ? toSessionMetadata(unborn(plan)) : {};
    const { id, time } = await agent.createSession({ title: sessionTitleFor(plan.prompt), metadata }, signal);
    const kept = { ...unborn(plan), sessionID: id, createdAt: time.created };
    const { base: footing, messages: replay } = plan.replay;
    return { conversation: kept, base: footing, replay, isNew: true };
  };
  const known = async (plan: ConversationPlan, signal: AbortSignal): Promise<Session | undefined> => {
    const found = await keeper.findUpToDate(plan.find, signal);
    return found && { ...found, replay: hasBegun(found.conversation) ? [] : plan.replay.messages, isNew: false };
  };
  const noted = ({ conversation: before, base: footing, replay }: Session, exchanged: FinishedExchange): Session => {
    // A response may have been forgotten meanwhile.
    const kept = index.bySession(before.sessionID) ?? before;
    const isReplayed = replay.length > 0 && exchanged.promptID !== undefined;
    const next = addExchange({ ...kept, hasReplay: kept.hasReplay || isReplayed }, exchanged, { footing, digest });
    return { conversation: next, base: footing, replay, isNew: false };
  };

  const take = (plan: ConversationPlan, ticket: Ticket, first: Session): LockedConversation => {
    let session = first;
    let isNoted = false;
    let isReleased = false;

    const note = async (exchanged: FinishedExchange): Promise<void> => {
      if (!plan.isKept) return;
      session = noted(session, exchanged);
      isNoted = true;
      stopped.set(session.conversation.sessionID, exchanged.isStopped ? exchanged.answerText : undefined);
      index.put(session.conversation);
      // Whoever has heard the answer may wait in line for the short time that is left.
      ticket.announceRelease();
      await keeper.write(session.conversation).catch(() => {});
    };
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      const { sessionID } = session.conversation;
      const kept = index.bySession(sessionID);
      if (session.isNew) keeper.discard(sessionID);
      // The agent may have taken a prompt of which nothing was told.
      else if (!isNoted && kept !== undefined) index.put({ ...kept, isUpToDate: false });
      ticket.release();
    };
    const held = (): LockedConversation => ({
      session: { sessionID: session.conversation.sessionID, knownMessageIDs: promptIDsIn(session.conversation) },
      replay: session.replay,
      record: note,
      release,
      async renew(signal) {
        index.remove(session.conversation.sessionID);
        session = await begin(plan, signal);
        return held();
      },
    });
    return held();
  };

  return async (plan, ticket, signal) => {
    await ticket.waitForTurn(signal);
    try {
      return take(plan, ticket, (await known(plan, signal)) ?? (await begin(plan, signal)));
    } catch (error) {
      ticket.release();
      throw error;
    }
  };
};
