import type { AgentModel } from '../agent/types.ts';
import { toAgentPrompt } from '../conversation/transcript.ts';
import type { Conversations, LockedConversation } from '../conversation/types.ts';
import { type BridgeRequest, filesOfParts, isOneOff, textOfParts } from '../request.ts';
import { removeEcho } from '../stream/echo-filter.ts';
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

export type AnswerSettings = {
  /** Which of the agent's agents answers. Undefined: the agent's default. */
  readonly agentName: string | undefined;
  /** Whether the user is asked for approval in the chat. Else all permission requests are rejected. */
  readonly asksInChat: boolean;
  readonly onDisconnect: DisconnectPolicy;
  /** Whether a repetition of the prompt at the beginning of an answer is removed. */
  readonly dropsLeadingEcho: boolean;
};

type AnswerRunnerNeeds = {
  readonly turn: Omit<AgentTurnNeeds, 'autoRejection'>;
  readonly conversations: Pick<Conversations, 'newResponseID'>;
  readonly settings: AnswerSettings;
};

/** An answer that is read by one request, or by several equal ones: a part of a turn's log. */
export type RunningAnswer = {
  readonly log: TurnLog;
  readonly from: LogPosition;
  readonly responseID: string;
  /** How it ended, once the conversation was stored. */
  readonly outcome: Promise<TurnOutcome>;
  readonly readers: AnswerReaders;
};

/** The entry of a request in the idempotency store. */
export type IdempotencyEntry = {
  readonly remove: () => void;
  readonly settle: (result: 'answered' | 'failed') => void;
};

export type AnswerStart = {
  readonly request: BridgeRequest;
  readonly model: AgentModel;
  readonly idempotency: IdempotencyEntry;
  /** Aborts when no client waits any more. */
  readonly signal: AbortSignal;
};

/** Starts an answer in a locked conversation, which is released when the answer has ended. */
type AnswerRunner = (locked: LockedConversation, start: AnswerStart) => Promise<RunningAnswer>;

/** The lock is replaced when the agent has lost the session. */
type CurrentLock = { locked: LockedConversation };

const REJECTION = 'Nobody can be asked for approval here, so this was not allowed. Say what you would have done.';

/** An answer resumes a turn that waits for approval, or starts a new one. The conversation is stored when it has ended. */
export const createAnswerRunner = ({ turn: needs, conversations, settings }: AnswerRunnerNeeds): AnswerRunner => {
  const { agent, clock } = needs;
  const turnNeeds: AgentTurnNeeds = { ...needs, autoRejection: settings.asksInChat ? undefined : REJECTION };
  const waitingTurns = createWaitingTurns(agent, turnNeeds);
  const never = new AbortController().signal;

  const startNewTurn = (lock: CurrentLock, { request, model }: AnswerStart): AnswerSource => {
    const { sessionID, knownMessageIDs } = lock.locked.session;
    const createPrompt = () => toAgentPrompt(request, lock.locked.replay, { model, agent: settings.agentName });
    const renewSession = async (signal: AbortSignal) => {
      lock.locked = await lock.locked.renew(signal);
      return { sessionID: lock.locked.session.sessionID, prompt: createPrompt() };
    };
    const start = { kind: 'prompt', prompt: createPrompt(), knownMessageIDs, renewSession } as const;
    // No later request could carry the approval.
    const turn = startTurn(
      sessionID,
      start,
      isOneOff(request) ? { ...turnNeeds, autoRejection: REJECTION } : turnNeeds,
    );
    return { turn, log: turn.log, from: LOG_START };
  };
  /** Waits for the end and stores the exchange, whether a client reads the answer or not. */
  const finish = async (
    lock: CurrentLock,
    { turn, log, from, ifSilent }: AnswerSource,
    { prompt }: BridgeRequest,
    responseID: string,
  ): Promise<TurnOutcome> => {
    try {
      const ended = await waitForOutcome(log, from, { clock, signal: never });
      const outcome = withTextIfSilent(log, from, ended, ifSilent);
      if (turn?.refusal() === undefined) {
        const promptText = textOfParts(prompt);
        const answerText = readSentText(log, from, outcome);
        await lock.locked.record({
          promptText,
          files: filesOfParts(prompt),
          // As the client received it, or its history would not match.
          answerText: settings.dropsLeadingEcho ? removeEcho(answerText, promptText) : answerText,
          responseID,
          promptID: turn?.promptID(),
          isStopped: turn?.isAborted() === true,
        });
      }
      if (turn !== undefined && log.end() === undefined) waitingTurns.add(turn, outcome);
      return outcome;
    } finally {
      lock.locked.release();
    }
  };
  const createReaders = (
    turnOfAnswer: AgentTurn | undefined,
    outcome: Promise<TurnOutcome>,
    idempotency: IdempotencyEntry,
  ): AnswerReaders => {
    // Cleared at the end: the idempotency store must not keep a turn's prompt in memory.
    let turn = turnOfAnswer;
    let isOver = false;
    outcome
      .then(({ last }) => {
        // A prompt that the agent refused may be retried. A turn that failed later must not be repeated by mistake.
        if (turn?.refusal() !== undefined) idempotency.remove();
        else idempotency.settle(last.kind === 'failure' ? 'failed' : 'answered');
      }, idempotency.remove)
      .finally(() => {
        isOver = true;
        turn = undefined;
      });
    return createAnswerReaders(clock, settings.onDisconnect, {
      isOver: () => isOver,
      abort() {
        // A client that comes back must not receive the answer that its own disconnect has cut off.
        idempotency.remove();
        void turn?.abort();
      },
    });
  };
  return async (locked, start) => {
    const { request, idempotency, signal } = start;
    const lock: CurrentLock = { locked };
    const resumed = request.isBackgroundTask ? undefined : await waitingTurns.resume(locked.session, request, signal);
    const source = resumed ?? startNewTurn(lock, start);
    const responseID = conversations.newResponseID(locked.session);
    const outcome = finish(lock, source, request, responseID);
    const readers = createReaders(source.turn, outcome, idempotency);
    return { log: source.log, from: source.from, responseID, outcome, readers };
  };
};
