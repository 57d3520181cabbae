import type { Clock } from '../../core/clock.ts';
import type { AgentClient, AgentModel } from '../agent/types.ts';
import { toAgentPrompt } from '../conversation/transcript.ts';
import type { Conversations, LockedConversation } from '../conversation/types.ts';
import { type BridgeRequest, filesOfParts, textOfParts } from '../request.ts';
import { withoutEcho } from '../stream/echo-filter.ts';
import { type AnswerReaders, createAnswerReaders, type DisconnectPolicy } from './disconnect.ts';
import type { TurnLog } from './log.ts';
import {
  LOG_START,
  type LogPosition,
  readSentText,
  type TurnOutcome,
  waitForOutcome,
  withTextIfSilent,
} from './outcome.ts';
import { type AgentTurn, type AgentTurnNeeds, startTurn } from './turn.ts';
import { type AnswerSource, createWaitingTurns } from './waiting-turns.ts';

export type AnswerRunnerNeeds = Omit<AgentTurnNeeds, 'autoRejection'> & {
  readonly agent: AgentClient;
  readonly conversations: Pick<Conversations, 'newResponseID'>;
  readonly clock: Clock;
  /** Which of the agent's agents answers; its own choice if none. */
  readonly agentName: string | undefined;
  /** Whether the agent's questions are put to the user. */
  readonly asksInChat: boolean;
  readonly onDisconnect: DisconnectPolicy;
  /** Whether clients are not told what an answer repeats of its prompt before it begins. */
  readonly dropsLeadingEcho: boolean;
};

/** What requests have led to: one turn's part, for everybody who asked for it. */
export type RunningAnswer = {
  readonly log: TurnLog;
  readonly from: LogPosition;
  readonly responseID: string;
  /** How it ended, once the conversation has been noted. */
  readonly outcome: Promise<TurnOutcome>;
  readonly readers: AnswerReaders;
};
/** What is held, which another takes the place of when the agent has lost its session. */
type Holding = { held: LockedConversation };
/** What becomes of the memory of a request, for those who send the same again. */
export type IdempotencyEntry = { readonly remove: () => void; readonly settle: (how: 'answered' | 'failed') => void };
/** What an exchange begins with. */
export type AnswerStart = {
  readonly request: BridgeRequest;
  readonly model: AgentModel;
  readonly idempotency: IdempotencyEntry;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
};

const REJECTION = 'Nobody can be asked for approval here, so this was not allowed. Say what you would have done.';

/** Whether nobody can come back to the session, so that no question asked in it could be answered. */
const isThrownAway = ({ isBackgroundTask: isTask, isStored: isKept, conversation: place }: BridgeRequest): boolean =>
  isTask || (!isKept && place.kind === 'unnamed');

/**
 * Begins exchanges: each goes on with a turn that waits for an answer, or begins a new one, and keeps the conversation's record
 * in step with it. The conversation is released when the exchange has ended.
 */
export const createAnswerRunner = (
  needs: AnswerRunnerNeeds,
): ((held: LockedConversation, beginning: AnswerStart) => Promise<RunningAnswer>) => {
  const { agent, conversations, clock } = needs;
  const turnNeeds: AgentTurnNeeds = { ...needs, autoRejection: needs.asksInChat ? undefined : REJECTION };
  const paused = createWaitingTurns(agent, turnNeeds);
  const never = new AbortController().signal;

  /** Keeps the conversation's record in step with the turn, whoever reads. */
  const keep = async (
    holding: Holding,
    going: AnswerSource,
    asked: BridgeRequest,
    responseID: string,
  ): Promise<TurnOutcome> => {
    const { turn, log: turnLog, from, ifSilent } = going;
    try {
      const settled = await waitForOutcome(turnLog, from, { clock, signal: never });
      const outcome = withTextIfSilent(turnLog, from, settled, ifSilent);
      const hasRun = turn?.refusal() === undefined;
      if (hasRun) {
        const words = textOfParts(asked.prompt);
        const told = readSentText(turnLog, from, outcome);
        await holding.held.record({
          promptText: words,
          files: filesOfParts(asked.prompt),
          // As the client heard it, or its history would be taken for another one.
          answerText: needs.dropsLeadingEcho ? withoutEcho(told, words) : told,
          responseID,
          promptID: turn?.promptID(),
          isStopped: turn?.isAborted() === true,
        });
      }
      if (turn !== undefined && turnLog.end() === undefined) paused.add(turn, outcome);
      return outcome;
    } finally {
      holding.held.release();
    }
  };
  const newTurn = (holding: Holding, asked: BridgeRequest, model: AgentModel): AnswerSource => {
    const { sessionID, knownMessageIDs: earlier } = holding.held.session;
    const promptNow = () => toAgentPrompt(asked, holding.held.replay, { model, agent: needs.agentName });
    const renew = async (signal: AbortSignal) => {
      holding.held = await holding.held.renew(signal);
      return { sessionID: holding.held.session.sessionID, prompt: promptNow() };
    };
    const needsNow = isThrownAway(asked) ? { ...turnNeeds, autoRejection: REJECTION } : turnNeeds;
    const turn = startTurn(
      sessionID,
      { kind: 'prompt', prompt: promptNow(), knownMessageIDs: earlier, renewSession: renew },
      needsNow,
    );
    return { turn, log: turn.log, from: LOG_START };
  };
  const readersOf = (
    ofTurn: AgentTurn | undefined,
    kept: Promise<TurnOutcome>,
    fate: IdempotencyEntry,
  ): AnswerReaders => {
    // Let go at the end: what is remembered for retries must not hold what the turn was asked.
    let turn = ofTurn;
    let isOver = false;
    kept
      .then(({ last }) => {
        // What was never begun may be tried again; what failed in the middle may not, by mistake.
        if (turn?.refusal() !== undefined) fate.remove();
        else fate.settle(last.kind === 'failure' ? 'failed' : 'answered');
      }, fate.remove)
      .finally(() => {
        isOver = true;
        turn = undefined;
      });
    return createAnswerReaders(clock, needs.onDisconnect, {
      isOver: () => isOver,
      end() {
        // Whoever comes back must not be given what its own leaving has cut off.
        fate.remove();
        void turn?.abort();
      },
    });
  };
  return async (held, { request: asked, model, idempotency: fate, signal }) => {
    const { session: conversation } = held;
    const holding: Holding = { held };
    const on = asked.isBackgroundTask ? undefined : await paused.resume(conversation, asked, signal);
    const going = on ?? newTurn(holding, asked, model);
    const responseID = conversations.newResponseID(conversation);
    const kept = keep(holding, going, asked, responseID);
    const readers = readersOf(going.turn, kept, fate);
    return { log: going.log, from: going.from, responseID, outcome: kept, readers };
  };
};
