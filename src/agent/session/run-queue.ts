import { ANSWER_CUT_OFF_TEXT } from '../../core/http/conversation-metadata.ts';
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

type RunQueueNeeds = {
  readonly answer: AnswerPrompt;
  readonly leases: Leases;
  readonly recovery: {
    /** Ends what was left in the session. Returns the answer to the prompt where another server has given it already. */
    readonly beforeRun: (user: UserMessage, leaseID: string | undefined) => Promise<AssistantMessage | undefined>;
    /** Ends the answer of a run that failed with an error before it could do so itself. */
    readonly afterFailure: (user: UserMessage, error: unknown, leaseID: string | undefined) => Promise<unknown>;
  };
  /** Sends a session's status to those who follow the events. */
  readonly publishStatus: (session: Session, status: SessionStatus) => Promise<unknown>;
  /** Receives the error of a run that failed unexpectedly. */
  readonly onBug: (error: unknown) => void;
};

type QueuedRun = {
  readonly session: Session;
  readonly user: UserMessage;
  readonly isOwed: boolean;
  readonly asksForAnswer: boolean;
  readonly span: Span | undefined;
  readonly controller: AbortController;
  readonly done: PromiseWithResolvers<AssistantMessage>;
  /** Settles when the run has ended, and the session was published as idle if it was the last one. */
  readonly ended: PromiseWithResolvers<void>;
};
type SessionQueue = { readonly runs: QueuedRun[]; status: SessionStatus; isIdlePublished: boolean };

/** The run queue of this server. Leases keep other servers out of a session while it runs here. */
export const createRunQueue = ({ answer, leases, recovery, publishStatus, onBug }: RunQueueNeeds): RunQueue => {
  const queues = new Map<string, SessionQueue>();
  const closing = new Set<string>();
  const accepting = new Set<Promise<void>>();
  let isStopped = false;

  const answerWithLease = (lease: SessionLease, run: QueuedRun, queue: SessionQueue): Promise<AssistantMessage> => {
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
  const runNext = async (run: QueuedRun, queue: SessionQueue): Promise<void> => {
    const { session, user, controller, done } = run;
    queue.status = { type: 'busy' };
    queue.isIdlePublished = false;
    let lease: SessionLease | undefined;
    try {
      lease = await leases.acquire(session.id, () => controller.abort(new RunAborted()));
      const mayBeGiven = run.isOwed && lease.untouchedSince !== user.id;
      const given = mayBeGiven ? await recovery.beforeRun(user, lease.id) : undefined;
      done.resolve(given ?? (await answerWithLease(lease, run, queue)));
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
  const work = async (queue: SessionQueue, sessionID: string): Promise<void> => {
    for (let run = queue.runs[0]; run !== undefined; run = queue.runs[0]) {
      await runNext(run, queue);
      queue.runs.shift();
      if (queue.runs.length === 0) {
        queues.delete(sessionID);
        if (!queue.isIdlePublished) await publishStatus(run.session, { type: 'idle' }).catch(onBug);
      }
      run.ended.resolve();
    }
  };
  const runsHere = (sessionID: string): readonly QueuedRun[] => [...(queues.get(sessionID)?.runs ?? [])];
  const abortAll = async (runs: readonly QueuedRun[]): Promise<void> => {
    for (const { controller } of runs) controller.abort(new RunAborted({ isByStop: isStopped }));
    await Promise.all(runs.map(({ ended }) => ended.promise));
  };
  const isMeant =
    (promptID: string | undefined) =>
    ({ user }: QueuedRun): boolean =>
      promptID === undefined || user.id === promptID;
  const abortHere = (sessionID: string, promptID?: string): Promise<void> =>
    abortAll(runsHere(sessionID).filter(isMeant(promptID)));
  const abort = async (sessionID: string, promptID?: string): Promise<void> => {
    const isHere = promptID !== undefined && runsHere(sessionID).some(isMeant(promptID));
    await Promise.all([abortHere(sessionID, promptID), isHere ? undefined : leases.abort(sessionID, promptID)]);
  };
  return {
    run(session, user, { isOwed = true, asksForAnswer = false, span } = {}) {
      const done = Promise.withResolvers<AssistantMessage>();
      // A rejection that no caller waits for must not end the process.
      done.promise.catch(() => {});
      const controller = new AbortController();
      const ended = Promise.withResolvers<void>();
      const run: QueuedRun = { session, user, isOwed, asksForAnswer, span, controller, done, ended };
      if (isStopped || closing.has(session.id)) run.controller.abort(new RunAborted({ isByStop: isStopped }));
      const queue = queues.get(session.id);
      if (queue !== undefined) queue.runs.push(run);
      else {
        const created: SessionQueue = { runs: [run], status: { type: 'busy' }, isIdlePublished: false };
        queues.set(session.id, created);
        void work(created, session.id);
      }
      return done.promise;
    },
    isBusyHere: (sessionID) => queues.has(sessionID),
    async statuses() {
      const elsewhere = await leases.statuses();
      return { ...elsewhere, ...Object.fromEntries([...queues].map(([id, { status }]) => [id, status])) };
    },
    counts() {
      const runs = [...queues.values()].reduce((sum, queue) => sum + queue.runs.length, 0);
      return { running: queues.size, waiting: runs - queues.size };
    },
    abort,
    abortHere,
    async close(sessionID) {
      closing.add(sessionID);
      await abort(sessionID);
      while (queues.has(sessionID)) await abort(sessionID);
    },
    isClosing: (sessionID) => closing.has(sessionID),
    open: (sessionID) => void closing.delete(sessionID),
    async whileAccepting(work) {
      const over = Promise.withResolvers<void>();
      accepting.add(over.promise);
      try {
        return await work();
      } finally {
        accepting.delete(over.promise);
        over.resolve();
      }
    },
    async idle() {
      while (queues.size + accepting.size > 0) {
        const runs = [...queues.values()].flatMap((queue) => queue.runs);
        await Promise.all([...accepting, ...runs.map(({ ended }) => ended.promise)]);
      }
    },
    async stop() {
      isStopped = true;
      while (queues.size > 0) await Promise.all([...queues.keys()].map((id) => abortHere(id)));
    },
  };
};
