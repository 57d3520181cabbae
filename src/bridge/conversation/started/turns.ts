import { pause } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import type { KeyedQueue, Ticket } from '../../../core/keyed-queue.ts';
import type { RunInSlices } from '../../../core/time-slices.ts';
import { isNotFound } from '../../agent/errors.ts';
import { promptOfToken, promptOfWords } from '../../agent/prompt-token.ts';
import type { AgentClient } from '../../agent/types.ts';
import { IDEMPOTENCY_KEY_REUSED } from '../../request.ts';
import type { NewHash } from '../digest.ts';
import type { LockConversation } from '../lock.ts';
import type { ConversationIndex } from '../lookup.ts';
import { queueKeyOf } from '../lookup.ts';
import { readHistory, storedBase } from '../match.ts';
import type { ConversationPlan } from '../open-session.ts';
import { exchangeOf, promptIDsIn, type StoredConversation } from '../record.ts';
import type { ConversationSync } from '../sync.ts';
import type { Conversations, LockedConversation, MarkedRequest, RequestMark, StartedTurn } from '../types.ts';
import type { RequestMarks } from './marks.ts';
import { createMeantMarks, type MeantMark } from './meant.ts';
import { areAllOlder } from './readers.ts';
import { promptOfResults, readTurn } from './turn-records.ts';

type StartedTurnsNeeds = {
  readonly agent: Pick<AgentClient, 'session' | 'messages' | 'busySessions' | 'permissionRequests'>;
  readonly index: ConversationIndex;
  readonly sync: ConversationSync;
  readonly marks: RequestMarks;
  readonly queue: KeyedQueue;
  readonly lock: LockConversation;
  /** Tokens of the answers that this bridge gives now: it knows whose they are. */
  readonly ownTokens: ReadonlySet<string>;
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
  readonly clock: Clock;
  readonly readersOf: Conversations['readersOf'];
  readonly bridgeID: string;
};

/** How long a bridge that runs beside this one may take from the mark until the agent has its prompt. */
const STARTING_MS = 30_000;
/** The same of a bridge that may have been killed. */
const STARTING_UNSEEN_MS = 3000;
const STARTING_PAUSE_MS = 25;
/** How long a bridge may take to see that its client has disconnected, and to write that into the mark. */
const LEFT_WITHIN_MS = 100;
const LEFT_PAUSE_MS = 5;
/** How long an agent may take to end an aborted turn. */
const ABORTING_MS = 5000;
const ABORTING_PAUSE_MS = 100;

/** `gone`: the agent has lost the session. `starting`: a bridge is about to send the prompt. */
type FoundTurn = StartedTurn | 'gone' | 'starting' | undefined;

/** In place of the queue's: the request that has begun the turn holds the conversation already, and lets the next one in. */
const NO_TICKET: Ticket = { waitForTurn: async () => {}, announceRelease() {}, release() {} };

/** Finds turns that another bridge or an earlier process has started, by the marks in the metadata of their sessions. */
export const createStartedTurns = (needs: StartedTurnsNeeds): Conversations['findStarted'] => {
  const { agent, index, sync, marks, queue, lock, ownTokens, newHash, runInSlices, clock, readersOf, bridgeID } = needs;
  /** Tokens of turns that requests without a key read now. An equal request of another user must not read the same turn. */
  const given = new Set<string>();

  const meant = createMeantMarks({ index, marks, clock, ownTokens, given, bridgeID });

  /** The conversation as it is now; undefined if the agent has lost it. */
  const readNow = async (sessionID: string, signal: AbortSignal): Promise<StoredConversation | undefined> => {
    await sync.refresh(sessionID, signal);
    return index.bySession(sessionID);
  };
  const isBusy = async (sessionID: string, signal: AbortSignal): Promise<boolean> =>
    (await agent.busySessions(signal)).has(sessionID);
  /** The prompt of a turn that has waited for an approval and was continued by the request: a decision has no prompt. */
  const readResumed = async (
    { sessionID, claim, paused }: StoredConversation,
    { token }: RequestMark,
    signal: AbortSignal,
  ): Promise<string | undefined> => {
    if (claim !== token || paused === undefined) return undefined;
    const isOpen = (await agent.permissionRequests(signal)).some(({ id }) => paused.approvalIDs.includes(id));
    // Aborted for a new prompt, if it does not run any more.
    return !isOpen && (await isBusy(sessionID, signal)) ? paused.promptID : undefined;
  };
  /** Waits while a turn is being aborted. */
  const untilAborted = async (sessionID: string, signal: AbortSignal): Promise<boolean> => {
    const untilMs = clock.now() + ABORTING_MS;
    for (;;) {
      const busy = await isBusy(sessionID, signal);
      if (!busy || clock.now() >= untilMs) return busy;
      await pause(clock, ABORTING_PAUSE_MS, signal);
    }
  };
  const planFor = async (
    { request, owner }: MarkedRequest,
    { sessionID, name, isNamed }: StoredConversation,
    mark: RequestMark,
    signal: AbortSignal,
  ): Promise<ConversationPlan> => {
    const replay = await runInSlices(readHistory(request.history, newHash), signal);
    const find: ConversationPlan['find'] = () => {
      const conversation = index.bySession(sessionID);
      if (conversation === undefined) return undefined;
      const reliesOnStored = request.conversation.kind !== 'unnamed' && replay.entries.length === 0;
      return { conversation, base: reliesOnStored ? storedBase(conversation) : replay.base };
    };
    const place = { owner, name, isNamed, isStored: true, waitsForOthers: false, isStarted: true };
    return { ...place, prompt: request.prompt, mark, find, replay: async () => replay };
  };

  /** `sinceMs`: when it was first looked for. */
  const findTurn = async (
    sent: MarkedRequest,
    marked: MeantMark,
    sinceMs: number,
    signal: AbortSignal,
  ): Promise<FoundTurn> => {
    const { sessionID, request: mark } = marked.conversation;
    const stored = await readNow(sessionID, signal);
    if (stored === undefined) return 'gone';
    const isLast = stored.request?.token === mark.token;
    const isRepeated = mark.keyDigest !== undefined || sent.isRetry || sent.isKnown || mark.failedAtMs !== undefined;
    const mayBeKilled = (current: RequestMark): boolean =>
      marked.storedAtMs === undefined && areAllOlder(current, bridgeID);
    /** A bridge that was killed aborts nothing, and a client that waited for that and has left would have joined nothing. */
    const isAborting = (current: RequestMark): boolean =>
      !mayBeKilled(current) &&
      clock.now() - (marks.times.leftAtOf(current) ?? Number.POSITIVE_INFINITY) >= sent.times.abortedAfterMs;
    /**
     * Whether the turn's clients are still those of the mark that was found. Of requests that do not say that they are sent again
     * one takes a turn that no client reads; the next one sees the change, and does not.
     */
    const isFree = ({ left, readers = [] }: RequestMark): boolean =>
      isRepeated || (left?.atMs === mark.left?.atMs && readers.join() === (mark.readers ?? []).join());
    const turnReaders = readersOf({ sessionID: () => sessionID, token: mark.token });
    const mayBeAlone = !isRepeated || marked.storedAtMs === undefined;
    let isRunning = isLast && (await isBusy(sessionID, signal));
    let isJoined = false;
    // Joined before the turn is read, so that no other bridge aborts it in the meantime.
    if (isRunning && marked.isMeant === true)
      isJoined = await turnReaders.tryJoin((current) => !isAborting(current) && isFree(current), mayBeAlone);
    try {
      if (isRunning && !isJoined) {
        if (!isFree(index.bySession(sessionID)?.request ?? mark)) return 'gone';
        isRunning = await untilAborted(sessionID, signal);
      }
      const records = await agent.messages(sessionID, signal);
      const recorded = exchangeOf(stored, mark);
      const own = promptOfToken(records, mark.token);
      const unseen = isLast ? promptOfWords(records, sent.request.prompt, promptIDsIn(marked.conversation)) : undefined;
      const known = recorded?.promptID || mark.promptID || own || unseen;
      const resumed = known ?? (isLast ? promptOfResults(records, sent.request, isRunning) : undefined);
      const promptID = resumed ?? (isRunning && isLast ? await readResumed(stored, mark, signal) : undefined);
      if (promptID === undefined) {
        const isEarly = (fromMs: number, limitMs: number): boolean => clock.now() - fromMs < limitMs;
        const { storedAtMs } = marked;
        const isSoon =
          storedAtMs === undefined ? isEarly(sinceMs, STARTING_UNSEEN_MS) : isEarly(storedAtMs, STARTING_MS);
        return stored.claim === mark.token && isSoon ? 'starting' : undefined;
      }
      const others = new Set([...promptIDsIn(stored)].filter((id) => id !== promptID));
      const { isComplete, toolNames } = readTurn(records, promptID, others);
      if (!isRunning && !isComplete) return toolNames.length === 0 ? undefined : { kind: 'cut-off', toolNames };
      if (marked.isMeant === 'cut-off') return undefined;
      const plan = await planFor(sent, stored, mark, signal);
      if (!isRunning && !isRepeated && !(await turnReaders.tryJoin(isFree, true))) return 'gone';
      signal.throwIfAborted();
      const queueKey = queueKeyOf(plan);
      const ticket = queue.isFree(queueKey) ? queue.join(queueKey) : NO_TICKET;
      const lockTurn = (lockSignal: AbortSignal) => lock(plan, ticket, lockSignal);
      return { kind: 'known', name: plan.name, mark, promptID, isRecorded: recorded !== undefined, lock: lockTurn };
    } catch (error) {
      if (isJoined) void turnReaders.leave();
      throw error;
    }
  };
  /** The turn of the request's earlier copy. Waits while a bridge has stored the mark of one and not sent its prompt yet. */
  const findMarkedTurn = async (
    sent: MarkedRequest,
    signal: AbortSignal,
  ): Promise<{ readonly token: string; readonly turn: StartedTurn | undefined } | undefined> => {
    const gone = new Set<string>();
    const sinceMs = clock.now();
    const leftUntilMs = sinceMs + LEFT_WITHIN_MS;
    for (;;) {
      const marked = meant.find(sent, gone);
      if (marked === undefined && meant.mayBeLeftSoon(sent) && clock.now() < leftUntilMs) {
        await pause(clock, LEFT_PAUSE_MS, signal);
        continue;
      }
      if (marked === undefined) return undefined;
      const { request, sessionID } = marked.conversation;
      if (request.digest !== sent.mark.digest) throw IDEMPOTENCY_KEY_REUSED;
      const isGiven = sent.mark.keyDigest === undefined;
      if (isGiven) given.add(request.token);
      let turn: FoundTurn;
      try {
        turn = await findTurn(sent, marked, sinceMs, signal);
        const isOver = isGiven && marked.isMeant === true;
        if (typeof turn === 'object' || (isOver && turn === undefined)) return { token: request.token, turn };
      } catch (error) {
        if (!isNotFound(error)) throw error;
        turn = 'gone';
      } finally {
        if (isGiven && (typeof turn === 'string' || turn?.kind !== 'known')) given.delete(request.token);
      }
      // Of one key only the first request has sent a prompt; others have left nothing but their marks.
      if (turn === 'gone' || turn === undefined) gone.add(turn === 'gone' ? sessionID : request.token);
      else await pause(clock, STARTING_PAUSE_MS, signal);
    }
  };

  return async (sent, signal) => {
    await marks.catchUp(signal);
    // Only what may be older than the marks is searched for among all sessions; a new chat does not wait for these.
    if (meant.mayBeOld(sent)) await sync.load(signal);
    const found = await findMarkedTurn(sent, signal);
    if (found?.turn?.kind !== 'known') return found?.turn;
    const { token, turn } = { token: found.token, turn: found.turn };
    const giveBack = (): void => void given.delete(token);
    const lockTurn = async (lockSignal: AbortSignal): Promise<LockedConversation> => {
      try {
        const locked = await turn.lock(lockSignal);
        const release = (): void => {
          // An answer that no client had read goes to one request only.
          if (turn.mark.isUnread !== true) giveBack();
          locked.release();
        };
        return { ...locked, release };
      } catch (error) {
        giveBack();
        throw error;
      }
    };
    return { ...turn, lock: lockTurn };
  };
};
