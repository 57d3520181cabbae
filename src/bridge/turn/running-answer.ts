import type { RunInSlices } from '../../core/time-slices.ts';
import { responseIDFor, responseTokenOf } from '../conversation/response-id.ts';
import type { LockedConversation } from '../conversation/types.ts';
import type { AnswerFailure } from '../errors.ts';
import type { BridgeRequest } from '../request.ts';
import { type AnswerSource, createWaitingTurns } from './approvals/waiting-turns.ts';
import { exchangedTexts, pausedAt } from './exchange.ts';
import { abortedFailure } from './failure.ts';
import type { TurnLog } from './log.ts';
import {
  type AnswerStart,
  type CurrentLock,
  createNewTurns,
  REJECTION,
  replaceLock,
  type StartedAnswer,
  sessionIDNow,
} from './new-turn.ts';
import {
  LOG_START,
  type LogPosition,
  positionOf,
  type TurnOutcome,
  waitForOutcome,
  withTextIfSilent,
} from './outcome.ts';
import type { AnswerResult } from './sharing/kept-answers.ts';
import type { AnswerHandle, DisconnectPolicy } from './sharing/shared-answers.ts';
import { createToolResults, positionAfter } from './tool-results.ts';
import { type AgentTurn, type AgentTurnNeeds, startTurn } from './turn.ts';

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
  readonly settings: AnswerSettings;
  readonly runInSlices: RunInSlices;
};

/** An answer that is read by one request, or by several equal ones: a part of a turn's log. */
export type RunningAnswer = {
  readonly log: TurnLog;
  readonly from: LogPosition;
  readonly responseID: string;
  /** Whether it is a text of the bridge alone, of which the agent has nothing. */
  readonly isOfBridge: boolean;
  /** How it ended, once the conversation was stored. */
  readonly outcome: Promise<TurnOutcome>;
  /** Why no client gets it: it was aborted after tools had been called. Undefined while it runs, too. */
  readonly refusal: () => AnswerFailure | undefined;
  /** Resolves when nothing holds the request any more: a turn that waits for approval holds its prompt beyond the answer. */
  readonly released: Promise<void>;
};

/** Starts an answer in a locked conversation, which is released when the answer has ended. */
export type AnswerRunner = (locked: LockedConversation, start: AnswerStart) => Promise<RunningAnswer>;

/** The size of a log: of its texts, and of what tools got and gave. */
const countChars = (log: TurnLog): number =>
  log.items().reduce((sum, item) => {
    if (item.kind !== 'call') return sum + item.pieces.reduce((chars, piece) => chars + piece.length, 0);
    return sum + item.call.input.length + (item.result?.output.length ?? 0);
  }, 0);

const toolNamesIn = (log: TurnLog): readonly string[] =>
  log.items().flatMap((item) => (item.kind === 'call' ? [item.call.name] : []));

/** Apart from the function that sets it, whose closures would keep the request in memory for as long as the answer. */
const createRefusal = () => {
  let refusal: AnswerFailure | undefined;
  return {
    get: (): AnswerFailure | undefined => refusal,
    set(failure: AnswerFailure): void {
      refusal = failure;
    },
  };
};

/** Whether it ended because its clients have left: this bridge has aborted it, or the one that the last of them was at. */
const isStopped = (turn: AgentTurn | undefined, handle: AnswerHandle): boolean =>
  turn?.isAborted() === true || (turn?.isCutOff() === true && !handle.isRead());

/** An answer resumes a turn that waits for approval, or starts a new one. The conversation is stored when it has ended. */
export const createAnswerRunner = ({ turn: needs, settings, runInSlices }: AnswerRunnerNeeds): AnswerRunner => {
  const { agent, clock } = needs;
  const turnNeeds: AgentTurnNeeds = { ...needs, autoRejection: settings.asksInChat ? undefined : REJECTION };
  const waitingTurns = createWaitingTurns(agent, turnNeeds);
  const useToolResults = createToolResults(agent, turnNeeds);
  const startNewTurn = createNewTurns({ turn: turnNeeds, agentName: settings.agentName, runInSlices });
  const never = new AbortController().signal;

  /** Waits for the end and stores the exchange, whether a client reads the answer or not. */
  const finish = async (
    lock: CurrentLock,
    { turn, log, from, ifSilent }: AnswerSource,
    { request, started, handle, token, hasKey }: AnswerStart,
    responseID: string,
  ): Promise<TurnOutcome> => {
    const { isBackground = false } = request;
    /** The last of it is sent only now: its reader writes that the client has it. That write is spared where it tells nothing. */
    const isRead = (failed: boolean): boolean => isBackground || (handle.hasReader() && (hasKey || failed));
    try {
      const ended = await waitForOutcome(log, from, { clock, signal: never });
      const outcome = withTextIfSilent(log, from, ended, ifSilent);
      const isReadElsewhere = !isBackground && !handle.hasReader() && handle.isRead();
      if (turn?.refusal() === undefined && isReadElsewhere) lock.locked.leaveToOther();
      else if (turn?.refusal() === undefined && started?.isRecorded !== true) {
        await lock.locked.record({
          ...exchangedTexts(request, { log, from }, outcome, settings),
          responseID,
          promptID: turn?.promptID(),
          isStopped: isStopped(turn, handle),
          isUnread: !isRead(outcome.last.kind === 'failure'),
          paused: pausedAt(lock.locked.session.paused, { turn, log }, outcome),
          failedAtMs: outcome.last.kind === 'failure' ? clock.now() : undefined,
        });
      }
      if (turn !== undefined && log.end() === undefined) waitingTurns.add(turn, outcome);
      if (turn?.refusal() === undefined)
        waitingTurns.setEnded({ sessionID: lock.locked.session.sessionID, token: responseTokenOf(token) });
      return outcome;
    } finally {
      lock.locked.release();
    }
  };
  /** What a retry may do after the end. A prompt that the agent refused may be sent again; a turn that failed may not. */
  const resultOf = (turn: AgentTurn | undefined, { last }: TurnOutcome, handle: AnswerHandle): AnswerResult => {
    if (turn?.refusal() !== undefined) return 'void';
    if (isStopped(turn, handle) && turn?.isCutOff() === true) return turn.mayHaveCalledTools() ? 'failed' : 'void';
    return last.kind === 'failure' ? 'failed' : 'answered';
  };
  const followTurn = async (
    { locked: { session } }: CurrentLock,
    { promptID, isRecorded }: StartedAnswer,
    { toolResults }: BridgeRequest,
  ): Promise<AnswerSource> => {
    const turn = startTurn(session.sessionID, { kind: 'existing', promptID }, turnNeeds);
    await turn.loaded;
    const given = toolResults?.results.map(({ callID }) => callID) ?? [];
    const answered = turn.log.pauses().find(({ calls }) => calls.some(({ id }) => given.includes(id)));
    if (answered !== undefined) return { turn, log: turn.log, from: positionAfter(answered) };
    const { paused } = session;
    // The request was a decision: its answer begins where the one before it ended.
    const isResumed = !isRecorded && paused?.promptID === promptID;
    return { turn, log: turn.log, from: isResumed ? positionOf(paused) : LOG_START };
  };
  return async (locked, start) => {
    const { request, handle, token, started, readersOf } = start;
    const { signal } = handle;
    const lock: CurrentLock = { locked, sessionID: { now: locked.session.sessionID } };
    let prompted = request;
    const resume = async (): Promise<AnswerSource | undefined> => {
      if (started !== undefined) return followTurn(lock, started, request);
      const used = await useToolResults(locked.session, request, signal, () => {
        isOfResults = true;
        begin();
      });
      const hasBegun = isOfResults;
      isOfResults = used?.kind === 'continues';
      if (isOfResults && !hasBegun) begin();
      if (used?.kind === 'continues') return used.source;
      if (used !== undefined) prompted = { ...request, prompt: used.prompt };
      const claim = async () => {
        if (await lock.locked.claimWithoutPrompt()) return undefined;
        replaceLock(lock, await lock.locked.reopen(signal));
        return lock.locked.session;
      };
      return waitingTurns.resume(locked.session, prompted, signal, claim);
    };
    let isOfResults = false;
    const begin = (): void => {
      const turnReaders = readersOf?.(sessionIDNow(lock.sessionID));
      handle.begin(turnReaders, isOfResults);
      if (started !== undefined && handle.hasReader()) turnReaders?.join();
    };
    if (started !== undefined) begin();
    const resumed = request.isBackgroundTask ? undefined : await resume();
    // A decision that the agent has got is not taken back by a client that leaves. Anything else has not begun.
    if (resumed !== undefined && started === undefined && !isOfResults) begin();
    if (resumed !== undefined) void lock.locked.claimWithoutPrompt();
    const source = resumed ?? (await startNewTurn(lock, { ...start, request: prompted }));
    const responseID = responseIDFor(lock.sessionID.now, token);
    // Cleared at the end: an answer that is kept for retries must not keep its turn's prompt in memory.
    let turn = source.turn;
    const refusal = createRefusal();
    const turnEnded = resumed === undefined ? turn?.ended : undefined;
    const abort = (): void => void turn?.abort();
    const outcome = finish(lock, source, start, responseID).finally(() => {
      signal.removeEventListener('abort', abort);
    });
    outcome
      .then((ended) => {
        const result = resultOf(turn, ended, handle);
        if (result === 'failed' && isStopped(turn, handle) && turn?.isCutOff() === true)
          refusal.set(abortedFailure(toolNamesIn(source.log)));
        turn = undefined;
        handle.end(result, countChars(source.log));
      })
      .catch(() => handle.end('failed'));
    const released = Promise.allSettled([outcome, turnEnded]).then(() => undefined);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    const isOfBridge = turn === undefined;
    return { log: source.log, from: source.from, responseID, isOfBridge, outcome, refusal: refusal.get, released };
  };
};
