import type { RunInSlices } from '../../core/time-slices.ts';
import type { AgentModel, Prompt } from '../agent/types.ts';
import { toAgentPrompt } from '../conversation/transcript.ts';
import type { LockedConversation, TurnReaders } from '../conversation/types.ts';
import { type BridgeRequest, type ClientFunctions, isOneOff } from '../request.ts';
import type { AnswerSource } from './approvals/waiting-turns.ts';
import { LOG_START } from './outcome.ts';
import type { AnswerHandle } from './sharing/shared-answers.ts';
import { toToolFault } from './tool-results.ts';
import { type AgentTurn, type AgentTurnNeeds, startTurn } from './turn.ts';

/** What an answer starts with. */
export type AnswerStart = {
  readonly request: BridgeRequest;
  readonly model: AgentModel;
  readonly handle: AnswerHandle;
  /** Of the ids of the answer. */
  readonly token: string;
  /** The clients of the answer at all bridges; undefined if no other bridge can find it. */
  readonly readersOf: ((sessionID: () => string) => TurnReaders) | undefined;
  /** Whether the request has a key, by which its answer is found even if it was read. */
  readonly hasKey: boolean;
  /** The turn to follow, if another bridge or an earlier process has started it. */
  readonly started?: StartedAnswer | undefined;
};

/** A turn that another bridge or an earlier process has started. */
export type StartedAnswer = { readonly promptID: string; readonly isRecorded: boolean };

type NewTurnNeeds = {
  readonly turn: AgentTurnNeeds;
  readonly agentName: string | undefined;
  readonly runInSlices: RunInSlices;
};

/** The lock is replaced when the agent has lost the session, or another bridge was faster. */
export type CurrentLock = { locked: LockedConversation; readonly sessionID: { now: string } };

/** Goes on in another session, or in the same one as it is now. */
export const replaceLock = (lock: CurrentLock, locked: LockedConversation): void => {
  lock.locked = locked;
  lock.sessionID.now = locked.session.sessionID;
};

/** The id as it is then. Apart from the functions that know the request: what reports readers stays with an answer that is kept. */
export const sessionIDNow = (sessionID: CurrentLock['sessionID']) => (): string => sessionID.now;

/** The message with which permission requests are rejected where no one can answer them. */
export const REJECTION =
  'Nobody can be asked for approval here, so this was not allowed. Say what you would have done.';

/** Tools that the agent does not take are refused before a stream begins. */
const refuseTools = async (turn: AgentTurn, clientTools: ClientFunctions): Promise<void> => {
  await turn.begun();
  const refusal = turn.refusal();
  const fault = refusal && toToolFault(refusal, clientTools);
  if (fault !== undefined && fault !== refusal) throw fault;
};

/**
 * Starts the turn of a prompt. Where the conversation's claim is stored with the prompt, it resolves once that is so: until then the
 * turn's log may have events of another bridge's turn, which the prompt is then refused for.
 */
export const createNewTurns = ({ turn: turnNeeds, agentName, runInSlices }: NewTurnNeeds) => {
  return async (
    lock: CurrentLock,
    { request, model, handle, token, readersOf }: AnswerStart,
  ): Promise<AnswerSource> => {
    const createPrompt = (signal: AbortSignal): Promise<Prompt> =>
      runInSlices(toAgentPrompt(request, lock.locked.replay, { model, agent: agentName, token }), signal);
    const renewSession = async (signal: AbortSignal) => {
      replaceLock(lock, await lock.locked.renew(signal));
      return { sessionID: lock.sessionID.now, prompt: await createPrompt(signal) };
    };
    const start = (prompt: Prompt): AgentTurn => {
      const { session } = lock.locked;
      const { knownMessageIDs } = session;
      const turn = { kind: 'prompt', prompt, knownMessageIDs, renewSession } as const;
      // No later request could carry the approval.
      const needs = isOneOff(request) ? { ...turnNeeds, autoRejection: REJECTION } : turnNeeds;
      return startTurn(session.sessionID, turn, needs);
    };
    /** Undefined where another bridge was faster, and the prompt is not stored. */
    const startClaimed = async (prompt: Prompt): Promise<AgentTurn | undefined> => {
      const claim = await lock.locked.claimWithPrompt(handle.signal);
      if (claim === 'lost') return undefined;
      const turn = start({ ...prompt, claim });
      const abort = (): void => void turn.abort();
      handle.signal.addEventListener('abort', abort, { once: true });
      const outcome = await claim?.outcome;
      handle.signal.removeEventListener('abort', abort);
      if (outcome !== 'outdated') return turn;
      await turn.ended;
      return undefined;
    };
    let prompt = await createPrompt(handle.signal);
    handle.signal.throwIfAborted();
    handle.begin(readersOf?.(sessionIDNow(lock.sessionID)));
    let turn = await startClaimed(prompt);
    while (turn === undefined) {
      replaceLock(lock, await lock.locked.reopen(handle.signal));
      prompt = await createPrompt(handle.signal);
      turn = await startClaimed(prompt);
    }
    if (request.clientTools !== undefined) await refuseTools(turn, request.clientTools);
    return { turn, log: turn.log, from: LOG_START };
  };
};
