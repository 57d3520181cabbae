import type { AgentFeatures } from '../agent/features.ts';
import type { AgentClient } from '../agent/types.ts';
import type { HistoryMessage, PromptPart } from '../request.ts';
import { type ConversationClaims, isClaimedElsewhere } from './claims.ts';
import { EMPTY_FINGERPRINT } from './fingerprint.ts';
import type { ClientHistory, HistoryBase } from './match.ts';
import { promptIDsIn, type StoredConversation, toSessionMetadata } from './record.ts';
import { conversationNotFound } from './response-id.ts';
import type { ConversationSync } from './sync.ts';
import { sessionTitleFor } from './transcript.ts';
import type { Owner, RequestMark } from './types.ts';
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
  /** Whether the turn has been started already, by the one that holds the conversation: then nothing is waited for or claimed. */
  readonly isStarted?: boolean;
  /** Whether a client has created the session. Then no other one takes its place. */
  readonly isCreated?: boolean;
  /** Whether all of the history is new to it. */
  readonly appends?: boolean;
  /** Whether a prompt follows at once that may store the claim. Else that is stored before. */
  readonly claimsWithPrompt?: boolean;
  /** Whether it waits while another bridge answers in the conversation. Else it gets a new session then. */
  readonly waitsForOthers: boolean;
  /** The history to send to a session that has no messages yet. `isLost`: in place of one that the agent has lost. */
  readonly replay: (signal: AbortSignal, isLost: boolean) => Promise<ClientHistory>;
};

/** The session that a request uses, with the earlier messages to send to it. `isNew`: it was created for this request. */
export type OpenedSession = ConversationMatch & {
  readonly replay: readonly HistoryMessage[];
  readonly isNew: boolean;
  /** The claim is not stored yet: that is left to the prompt. */
  readonly isAnnounced?: boolean;
};

type SessionOpeningNeeds = {
  readonly agent: Pick<AgentClient, 'createSession'>;
  readonly sync: ConversationSync;
  readonly writes: Pick<ConversationWrites, 'discard'>;
  readonly claims: ConversationClaims;
  readonly newName: () => string;
  readonly takesPromptMetadata: AgentFeatures['takesPromptMetadata'];
};

/** What is known of a session that is about to be created. */
export const notYetCreated = ({
  owner,
  name,
  isNamed,
  mark,
}: Pick<ConversationPlan, 'owner' | 'name' | 'isNamed' | 'mark'>): StoredConversation => ({
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

/**
 * `open` finds the session that a plan leads to and claims it, or creates one. Call it when the request's turn has come. Of
 * several bridges that begin a conversation of one name, one does: each looks for the others' session once its own is there.
 * `create` always creates one; `isLost`: in place of a session that the agent has lost.
 */
export const createSessionOpening = (needs: SessionOpeningNeeds) => {
  const { agent, sync, writes, claims, newName, takesPromptMetadata } = needs;
  const createSession = async (
    plan: ConversationPlan,
    signal: AbortSignal,
    isLost: boolean,
  ): Promise<OpenedSession> => {
    if (plan.isCreated === true) throw conversationNotFound(plan.name);
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
  ): Promise<OpenedSession | 'claimed' | undefined> => {
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
        // The other bridge recorded no answer, and another request that waited may have begun the conversation anew.
        await sync.lookAfter(looks, signal);
        looks = undefined;
        continue;
      }
      if (isClaimedElsewhere(found.conversation, plan.mark)) continue;
      const isKnown = hasMessages(found.conversation) && plan.appends !== true;
      const replay = isKnown ? [] : (await plan.replay(signal, false)).messages;
      signal.throwIfAborted();
      // Who follows the turn of the same request claims nothing: that was done when it began.
      const isMarked = plan.mark === undefined || found.conversation.request?.token === plan.mark.token;
      if (isMarked) return { ...found, replay, isNew: false };
      // An answer that continues a paused turn may need no prompt.
      const isPrompted = plan.claimsWithPrompt === true && found.conversation.paused === undefined;
      if (isPrompted && takesPromptMetadata()) {
        claims.announce(found.conversation, plan.mark);
        return { ...found, replay, isNew: false, isAnnounced: true };
      }
      if (await claims.take(found.conversation, plan.mark)) return { ...found, replay, isNew: false };
    }
  };
  const open = async (plan: ConversationPlan, signal: AbortSignal): Promise<OpenedSession> => {
    const found = await findSession(plan, signal);
    // The name stays with the conversation that is in use.
    if (found === 'claimed') return createSession({ ...plan, name: newName() }, signal, false);
    const opened = found ?? (await createSession(plan, signal, false));
    if (found !== undefined || !plan.waitsForOthers || plan.mark === undefined) return opened;
    const { sessionID } = opened.conversation;
    try {
      await sync.lookAfter(sync.looks(), signal);
    } catch (error) {
      writes.discard(opened.conversation);
      throw error;
    }
    const first = plan.find()?.conversation.sessionID ?? sessionID;
    if (first === sessionID) return opened;
    // Another bridge has the same name, or was faster: its conversation is continued.
    writes.discard(opened.conversation);
    return open(plan, signal);
  };
  return { open, create: createSession };
};
