import type { Ticket } from '../../core/keyed-queue.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { AgentClient } from '../agent/types.ts';
import type { HistoryMessage, PromptPart } from '../request.ts';
import type { NewHash } from './digest.ts';
import { EMPTY_FINGERPRINT } from './fingerprint.ts';
import type { ConversationIndex, StoppedAnswers } from './lookup.ts';
import { addExchange, type ClientHistory, type ExtendedHistory, extendHistory, type HistoryBase } from './match.ts';
import { promptIDsIn, type StoredConversation, toSessionMetadata } from './record.ts';
import type { ConversationSync } from './sync.ts';
import { sessionTitleFor } from './transcript.ts';
import type { FinishedExchange, LockedConversation, Owner, RequestMark } from './types.ts';

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
  /** The history to send to a session that has no messages yet. */
  readonly replay: ClientHistory;
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
  readonly stopped: StoppedAnswers;
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
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
  otherMetadata: {},
  createdAt: 0,
  usedAt: 0,
  isUpToDate: true,
});

/** Whether the agent has any message of it. An answer that the bridge gave itself is not at the agent. */
const hasMessages = (conversation: StoredConversation): boolean => promptIDsIn(conversation).size > 0;

export const createConversationLocking = (needs: ConversationLockingNeeds): LockConversation => {
  const { agent, index, sync, stopped, newHash, runInSlices } = needs;
  const never = new AbortController().signal;

  const createSession = async (plan: ConversationPlan, signal: AbortSignal): Promise<OpenSession> => {
    const metadata = plan.isStored ? toSessionMetadata(notYetCreated(plan)) : {};
    const { id, time } = await agent.createSession({ title: sessionTitleFor(plan.prompt), metadata }, signal);
    const conversation = { ...notYetCreated(plan), sessionID: id, createdAt: time.created };
    const { base, messages } = plan.replay;
    return { conversation, base, replay: messages, isNew: true };
  };
  /** Not waited for: it is sent before the prompt, and a prompt must not be late for it. */
  const storeMark = (conversation: StoredConversation, request: RequestMark): void => {
    const marked = { ...conversation, request };
    index.put(marked);
    sync.write(marked).catch(() => {});
  };
  const findSession = async (plan: ConversationPlan, signal: AbortSignal): Promise<OpenSession | undefined> => {
    const found = await sync.findUpToDate(plan.find, signal);
    if (found !== undefined && plan.mark !== undefined && found.conversation.request !== plan.mark)
      storeMark(found.conversation, plan.mark);
    return found && { ...found, replay: hasMessages(found.conversation) ? [] : plan.replay.messages, isNew: false };
  };
  const addTo = (
    { conversation, base, replay }: OpenSession,
    exchange: FinishedExchange,
    extended: ExtendedHistory,
  ): OpenSession => {
    // A response of it may have been deleted in the meantime.
    const stored = index.bySession(conversation.sessionID) ?? conversation;
    const isReplayed = replay.length > 0 && exchange.promptID !== undefined;
    const next = addExchange({ ...stored, hasReplay: stored.hasReplay || isReplayed }, exchange, extended);
    return { conversation: next, base, replay, isNew: false };
  };

  const createLock = (plan: ConversationPlan, ticket: Ticket, first: OpenSession): LockedConversation => {
    let session = first;
    let isRecorded = false;
    let isReleased = false;

    const record = async (exchange: FinishedExchange): Promise<void> => {
      if (!plan.isStored) return;
      const extended = await runInSlices(extendHistory(session.base, exchange, newHash), never);
      session = addTo(session, exchange, extended);
      isRecorded = true;
      stopped.set(session.conversation.sessionID, exchange.isStopped ? extended.answerText : undefined);
      index.put(session.conversation);
      // A client that has the answer may send its next request now, and waits only for the write.
      ticket.announceRelease();
      await sync.write(session.conversation).catch(() => {});
    };
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      const { sessionID } = session.conversation;
      const stored = index.bySession(sessionID);
      if (session.isNew) sync.discard(sessionID);
      // The agent may have accepted a prompt whose exchange was not recorded.
      else if (!isRecorded && stored !== undefined) index.put({ ...stored, isUpToDate: false });
      ticket.release();
    };
    const locked = (): LockedConversation => ({
      session: { sessionID: session.conversation.sessionID, knownMessageIDs: promptIDsIn(session.conversation) },
      replay: session.replay,
      record,
      release,
      async renew(signal) {
        index.remove(session.conversation.sessionID);
        session = await createSession(plan, signal);
        return locked();
      },
    });
    return locked();
  };

  return async (plan, ticket, signal) => {
    await ticket.waitForTurn(signal);
    try {
      return createLock(plan, ticket, (await findSession(plan, signal)) ?? (await createSession(plan, signal)));
    } catch (error) {
      ticket.release();
      throw error;
    }
  };
};
