import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { ClaimOutcome, PromptClaim } from '../agent/prompt-claim.ts';
import type { AgentClient } from '../agent/types.ts';
import type { ConversationIndex } from './lookup.ts';
import { readConversation, type StoredConversation, toSessionMetadata } from './record.ts';
import type { ConversationSync } from './sync.ts';
import type { RequestMark } from './types.ts';
import type { ConversationWrites } from './writes.ts';

/**
 * Which bridge answers in a conversation: the one that has written the token of its answer into the session's metadata, on top
 * of what it knows of the conversation. So two bridges never continue the same one at once.
 */
export type ConversationClaims = {
  /** Tells the other bridges that this one answers now. False: another one was faster, or the agent has lost the session. */
  readonly take: (conversation: StoredConversation, mark: RequestMark) => Promise<boolean>;
  /** The same, to be stored by the prompt that follows. Where none does, `take` stores it. */
  readonly announce: (conversation: StoredConversation, mark: RequestMark) => void;
  /**
   * The claim for a prompt, which the agent stores in its commit: so it takes no prompt of a bridge that has lost its conversation in
   * the meantime. Until then other writes of the conversation wait. `given`: of a session that was just created. Undefined: the claim
   * is lost already.
   */
  readonly withPrompt: (
    given: StoredConversation,
    mark: RequestMark,
    signal: AbortSignal,
  ) => Promise<PromptClaim | undefined>;
  /** Waits while another bridge answers. What a bridge has left behind that was killed is taken over. */
  readonly waitUntilFree: (conversation: StoredConversation, signal: AbortSignal) => Promise<void>;
};

type ConversationClaimsNeeds = {
  readonly agent: Pick<AgentClient, 'busySessions' | 'permissionRequests' | 'session' | 'setMetadata'>;
  readonly index: ConversationIndex;
  readonly sync: Pick<ConversationSync, 'refresh'>;
  readonly writes: Pick<ConversationWrites, 'write' | 'begin'>;
  readonly clock: Clock;
};

const PAUSES_MS = [50, 100, 200, 400] as const;
const LONGEST_PAUSE_MS = 500;
/** A bridge prompts the agent soon after it has claimed a conversation, and stores the exchange soon after the turn's end. */
const WITHOUT_TURN_MS = 2000;

/** Whether another answer than that of `mark` is given in it now, or a bridge has ended without a word. */
export const isClaimedElsewhere = ({ claim }: StoredConversation, mark: RequestMark | undefined): boolean =>
  mark !== undefined && claim !== undefined && claim !== mark.token;

/** The conversation without the claim of an answer. That of another one stays. */
export const withoutClaim = (conversation: StoredConversation, mark: RequestMark | undefined): StoredConversation =>
  conversation.claim !== undefined && conversation.claim === mark?.token
    ? { ...conversation, claim: undefined }
    : conversation;

export const createConversationClaims = ({
  agent,
  index,
  sync,
  writes,
  clock,
}: ConversationClaimsNeeds): ConversationClaims => {
  /** Whether a bridge is at work in the session. A turn that waits for an approval has ended its answer. */
  const isAnswering = async (sessionID: string, signal: AbortSignal): Promise<boolean> => {
    if (!(await agent.busySessions(signal)).has(sessionID)) return false;
    return (await agent.permissionRequests(signal)).every((request) => request.sessionID !== sessionID);
  };
  const claimedBy = (conversation: StoredConversation, mark: RequestMark): StoredConversation => ({
    ...conversation,
    claim: mark.token,
    isUnsure: undefined,
    request: mark,
  });
  const ifClaimedBy =
    ({ token }: RequestMark) =>
    (current: StoredConversation): StoredConversation | undefined =>
      current.claim === token ? current : undefined;
  return {
    async take(conversation, mark) {
      const claimed = claimedBy(conversation, mark);
      index.put(claimed);
      try {
        return await writes.write(claimed, ifClaimedBy(mark));
      } catch {
        // A prompt is worth more than what is noted of it. A session that the agent has lost is not in the index any more.
        return index.bySession(conversation.sessionID)?.claim === mark.token;
      }
    },
    announce(conversation, mark) {
      index.put(claimedBy(conversation, mark));
    },
    async withPrompt(given, mark, signal) {
      const { sessionID } = given;
      if (index.bySession(sessionID) === undefined) index.adopt(given);
      const end = await writes.begin(sessionID);
      const current = index.bySession(sessionID);
      if (signal.aborted || current?.claim !== mark.token) {
        end(undefined);
        signal.throwIfAborted();
        return undefined;
      }
      const { revision } = current;
      const { promise: outcome, resolve: settle } = Promise.withResolvers<ClaimOutcome>();
      void outcome.then((how) => {
        end(how === 'stored' ? revision + 1 : undefined);
        if (how === 'ignored') writes.write(current, ifClaimedBy(mark)).catch(() => {});
      });
      const keepOut = async (keeping: AbortSignal): Promise<void> => {
        for (;;) {
          const stored = readConversation(await agent.session(sessionID, keeping));
          if (stored?.revision !== revision) return;
          // With another revision it is refused.
          const unchanged = toSessionMetadata({ ...stored, revision: revision + 1 });
          await agent.setMetadata(sessionID, unchanged, keeping, revision);
        }
      };
      const metadata = toSessionMetadata({ ...current, revision: revision + 1 });
      return { metadata, ifRevision: revision, outcome, settle, keepOut };
    },
    async waitUntilFree({ sessionID, claim }, signal) {
      let quietSinceMs: number | undefined;
      for (let tries = 0; ; tries += 1) {
        await pause(clock, PAUSES_MS[tries] ?? LONGEST_PAUSE_MS, signal);
        await sync.refresh(sessionID, signal);
        const current = index.bySession(sessionID);
        if (current === undefined || current.claim !== claim) return;
        quietSinceMs = (await isAnswering(sessionID, signal)) ? undefined : (quietSinceMs ?? clock.now());
        if (quietSinceMs === undefined || clock.now() - quietSinceMs < WITHOUT_TURN_MS) continue;
        if (index.bySession(sessionID) === current) index.put({ ...current, claim: undefined, isUpToDate: false });
        return;
      }
    },
  };
};
