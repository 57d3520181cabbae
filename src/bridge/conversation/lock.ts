import type { Ticket } from '../../core/keyed-queue.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { AgentFeatures } from '../agent/features.ts';
import type { AgentClient } from '../agent/types.ts';
import { type ConversationClaims, withoutClaim } from './claims.ts';
import type { NewHash } from './digest.ts';
import type { ConversationIndex, StoppedAnswers } from './lookup.ts';
import { addExchange, type ExtendedHistory, extendHistory } from './match.ts';
import { type ConversationPlan, createSessionOpening, type OpenedSession } from './open-session.ts';
import { promptIDsIn, type StoredConversation } from './record.ts';
import { readResponseID } from './response-id.ts';
import type { ConversationSync } from './sync.ts';
import type { FinishedExchange, LockedConversation, RequestMark } from './types.ts';
import type { ConversationWrites } from './writes.ts';

/** Waits for a request's turn, and locks its conversation from then until it is released. */
export type LockConversation = (
  plan: ConversationPlan,
  ticket: Ticket,
  signal: AbortSignal,
) => Promise<LockedConversation>;

type ConversationLockingNeeds = {
  readonly agent: Pick<AgentClient, 'createSession'>;
  readonly index: ConversationIndex;
  readonly sync: ConversationSync;
  readonly writes: ConversationWrites;
  readonly claims: ConversationClaims;
  /** Tokens of the answers that this bridge gives now. */
  readonly ownTokens: Set<string>;
  readonly stopped: StoppedAnswers;
  readonly newName: () => string;
  readonly takesPromptMetadata: AgentFeatures['takesPromptMetadata'];
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
};

type Recorded = {
  readonly exchange: FinishedExchange;
  readonly extended: ExtendedHistory;
  readonly mark: RequestMark | undefined;
};

const hasExchange = ({ exchanges }: StoredConversation, { responseID, promptID }: FinishedExchange): boolean => {
  const token = readResponseID(responseID)?.token ?? '';
  return exchanges.some((known) => known.token === token && known.promptID !== '' && known.promptID === promptID);
};

export const createConversationLocking = (needs: ConversationLockingNeeds): LockConversation => {
  const { index, sync, writes, claims, ownTokens, stopped, newHash, runInSlices, takesPromptMetadata } = needs;
  const sessions = createSessionOpening(needs);
  const never = new AbortController().signal;

  /** By a bridge whose client has tried again, or by the one that has begun the turn. */
  const isRecordedElsewhere = (sessionID: string, exchange: FinishedExchange): boolean => {
    const stored = index.bySession(sessionID);
    return stored !== undefined && hasExchange(stored, exchange);
  };
  const addTo = (
    { conversation, base, replay, isNew }: OpenedSession,
    { exchange, extended, mark }: Recorded,
  ): OpenedSession => {
    // A response of it may have been deleted in the meantime.
    const stored = withoutClaim(index.bySession(conversation.sessionID) ?? conversation, mark);
    const isReplayed = replay.length > 0 && exchange.promptID !== undefined;
    // Before its first exchange the index may hold it by another name.
    const { name } = isNew ? conversation : stored;
    const next = addExchange({ ...stored, name, hasReplay: stored.hasReplay || isReplayed }, exchange, extended);
    return { conversation: next, base, replay, isNew: false };
  };

  const createLock = (plan: ConversationPlan, ticket: Ticket, first: OpenedSession): LockedConversation => {
    let session = first;
    let isRecorded = false;
    let isReleased = false;

    const record = async (exchange: FinishedExchange): Promise<void> => {
      if (!plan.isStored) return;
      if (isRecordedElsewhere(session.conversation.sessionID, exchange)) {
        isRecorded = true;
        session = { ...session, isNew: false };
        ticket.announceRelease();
        return;
      }
      const extended = await runInSlices(extendHistory(session.base, exchange, newHash), never);
      session = addTo(session, { exchange, extended, mark: plan.mark });
      isRecorded = true;
      if (exchange.isStopped) stopped.set(session.conversation, extended.answerText);
      index.put(session.conversation);
      // A client that has the answer may send its next request now, and waits only for the write.
      ticket.announceRelease();
      const { hasReplay } = session.conversation;
      const onTopOf = (current: StoredConversation) =>
        hasExchange(current, exchange)
          ? undefined
          : addExchange({ ...withoutClaim(current, plan.mark), hasReplay }, exchange, extended);
      await writes.write(session.conversation, onTopOf).catch(() => {});
    };
    const giveBack = (stored: StoredConversation): void => {
      const free = (current: StoredConversation): StoredConversation | undefined => {
        const freed = plan.isStarted === true ? current : withoutClaim(current, plan.mark);
        return freed === current ? undefined : { ...freed, isUnsure: true };
      };
      const freed = free(stored);
      // The agent may have accepted a prompt whose exchange was not recorded.
      index.put({ ...(freed ?? stored), isUpToDate: false });
      if (freed !== undefined) writes.write(freed, free).catch(() => {});
    };
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      const { sessionID } = session.conversation;
      const stored = index.bySession(sessionID);
      if (plan.mark !== undefined) ownTokens.delete(plan.mark.token);
      if (session.isNew) writes.discard(session.conversation);
      else if (!isRecorded && stored !== undefined) giveBack(stored);
      ticket.release();
    };
    const locked = (): LockedConversation => ({
      session: {
        sessionID: session.conversation.sessionID,
        knownMessageIDs: promptIDsIn(session.conversation),
        lastToken: session.conversation.exchanges.at(-1)?.token,
        paused: session.conversation.paused,
      },
      async claimWithPrompt(signal) {
        const isTaken = session.isAnnounced === true || takesPromptMetadata();
        if (plan.mark === undefined || !plan.isStored || !isTaken) return undefined;
        return (await claims.withPrompt(session.conversation, plan.mark, signal)) ?? 'lost';
      },
      async claimWithoutPrompt() {
        if (plan.mark === undefined || session.isAnnounced !== true) return true;
        const current = index.bySession(session.conversation.sessionID);
        if (current?.claim !== plan.mark.token || !(await claims.take(current, plan.mark))) return false;
        session = { ...session, isAnnounced: false };
        return true;
      },
      replay: session.replay,
      record,
      leaveToOther() {
        session = { ...session, isNew: false };
      },
      release,
      async reopen(signal) {
        const { sessionID } = session.conversation;
        await sync.refresh(sessionID, signal);
        const stored = index.bySession(sessionID);
        const isOurs = stored !== undefined && stored.claim === plan.mark?.token;
        session = isOurs ? { ...session, conversation: stored } : await sessions.open(plan, signal);
        return locked();
      },
      async renew(signal) {
        index.remove(session.conversation.sessionID);
        session = await sessions.create(plan, signal, true);
        return locked();
      },
    });
    return locked();
  };

  return async (plan, ticket, signal) => {
    await ticket.waitForTurn(signal);
    if (plan.mark !== undefined) ownTokens.add(plan.mark.token);
    try {
      return createLock(plan, ticket, await sessions.open(plan, signal));
    } catch (error) {
      if (plan.mark !== undefined) ownTokens.delete(plan.mark.token);
      ticket.release();
      throw error;
    }
  };
};
