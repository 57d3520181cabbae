import { pause, pauseUntil } from '../../core/async.ts';
import { Fault } from '../../core/fault.ts';
import { agentRetryMs, GIVE_UP_AFTER_MS } from '../agent/errors.ts';
import type { AssistantInfo, MessageRecord } from '../agent/schema.ts';
import type { AgentPermissionReply, Prompt } from '../agent/types.ts';
import { type BridgeFault, isBridgeFault, toAnswerFailure } from '../errors.ts';
import { INTERRUPTED, isAbortError, toTurnEnd } from './failure.ts';
import { createTurnLog, type TurnEnd, type TurnLog } from './log.ts';
import { type TurnWatchNeeds, watchTurn } from './watch.ts';

/** One run of the agent. It continues without readers of its log, until it has ended or is aborted. */
export type AgentTurn = {
  /** Changes once if the agent has lost the session before the turn could start. */
  readonly sessionID: () => string;
  readonly log: TurnLog;
  /** The agent's id of the user message that the turn answers, once it is known. */
  readonly promptID: () => string | undefined;
  /** Faults with `not-found` when the permission request is not open any more. */
  readonly answerPermission: (requestID: string, answer: AgentPermissionReply) => Promise<void>;
  /** Aborts the turn at the agent, once even if it is called again. */
  readonly abort: () => Promise<void>;
  /** Resolves once the agent has begun it or refused it, or after a second. */
  readonly begun: () => Promise<void>;
  /** Resolves when it is over; never rejects. A prompt that the agent refused is a failed turn. */
  readonly ended: Promise<void>;
  readonly isAborted: () => boolean;
  /** Whether an abort ended it before the agent had completed it. */
  readonly isCutOff: () => boolean;
  /** Whether a tool was called, or nothing is known about that. */
  readonly mayHaveCalledTools: () => boolean;
  /** Resolves once an existing turn was read from the agent; at once for a new one. */
  readonly loaded: Promise<void>;
  /** The fault of a prompt that the agent has not accepted, so that nothing has happened. */
  readonly refusal: () => Fault<BridgeFault> | undefined;
};

export type AgentTurnNeeds = TurnWatchNeeds;

/** A new turn for a prompt, or one that was already running when this process was started. */
export type TurnStart =
  | {
      readonly kind: 'prompt';
      readonly prompt: Prompt;
      /** Ids of the user messages that are in the session already. */
      readonly knownMessageIDs: ReadonlySet<string>;
      /** Creates a session in place of one that the agent has lost. Returns it with the prompt for it. */
      readonly renewSession: (signal: AbortSignal) => Promise<{ readonly sessionID: string; readonly prompt: Prompt }>;
    }
  /**
   * `promptID`: the turn of this prompt, also if it has ended; else the newest. `continued`: it has ended for now, and goes on if
   * that resolves to true.
   */
  | { readonly kind: 'existing'; readonly promptID?: string; readonly continued?: Promise<boolean> };

type ExistingTurn = Extract<TurnStart, { readonly kind: 'existing' }>;
type RenewSession = Extract<TurnStart, { readonly kind: 'prompt' }>['renewSession'];

/** The event stream is another connection, and may be this much behind the response to the prompt. */
const EVENT_LAG_MS = 250;
/** How long a prompt may take until the first event about it. An abort that overtakes it would abort nothing. */
const START_LIMIT_MS = 1000;
/** How long an aborted agent may take to send its answer so far. */
const ABORT_LIMIT_MS = 2000;

/** How long a turn may take to go on after the client's results were stored: its agent may have to start first. */
const CONTINUES_WITHIN_MS = 30_000;

const STOPPED = new Fault({ kind: 'client-left' });
const failedEnd = (detail: BridgeFault): TurnEnd => ({ kind: 'failed', failure: toAnswerFailure(detail) });

const REFUSALS = ['agent_refused', 'agent_unauthorized', 'prompt_too_large'];

/** Whether the agent refused the prompt, or was never reached, so that nothing has begun. No response proves nothing. */
const isRefusal = ({ detail }: Fault<BridgeFault>): boolean => {
  switch (detail.kind) {
    case 'agent-failed':
      return detail.isRetryable || REFUSALS.includes(detail.code);
    case 'backend-error':
    case 'conflict':
    case 'not-found':
    case 'unavailable':
      return true;
    default:
      return false;
  }
};

const AGENT_ERRORS = ['agent_failed', 'agent_disk_full', 'agent_store_failed'];

/** Whether the agent has responded with an error of its own, of which the messages may say more. */
const isAgentError = ({ detail }: Fault<BridgeFault>): boolean =>
  detail.kind === 'agent-failed' && AGENT_ERRORS.includes(detail.code);

/** Watches a turn from now on, and starts it if there is a prompt. */
export const startTurn = (firstSessionID: string, start: TurnStart, needs: AgentTurnNeeds): AgentTurn => {
  let sessionID = firstSessionID;
  const { agent, clock, chance, log } = needs;
  const writer = createTurnLog();
  const ending = new AbortController();
  const { signal } = ending;
  const knownMessageIDs: ReadonlySet<string> = start.kind === 'prompt' ? start.knownMessageIDs : new Set();
  const firstPrompt = start.kind === 'prompt' ? start.prompt : undefined;
  const watch = watchTurn(needs, { writer, prompt: firstPrompt, knownMessageIDs, sessionID: () => sessionID, signal });
  const { reducer, logFailure } = watch;
  const loaded = Promise.withResolvers<void>();
  let aborting: Promise<void> | undefined;
  let refusal: Fault<BridgeFault> | undefined;
  let isCutOff = false;
  /** It was ended here without the agent's answer, so the log may lack something. */
  let isLost = false;

  /** Waits until the events have caught up with the response. What is still missing then is read from the agent. */
  const catchUp = async ({ info }: MessageRecord): Promise<void> => {
    const isLogged = () => !watch.hasLostEvents() && reducer.isComplete(info.id);
    await watch.waitUntil(() => watch.hasLostEvents() || isLogged(), EVENT_LAG_MS);
    if (!isLogged()) await watch.readMessages();
    if (info.role === 'user' || reducer.hasAnswer(info.id)) return;
    reducer.setPrompt(info.parentID);
    await watch.readMessages();
  };
  /** By the agent's own stop or by another program: then the text so far must not look like a complete answer. */
  const isAbortedElsewhere = ({ error }: AssistantInfo): boolean => isAbortError(error) && aborting === undefined;
  const endOf = (last: AssistantInfo): TurnEnd => {
    isCutOff = isAbortError(last.error);
    return isAbortedElsewhere(last) ? INTERRUPTED : toTurnEnd(last);
  };
  const isBusy = async (): Promise<boolean | undefined> => {
    try {
      return (await agent.busySessions(signal)).has(sessionID);
    } catch (error) {
      if (signal.aborted || !isBridgeFault(error)) throw error;
      return undefined;
    }
  };
  /** The response to the prompt is lost, so the session's status is read until the turn is over. */
  const pollUntilEnd = async (waitUntilMs = 0, hasGoneOn = (): boolean => true): Promise<TurnEnd> => {
    let reachedAt = clock.now();
    for (;;) {
      const woken = watch.nextIdle();
      const busy = await isBusy();
      if (busy !== undefined) reachedAt = clock.now();
      if (busy === false && !hasGoneOn()) await watch.readMessages();
      if (busy === false && (hasGoneOn() || clock.now() >= waitUntilMs)) break;
      if (clock.now() - reachedAt > GIVE_UP_AFTER_MS) return INTERRUPTED;
      // Not less and less often: all turns share the read.
      await pauseUntil(clock, { ms: agentRetryMs(1, chance), woken }, signal);
    }
    await watch.readMessages();
    const last = reducer.lastAnswer();
    if (!hasGoneOn()) return INTERRUPTED;
    if (last?.time.completed !== undefined) return endOf(last);
    isCutOff = true;
    return INTERRUPTED;
  };
  const endRefused = (fault: Fault<BridgeFault>): TurnEnd => {
    refusal = fault;
    return failedEnd(fault.detail);
  };
  const promptNewSession = async (renewSession: RenewSession): Promise<TurnEnd> => {
    let prompt: Prompt;
    try {
      ({ sessionID, prompt } = await renewSession(signal));
      watch.followSession();
    } catch (error) {
      if (signal.aborted || !isBridgeFault(error)) throw error;
      return endRefused(error);
    }
    return sendPrompt(prompt);
  };
  const sendPrompt = async (prompt: Prompt, renewSession?: RenewSession): Promise<TurnEnd> => {
    let last: MessageRecord;
    try {
      const sending = agent.prompt(sessionID, prompt, signal);
      last = await (prompt.claim === undefined ? sending : Promise.race([sending, watch.untilKeptOut()]));
    } catch (error) {
      if (signal.aborted || !isBridgeFault(error)) throw error;
      if (error.detail.kind === 'not-found' && renewSession !== undefined) return promptNewSession(renewSession);
      // What is not accepted never will be, and the session may have the turn of another bridge.
      if (isRefusal(error) || !(await watch.isAccepted())) return endRefused(error);
      log('warn', 'turn-followed', { reason: error.detail.kind });
      const end = await pollUntilEnd();
      return end === INTERRUPTED && isAgentError(error) ? failedEnd(error.detail) : end;
    }
    await catchUp(last);
    reducer.applySnapshot([last]);
    if (last.info.role === 'user') return { kind: 'answered', finish: 'stop' };
    return endOf(last.info);
  };
  const loadExisting = async ({ promptID, continued }: ExistingTurn): Promise<TurnEnd> => {
    if (promptID !== undefined) reducer.setPrompt(promptID);
    await watch.recover();
    loaded.resolve();
    if (continued === undefined) return pollUntilEnd();
    const before = reducer.lastAnswer()?.id;
    if (!(await continued)) return INTERRUPTED;
    // An agent that was restarted meanwhile goes on with the turn by itself.
    const hasGoneOn = (): boolean => reducer.lastAnswer()?.id !== before;
    return pollUntilEnd(clock.now() + CONTINUES_WITHIN_MS, hasGoneOn);
  };
  const run = async (): Promise<void> => {
    try {
      writer.finish(
        await (start.kind === 'prompt' ? sendPrompt(start.prompt, start.renewSession) : loadExisting(start)),
      );
    } catch (error) {
      if (!signal.aborted) logFailure('turn-lost')(error);
      isCutOff = true;
      isLost = true;
      writer.finish(signal.aborted ? { kind: 'answered', finish: 'stop' } : INTERRUPTED);
    } finally {
      firstPrompt?.claim?.settle('unknown');
      watch.stop();
      ending.abort(STOPPED);
    }
  };
  if (start.kind === 'prompt') loaded.resolve();
  const running = run();
  const isOver = (): boolean => writer.log.end() !== undefined;
  const begun = (): Promise<void> =>
    watch.waitUntil(() => isOver() || reducer.promptID() !== undefined, START_LIMIT_MS);
  const abort = async (): Promise<void> => {
    await begun();
    if (isOver()) return;
    const done = new AbortController();
    const over = running.finally(() => done.abort(STOPPED));
    // Where the agent has no prompt of it, the session may have the turn of another bridge.
    const stop = async () => (await watch.isAccepted()) && agent.abort(sessionID, done.signal, reducer.promptID());
    await stop().catch(logFailure('turn-not-aborted'));
    // The response to the prompt has the text so far, if it comes soon.
    await Promise.race([over, pause(clock, ABORT_LIMIT_MS, done.signal).catch(() => {})]);
    ending.abort(STOPPED);
  };
  return {
    sessionID: () => sessionID,
    log: writer.log,
    promptID: reducer.promptID,
    answerPermission: watch.answerPermission,
    abort() {
      aborting ??= abort();
      return aborting;
    },
    begun,
    ended: running,
    isAborted: () => aborting !== undefined,
    isCutOff: () => isCutOff,
    mayHaveCalledTools: () => isLost || writer.log.items().some(({ kind }) => kind === 'call'),
    loaded: loaded.promise,
    refusal: () => refusal,
  };
};
