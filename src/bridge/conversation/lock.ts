import type { Ticket } from '../../core/keyed-queue.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { AgentClient } from '../agent/types.ts';
import type { HistoryMessage, PromptPart } from '../request.ts';
import { type ConversationClaims, isClaimedElsewhere, withoutClaim } from './claims.ts';
import type { NewHash } from './digest.ts';
import { EMPTY_FINGERPRINT } from './fingerprint.ts';
import type { ConversationIndex, StoppedAnswers } from './lookup.ts';
import { addExchange, type ClientHistory, type ExtendedHistory, extendHistory, type HistoryBase } from './match.ts';
import { promptIDsIn, type StoredConversation, toSessionMetadata } from './record.ts';
import { readResponseID } from './response-id.ts';
import type { ConversationSync } from './sync.ts';
import { sessionTitleFor } from './transcript.ts';
import type { FinishedExchange, LockedConversation, Owner, RequestMark } from './types.ts';
import type { ConversationWrites } from './writes.ts';

/** A conversation to continue, and the history that its client assumes. */
export type ConversationMatch = { readonly conversation: StoredConversation; readonly base: HistoryBase };

/** Which conversation a request is to use, before its turn in the queue has come. */
export type ConversationPlan = {
  readonly owner: Owner;
  readonly name: string;
  readonly isNamed: boolean;
  /** A session that is not stored is deleted on release, and no later request can find it. */
  readonly isStored: boolean;
  readonly prompt: readonly PromptPart[];
  /** Stored with the session before the prompt is sent. */
  readonly mark: RequestMark | undefined;
  /** Called when the request's turn has come. Undefined means: create a new session. */
  readonly find: () => ConversationMatch | undefined;
  /** Whether the turn has been started already, by whoever holds the conversation: then nothing is waited for or claimed. */
  readonly isStarted?: boolean;
  /** Whether it waits while another bridge answers in the conversation. Else it gets a new session then. */
  readonly waitsForOthers: boolean;
  /** The history to send to a session that has no messages yet. `isLost`: in place of one that the agent has lost. */
  readonly replay: (signal: AbortSignal, isLost: boolean) => Promise<ClientHistory>;
};

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
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
};

type Recorded = {
  readonly exchange: FinishedExchange;
  readonly extended: ExtendedHistory;
  readonly mark: RequestMark | undefined;
};
type OpenSession = ConversationMatch & { readonly replay: readonly HistoryMessage[]; readonly isNew: boolean };

const notYetCreated = ({ owner, name, isNamed, mark }: ConversationPlan): StoredConversation => ({
  sessionID: '',
  owner,
  name,
  isNamed,
  fingerprint: EMPTY_FINGERPRINT,
  tail: [],
  stoppedAt: undefined,
  hasReplay: false,
  exchanges: [],
  request: mark,
  claim: mark?.token,
  revision: 1,
  otherMetadata: {},
  createdAt: 0,
  usedAt: 0,
  isUpToDate: true,
});

/** Whether the agent has any message of it. An answer that the bridge gave itself is not at the agent. */
const hasMessages = (conversation: StoredConversation): boolean => promptIDsIn(conversation).size > 0;

const hasExchange = ({ exchanges }: StoredConversation, { responseID, promptID }: FinishedExchange): boolean => {
  const token = readResponseID(responseID)?.token ?? '';
  return exchanges.some((known) => known.token === token && known.promptID !== '' && known.promptID === promptID);
};

export const createConversationLocking = (needs: ConversationLockingNeeds): LockConversation => {
  const { agent, index, sync, writes, claims, ownTokens, stopped, newName, newHash, runInSlices } = needs;
  const never = new AbortController().signal;

  const createSession = async (plan: ConversationPlan, signal: AbortSignal, isLost = false): Promise<OpenSession> => {
    const { base, messages } = await plan.replay(signal, isLost);
    const metadata = plan.isStored ? toSessionMetadata(notYetCreated(plan)) : {};
    const { id, time } = await agent.createSession({ title: sessionTitleFor(plan.prompt), metadata }, signal);
    const conversation = { ...notYetCreated(plan), sessionID: id, createdAt: time.created };
    return { conversation, base, replay: messages, isNew: true };
  };
  /** Undefined if there is none to continue, `claimed` if another bridge answers in it. */
  const findSession = async (
    plan: ConversationPlan,
    signal: AbortSignal,
  ): Promise<OpenSession | 'claimed' | undefined> => {
    const started = plan.isStarted === true ? plan.find() : undefined;
    if (started !== undefined) return { ...started, replay: [], isNew: false };
    let looks: number | undefined;
    for (;;) {
      const seen = plan.find()?.conversation;
      if (seen !== undefined && isClaimedElsewhere(seen, plan.mark)) {
        if (!plan.waitsForOthers) return 'claimed';
        await claims.waitUntilFree(seen, signal);
        looks = sync.looks();
        continue;
      }
      const found = await sync.findUpToDate(plan.find, signal);
      if (found === undefined) {
        if (looks === undefined) return undefined;
        // It came to nothing, and another request that waited may have begun it anew.
        await sync.lookAfter(looks, signal);
        looks = undefined;
        continue;
      }
      if (isClaimedElsewhere(found.conversation, plan.mark)) continue;
      const replay = hasMessages(found.conversation) ? [] : (await plan.replay(signal, false)).messages;
      signal.throwIfAborted();
      // Who follows the turn of the same request claims nothing: that was done when it began.
      const isMarked = plan.mark === undefined || found.conversation.request?.token === plan.mark.token;
      if (isMarked || (plan.mark !== undefined && (await claims.take(found.conversation, plan.mark))))
        return { ...found, replay, isNew: false };
    }
  };
  /** Of several bridges that begin a conversation of one name, one does: each looks for the others' once its own is there. */
  const openSession = async (plan: ConversationPlan, signal: AbortSignal): Promise<OpenSession> => {
    const found = await findSession(plan, signal);
    // The name stays with the conversation that is in use.
    if (found === 'claimed') return createSession({ ...plan, name: newName() }, signal);
    const opened = found ?? (await createSession(plan, signal));
    if (found !== undefined || !plan.waitsForOthers || plan.mark === undefined) return opened;
    const { sessionID } = opened.conversation;
    try {
      await sync.lookAfter(sync.looks(), signal);
    } catch (error) {
      writes.discard(sessionID);
      throw error;
    }
    const first = plan.find()?.conversation.sessionID ?? sessionID;
    if (first === sessionID) return opened;
    // Another bridge has the same name, or was faster: its conversation is continued.
    writes.discard(sessionID);
    return openSession(plan, signal);
  };
  /** By a bridge whose client has tried again, or by the one that has begun the turn. */
  const isRecordedElsewhere = (sessionID: string, exchange: FinishedExchange): boolean => {
    const stored = index.bySession(sessionID);
    return stored !== undefined && hasExchange(stored, exchange);
  };
  const addTo = (
    { conversation, base, replay, isNew }: OpenSession,
    { exchange, extended, mark }: Recorded,
  ): OpenSession => {
    // A response of it may have been deleted in the meantime.
    const stored = withoutClaim(index.bySession(conversation.sessionID) ?? conversation, mark);
    const isReplayed = replay.length > 0 && exchange.promptID !== undefined;
    // Before its first exchange the index may hold it by another name.
    const { name } = isNew ? conversation : stored;
    const next = addExchange({ ...stored, name, hasReplay: stored.hasReplay || isReplayed }, exchange, extended);
    return { conversation: next, base, replay, isNew: false };
  };

  const createLock = (plan: ConversationPlan, ticket: Ticket, first: OpenSession): LockedConversation => {
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
      if (session.isNew) writes.discard(sessionID);
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
      replay: session.replay,
      record,
      leaveToOther() {
        session = { ...session, isNew: false };
      },
      release,
      async renew(signal) {
        index.remove(session.conversation.sessionID);
        session = await createSession(plan, signal, true);
        return locked();
      },
    });
    return locked();
  };

  return async (plan, ticket, signal) => {
    await ticket.waitForTurn(signal);
    if (plan.mark !== undefined) ownTokens.add(plan.mark.token);
    try {
      return createLock(plan, ticket, await openSession(plan, signal));
    } catch (error) {
      if (plan.mark !== undefined) ownTokens.delete(plan.mark.token);
      ticket.release();
      throw error;
    }
  };
};
