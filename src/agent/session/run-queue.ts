import { ANSWER_CUT_OFF_TEXT } from '../../core/http/agent-api.ts';
import type { Span } from '../../core/http/tracing.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { answerStatePublication, statusPublication } from '../events/records.ts';
import type { AssistantMessage, MessageError, Session, SessionStatus, UserMessage } from '../protocol/types.ts';
import type { Leases, SessionLease } from '../store/cluster.ts';
import { LeaseLostError } from '../store/errors.ts';

/** The reason with which a run is aborted: a client asked for it, the lease was lost, or the server stops (`isByStop`). */
export class RunAborted extends Error {
  override readonly name = 'RunAborted';
  readonly isByStop: boolean;

  constructor({ isByStop = false }: { readonly isByStop?: boolean } = {}) {
    super('Aborted');
    this.isByStop = isByStop;
  }
}

/** The error of an answer that a client has aborted. */
export const ABORTED_ERROR: MessageError = { name: 'MessageAbortedError', data: { message: 'Aborted' } };
/** The error of an answer whose server stopped or was killed. OpenCode has one name for both. */
export const SERVER_STOPPED_ERROR: MessageError = {
  name: 'MessageAbortedError',
  data: { message: ANSWER_CUT_OFF_TEXT },
};

/** A prompt whose turn it is. */
export type QueuedPrompt = {
  readonly session: Session;
  readonly user: UserMessage;
  readonly showStatus: ShowStatus;
  /** To be published with the end of the answer: that it has ended, and that the session is idle unless another prompt waits. */
  readonly atEnd: () => Promise<Publication>;
  /** The lease under which everything of the answer is stored. */
  readonly leaseID: string | undefined;
  /** Whether it is known to ask for an answer, and not for a summary. */
  readonly asksForAnswer: boolean;
  /** Nothing ran in the session since the prompt was stored, and nothing was left there to end. */
  readonly isUntouched: boolean;
  /** What asked for it, in its trace. A server that takes a prompt over does not know. */
  readonly span: Span | undefined;
};
/**
 * What is known of a stored prompt. `isOwed` (true): the store has it as owed, so that another server may have given the
 * answer by then; it is not asked for again. `asksForAnswer` (false): the run need not look whether it asks for a summary.
 */
type KnownOfPrompt = {
  readonly isOwed?: boolean;
  readonly asksForAnswer?: boolean;
  readonly span?: Span | undefined;
};
/** Answers a prompt, and publishes that the session is busy when it begins. Rejects only when the store fails. */
export type AnswerPrompt = (prompt: QueuedPrompt, signal: AbortSignal) => Promise<AssistantMessage>;
/** Publishes a session's status, here and to other servers. */
type ShowStatus = (status: SessionStatus) => Promise<void>;

/** The runs of all sessions: one at a time for each session, in the order of the prompts. */
export type RunQueue = {
  /** Runs a stored prompt when those before it are done. Settles with the answer to this very prompt. */
  readonly run: (session: Session, user: UserMessage, known?: KnownOfPrompt) => Promise<AssistantMessage>;
  /** Whether something runs or waits in a session on this server. */
  readonly isBusyHere: (sessionID: string) => boolean;
  /** The statuses of sessions that are not idle, here and at other servers, by session id. */
  readonly statuses: () => Promise<Readonly<Record<string, SessionStatus>>>;
  readonly counts: () => { readonly running: number; readonly waiting: number };
  /**
   * Aborts what runs and what waits, on all servers, and settles once that has ended. It does not wait for later prompts.
   * `promptID`: only the run of that prompt.
   */
  readonly abort: (sessionID: string, promptID?: string) => Promise<void>;
  /** The same on this server alone. */
  readonly abortHere: (sessionID: string, promptID?: string) => Promise<void>;
  /** As `abort`, and later prompts are aborted at once until `open`. The session is idle after it. */
  readonly close: (sessionID: string) => Promise<void>;
  readonly isClosing: (sessionID: string) => boolean;
  readonly open: (sessionID: string) => void;
  /** Runs `work`, which may begin a run. Until it settles, `idle` does not settle either. */
  readonly whileAccepting: <T>(work: () => Promise<T>) => Promise<T>;
  /** Settles once nothing runs, nothing waits and no prompt is being accepted. */
  readonly idle: () => Promise<void>;
  /** As `abortHere` for all sessions; nothing runs any more after it. */
  readonly stop: () => Promise<void>;
};

/** Ends answers that no run ends any more. The caller holds the session's lease, where there are other servers. */
export type RunRecovery = {
  /**
   * Before a prompt is run: ends what was left in its session. Returns the answer where it was given meanwhile: another
   * server has found the prompt before this one had the lease.
   */
  readonly beforeRun: (user: UserMessage, leaseID: string | undefined) => Promise<AssistantMessage | undefined>;
  /** After a run that could not end its answer: does it. If the store failed, a prompt that was not begun stays owed. */
  readonly afterFailure: (user: UserMessage, error: unknown, leaseID: string | undefined) => Promise<unknown>;
};

type RunQueueNeeds = {
  readonly answer: AnswerPrompt;
  readonly leases: Leases;
  readonly recovery: RunRecovery;
  /** Sends a session's status to those who follow the events. */
  readonly publishStatus: (session: Session, status: SessionStatus) => Promise<unknown>;
  /** Receives the error of a run that failed unexpectedly. */
  readonly onBug: (error: unknown) => void;
};

type QueuedRun = Required<KnownOfPrompt> & {
  readonly session: Session;
  readonly user: UserMessage;
  readonly controller: AbortController;
  readonly done: PromiseWithResolvers<AssistantMessage>;
  /** Settles when the run has ended, and the session was published as idle if it was the last one. */
  readonly ended: PromiseWithResolvers<void>;
};
type SessionQueue = { readonly runs: QueuedRun[]; status: SessionStatus; isIdlePublished: boolean };

/** All that runs and waits on this server. */
type Queues = RunQueueNeeds & {
  readonly bySession: Map<string, SessionQueue>;
  /** Sessions that are being removed. */
  readonly closing: Set<string>;
  /** Prompts that are being accepted. */
  readonly accepting: Set<Promise<void>>;
  isStopped: boolean;
};

const answerWithLease = (
  { answer, publishStatus }: Queues,
  { run, queue, lease }: { readonly run: QueuedRun; readonly queue: SessionQueue; readonly lease: SessionLease },
): Promise<AssistantMessage> => {
  const { session, user, asksForAnswer, span, controller } = run;
  const showStatus = async (status: SessionStatus): Promise<void> => {
    queue.status = status;
    await Promise.all([publishStatus(session, status), lease.showStatus(status)]);
  };
  const atEnd = async (): Promise<Publication> => {
    const isAwaited = await lease.isAwaited();
    queue.isIdlePublished = queue.runs.length === 1 && !isAwaited;
    const idle = queue.isIdlePublished ? statusPublication(session.id, { type: 'idle' }) : {};
    return joinPublications(answerStatePublication(user, 'ended'), idle);
  };
  const isUntouched = lease.untouchedSince === user.id;
  const prompt = { session, user, showStatus, atEnd, leaseID: lease.id, asksForAnswer, isUntouched, span };
  return answer(prompt, controller.signal);
};

const runNext = async (queues: Queues, run: QueuedRun, queue: SessionQueue): Promise<void> => {
  const { leases, recovery, onBug } = queues;
  const { session, user, controller, done } = run;
  queue.status = { type: 'busy' };
  queue.isIdlePublished = false;
  let lease: SessionLease | undefined;
  try {
    lease = await leases.acquire(session.id, () => controller.abort(new RunAborted()));
    const mayBeGiven = run.isOwed && lease.untouchedSince !== user.id;
    const given = mayBeGiven ? await recovery.beforeRun(user, lease.id) : undefined;
    done.resolve(given ?? (await answerWithLease(queues, { run, queue, lease })));
  } catch (error) {
    queue.isIdlePublished = false;
    // The server that has taken over publishes the rest.
    if (error instanceof LeaseLostError) queue.isIdlePublished = true;
    else {
      onBug(error);
      // Without its lease, the session may be another server's.
      if (lease !== undefined) await recovery.afterFailure(user, error, lease.id).catch(onBug);
    }
    done.reject(error);
  }
  if (lease === undefined) return;
  // A prompt that waits at another server decides the status then.
  if (!queue.isIdlePublished) queue.isIdlePublished = await lease.isAwaited().catch(() => false);
  await lease.release().catch(onBug);
};

const work = async (queues: Queues, queue: SessionQueue, sessionID: string): Promise<void> => {
  for (let run = queue.runs[0]; run !== undefined; run = queue.runs[0]) {
    await runNext(queues, run, queue);
    queue.runs.shift();
    if (queue.runs.length === 0) {
      queues.bySession.delete(sessionID);
      if (!queue.isIdlePublished) await queues.publishStatus(run.session, { type: 'idle' }).catch(queues.onBug);
    }
    run.ended.resolve();
  }
};

const enqueue = (queues: Queues, run: QueuedRun): void => {
  const { isStopped, closing, bySession } = queues;
  const { id } = run.session;
  // A rejection that no caller waits for must not end the process.
  run.done.promise.catch(() => {});
  if (isStopped || closing.has(id)) run.controller.abort(new RunAborted({ isByStop: isStopped }));
  const queue = bySession.get(id);
  if (queue !== undefined) queue.runs.push(run);
  else {
    const created: SessionQueue = { runs: [run], status: { type: 'busy' }, isIdlePublished: false };
    bySession.set(id, created);
    void work(queues, created, id);
  }
};

const meantRuns = ({ bySession }: Queues, sessionID: string, promptID: string | undefined): readonly QueuedRun[] =>
  (bySession.get(sessionID)?.runs ?? []).filter(({ user }) => promptID === undefined || user.id === promptID);

const abortHere = async (queues: Queues, sessionID: string, promptID?: string): Promise<void> => {
  const runs = meantRuns(queues, sessionID, promptID);
  for (const { controller } of runs) controller.abort(new RunAborted({ isByStop: queues.isStopped }));
  await Promise.all(runs.map(({ ended }) => ended.promise));
};

const abort = async (queues: Queues, sessionID: string, promptID?: string): Promise<void> => {
  const isHere = promptID !== undefined && meantRuns(queues, sessionID, promptID).length > 0;
  const elsewhere = isHere ? undefined : queues.leases.abort(sessionID, promptID);
  await Promise.all([abortHere(queues, sessionID, promptID), elsewhere]);
};

const whileAccepting = async <T>({ accepting }: Queues, begin: () => Promise<T>): Promise<T> => {
  const over = Promise.withResolvers<void>();
  accepting.add(over.promise);
  try {
    return await begin();
  } finally {
    accepting.delete(over.promise);
    over.resolve();
  }
};

/** The run queue of this server. Leases keep other servers out of a session while it runs here. */
export const createRunQueue = (needs: RunQueueNeeds): RunQueue => {
  const queues: Queues = {
    ...needs,
    bySession: new Map(),
    closing: new Set(),
    accepting: new Set(),
    isStopped: false,
  };
  const { bySession, closing, accepting } = queues;
  const runs = (): readonly QueuedRun[] => [...bySession.values()].flatMap((queue) => queue.runs);
  return {
    run(session, user, { isOwed = true, asksForAnswer = false, span = undefined } = {}) {
      const done = Promise.withResolvers<AssistantMessage>();
      const ended = Promise.withResolvers<void>();
      const controller = new AbortController();
      enqueue(queues, { session, user, isOwed, asksForAnswer, span, controller, done, ended });
      return done.promise;
    },
    isBusyHere: (sessionID) => bySession.has(sessionID),
    async statuses() {
      const elsewhere = await needs.leases.statuses();
      return { ...elsewhere, ...Object.fromEntries([...bySession].map(([id, { status }]) => [id, status])) };
    },
    counts: () => ({ running: bySession.size, waiting: runs().length - bySession.size }),
    abort: (sessionID, promptID) => abort(queues, sessionID, promptID),
    abortHere: (sessionID, promptID) => abortHere(queues, sessionID, promptID),
    async close(sessionID) {
      closing.add(sessionID);
      await abort(queues, sessionID);
      while (bySession.has(sessionID)) await abort(queues, sessionID);
    },
    isClosing: (sessionID) => closing.has(sessionID),
    open: (sessionID) => void closing.delete(sessionID),
    whileAccepting: (begin) => whileAccepting(queues, begin),
    async idle() {
      while (bySession.size + accepting.size > 0)
        await Promise.all([...accepting, ...runs().map(({ ended }) => ended.promise)]);
    },
    async stop() {
      queues.isStopped = true;
      while (bySession.size > 0) await Promise.all([...bySession.keys()].map((id) => abortHere(queues, id)));
    },
  };
};
