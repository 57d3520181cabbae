import { pause } from '../../core/async.ts';
import { Fault } from '../../core/fault.ts';
import { GIVE_UP_AFTER_MS, TRY_EVERY_MS } from '../agent/errors.ts';
import type { AssistantInfo, MessageRecord } from '../agent/schema.ts';
import type { PermissionAnswer, Prompt } from '../agent/types.ts';
import { type BridgeFault, isBridgeFault } from '../errors.ts';
import { INTERRUPTED, toAnswerFailure, toTurnEnd } from './failure.ts';

import { createTurnLog, type TurnEnd, type TurnLog } from './log.ts';
import { type TurnWatchNeeds, watchTurn } from './watch.ts';

/** One run of the agent. It goes on whether somebody reads its log or not, until it has ended or is aborted. */
export type AgentTurn = {
  /** Changes once, when the agent turns out to have lost the session before the turn could begin. */
  readonly sessionID: () => string;
  readonly log: TurnLog;
  /** The agent's id of the user message that it answers, once that is known. */
  readonly promptID: () => string | undefined;
  /** Faults with `not-found` when the question is not open any more. */
  readonly answerPermission: (askID: string, answer: PermissionAnswer) => Promise<void>;
  /** Ends it at the agent, once however often it is called. */
  readonly abort: () => Promise<void>;
  /** Resolves when it is over; never rejects. A prompt that the agent refused is a failed turn. */
  readonly ended: Promise<void>;
  readonly isAborted: () => boolean;
  /** Resolves once a turn that was found has been read from the agent; at once for others. */
  readonly loaded: Promise<void>;
  /** The fault of a prompt that the agent never took, so that nothing has happened. */
  readonly refusal: () => Fault<BridgeFault> | undefined;
};

export type AgentTurnNeeds = TurnWatchNeeds;

/** How a turn comes to be: by a prompt, or found under way after a restart. */
export type TurnStart =
  | {
      readonly kind: 'prompt';
      readonly prompt: Prompt;
      readonly knownMessageIDs: ReadonlySet<string>;
      /** Another session, for an agent that knows the first one no more, and what is asked there. */
      readonly renewSession: (signal: AbortSignal) => Promise<{ readonly sessionID: string; readonly prompt: Prompt }>;
    }
  | { readonly kind: 'existing' };

type Renew = Extract<TurnStart, { readonly kind: 'prompt' }>['renewSession'];

/** The event stream is a connection of its own, and may be this much behind the answer to the prompt. */
const FEED_LAG_MS = 250;
/** How long a prompt may take to be heard of. An abort that overtakes it would end nothing. */
const BEGIN_LIMIT_MS = 1000;
/** How long an agent that was told to abort may take to say what it has come to. */
const ABORT_LIMIT_MS = 2000;

const left = () => new Fault({ kind: 'client-left' });
const isAbort = (error: { readonly name: string } | undefined): boolean => error?.name === 'MessageAbortedError';
const failedWith = (detail: BridgeFault): TurnEnd => ({ kind: 'failed', failure: toAnswerFailure(detail) });

/** Whether the agent said that it took no prompt, or was never reached: then nothing was begun. Silence says nothing. */
const wasNotBegun = ({ detail }: Fault<BridgeFault>): boolean => {
  switch (detail.kind) {
    case 'agent-failed':
      return detail.isRetryable || detail.code === 'agent_refused' || detail.code === 'agent_unauthorized';
    case 'backend-error':
    case 'not-found':
    case 'unavailable':
      return true;
    default:
      return false;
  }
};

/** Whether the agent has answered, and said that the turn went wrong in a way that it cannot tell of. */
const hasFailed = ({ detail }: Fault<BridgeFault>): boolean =>
  detail.kind === 'agent-failed' && detail.code === 'agent_failed';

/** Begins to follow a turn at once, and the turn itself, if there is a prompt. */
export const startTurn = (firstSessionID: string, start: TurnStart, needs: AgentTurnNeeds): AgentTurn => {
  let sessionID = firstSessionID;
  const { agent, clock, log } = needs;
  const writer = createTurnLog();
  const ending = new AbortController();
  const { signal } = ending;
  const earlier: ReadonlySet<string> = start.kind === 'prompt' ? start.knownMessageIDs : new Set();
  const watch = watchTurn(needs, { writer, earlier, sessionID: () => sessionID, signal });
  const { transcript, unheard } = watch;
  const looked = Promise.withResolvers<void>();
  let aborting: Promise<void> | undefined;
  let refusal: Fault<BridgeFault> | undefined;

  /** Waits until the events have caught up with the answer; what is still missing then is looked up. */
  const catchUp = async ({ info }: MessageRecord): Promise<void> => {
    const isSure = () => !watch.hasLost() && transcript.isComplete(info.id);
    await watch.until(() => watch.hasLost() || isSure(), FEED_LAG_MS);
    if (!isSure()) await watch.look();
    if (info.role === 'user' || transcript.hasAnswer(info.id)) return;
    transcript.setPrompt(info.parentID);
    await watch.look();
  };
  /** By the agent's own end or by somebody else: what is there then must not look like a whole answer. */
  const isAbortedElsewhere = ({ error }: AssistantInfo): boolean => isAbort(error) && aborting === undefined;
  const isBusy = async (): Promise<boolean | undefined> => {
    try {
      return (await agent.busySessions(signal)).has(sessionID);
    } catch (error) {
      if (signal.aborted || !isBridgeFault(error)) throw error;
      return undefined;
    }
  };
  /** Nobody answers for the turn any more, so it is looked at until it is over. */
  const follow = async (): Promise<TurnEnd> => {
    let seenAt = clock.now();
    for (;;) {
      const busy = await isBusy();
      if (busy !== undefined) seenAt = clock.now();
      if (busy === false) break;
      if (clock.now() - seenAt > GIVE_UP_AFTER_MS) return INTERRUPTED;
      await pause(clock, TRY_EVERY_MS, signal);
    }
    await watch.look();
    const said = transcript.lastAnswer();
    return said?.time.completed === undefined || isAbortedElsewhere(said) ? INTERRUPTED : toTurnEnd(said);
  };
  const refused = (fault: Fault<BridgeFault>): TurnEnd => {
    refusal = fault;
    return failedWith(fault.detail);
  };
  const askAnew = async (renew: Renew): Promise<TurnEnd> => {
    let prompt: Prompt;
    try {
      ({ sessionID, prompt } = await renew(signal));
    } catch (error) {
      if (signal.aborted || !isBridgeFault(error)) throw error;
      return refused(error);
    }
    return ask(prompt);
  };
  const ask = async (prompt: Prompt, renew?: Renew): Promise<TurnEnd> => {
    let last: MessageRecord;
    try {
      last = await agent.prompt(sessionID, prompt, signal);
    } catch (error) {
      if (signal.aborted || !isBridgeFault(error)) throw error;
      if (error.detail.kind === 'not-found' && renew !== undefined) return askAnew(renew);
      if (wasNotBegun(error)) return refused(error);
      log('warn', 'turn-followed', { reason: error.detail.kind });
      const how = await follow();
      return how === INTERRUPTED && hasFailed(error) ? failedWith(error.detail) : how;
    }
    await catchUp(last);
    transcript.applySnapshot([last]);
    if (last.info.role === 'user') return { kind: 'answered', finish: 'stop' };
    return isAbortedElsewhere(last.info) ? INTERRUPTED : toTurnEnd(last.info);
  };
  const found = async (): Promise<TurnEnd> => {
    await watch.lose();
    looked.resolve();
    return follow();
  };
  const run = async (): Promise<void> => {
    try {
      writer.finish(await (start.kind === 'prompt' ? ask(start.prompt, start.renewSession) : found()));
    } catch (error) {
      if (!signal.aborted) unheard('turn-lost')(error);
      writer.finish(signal.aborted ? { kind: 'answered', finish: 'stop' } : INTERRUPTED);
    } finally {
      watch.stop();
      ending.abort(left());
    }
  };
  if (start.kind === 'prompt') looked.resolve();
  const running = run();
  const isOver = (): boolean => writer.log.end() !== undefined;
  const stop = async (): Promise<void> => {
    await watch.until(() => isOver() || transcript.promptID() !== undefined, BEGIN_LIMIT_MS);
    if (isOver()) return;
    const done = new AbortController();
    const over = running.finally(() => done.abort(left()));
    await agent.abort(sessionID, done.signal).catch(unheard('turn-not-aborted'));
    // What was said until then comes with the agent's own answer, if that comes soon.
    await Promise.race([over, pause(clock, ABORT_LIMIT_MS, done.signal).catch(() => {})]);
    ending.abort(left());
  };
  return {
    sessionID: () => sessionID,
    log: writer.log,
    promptID: transcript.promptID,
    answerPermission: watch.answer,
    abort() {
      aborting ??= stop();
      return aborting;
    },
    ended: running,
    isAborted: () => aborting !== undefined,
    loaded: looked.promise,
    refusal: () => refusal,
  };
};
