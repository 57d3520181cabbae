import type { Publication } from '../events/publisher.ts';
import { statusPublication } from '../events/records.ts';
import type { AssistantMessage, MessageError, Session, SessionStatus, UserMessage } from '../protocol/types.ts';
import type { Leases, SessionLease } from '../store/cluster.ts';
import { LeaseLostError } from '../store/errors.ts';

/** The reason with which a run is aborted: a client asked for it, the lease was lost, or the server stops. */
export class RunAborted extends Error {
  override readonly name = 'RunAborted';

  constructor() {
    super('Aborted');
  }
}

/** The error of an answer that was aborted: by a client, or because its server stopped. */
export const ABORTED_ERROR: MessageError = { name: 'MessageAbortedError', data: { message: 'Aborted' } };

/** A prompt whose turn it is. */
export type QueuedPrompt = {
  readonly session: Session;
  readonly user: UserMessage;
  readonly showStatus: ShowStatus;
  /** What is told with the end of the answer, as one: that the session is idle, unless another prompt waits. */
  readonly atEnd: () => Promise<Publication>;
  /** The lease under which everything of the answer is kept. */
  readonly leaseID: string | undefined;
};
/** What answers a prompt, and tells that the session is busy when it begins. Rejects only when the store fails. */
export type AnswerPrompt = (prompt: QueuedPrompt, signal: AbortSignal) => Promise<AssistantMessage>;
export type ShowStatus = (status: SessionStatus) => Promise<void>;

/** The runs of all sessions: one at a time for each session, in the order in which the prompts came. */
export type RunQueue = {
  /** Runs a prompt that is stored, when its turn comes. Settles with the answer to this very prompt. */
  readonly run: (session: Session, user: UserMessage) => Promise<AssistantMessage>;
  /** Sessions that are not idle, with what they do, here and at other servers. */
  readonly statuses: () => Promise<Readonly<Record<string, SessionStatus>>>;
  readonly counts: () => { readonly running: number; readonly waiting: number };
  /** Ends what runs and what waits, here and elsewhere, and settles once that has ended. What comes meanwhile is not waited for. */
  readonly abort: (sessionID: string) => Promise<void>;
  /** The same for what runs and waits here. */
  readonly abortHere: (sessionID: string) => Promise<void>;
  /** The same, and from now on whatever comes is aborted at once, until `open`. The session is idle after it. */
  readonly close: (sessionID: string) => Promise<void>;
  readonly isClosing: (sessionID: string) => boolean;
  readonly open: (sessionID: string) => void;
  /** Counts what may lead to a run as under way until `work` settles, which is after it has begun one if it does. */
  readonly whileAccepting: <T>(work: () => Promise<T>) => Promise<T>;
  /** Settles once nothing runs, nothing waits and nothing is being taken in. */
  readonly idle: () => Promise<void>;
  /** The same as `abort` for all sessions; nothing runs any more after it. */
  readonly stop: () => Promise<void>;
};

export type RunQueueNeeds = {
  readonly answer: AnswerPrompt;
  readonly leases: Leases;
  /** Ends what a server that is gone has left in a session. */
  readonly recoverSession: (sessionID: string, under: string | undefined) => Promise<unknown>;
  /** Tells the world what a session does. */
  readonly publishStatus: (session: Session, status: SessionStatus) => Promise<unknown>;
  /** A run that failed in a way that it should not. */
  readonly onBug: (error: unknown) => void;
};

type QueuedRun = {
  readonly session: Session;
  readonly user: UserMessage;
  readonly controller: AbortController;
  readonly done: PromiseWithResolvers<AssistantMessage>;
  /** Settles when nothing of it is left, and the session is told to be idle if it was the last one. */
  readonly ended: PromiseWithResolvers<void>;
};
type SessionQueue = { readonly runs: QueuedRun[]; status: SessionStatus; isIdlePublished: boolean };

export const createRunQueue = ({ answer, leases, recoverSession, publishStatus, onBug }: RunQueueNeeds): RunQueue => {
  const lines = new Map<string, SessionQueue>();
  const closing = new Set<string>();
  const coming = new Set<Promise<void>>();
  let isStopped = false;

  const answerUnder = (lease: SessionLease, job: QueuedRun, line: SessionQueue): Promise<AssistantMessage> => {
    const { session, user, controller } = job;
    const show = async (status: SessionStatus): Promise<void> => {
      line.status = status;
      await Promise.all([publishStatus(session, status), lease.showStatus(status)]);
    };
    const atEnd = async (): Promise<Publication> => {
      const isAwaited = await lease.isAwaited();
      line.isIdlePublished = line.runs.length === 1 && !isAwaited;
      return line.isIdlePublished ? statusPublication(session.id, { type: 'idle' }) : {};
    };
    return answer({ session, user, showStatus: show, atEnd, leaseID: lease.id }, controller.signal);
  };
  const runOne = async (job: QueuedRun, line: SessionQueue): Promise<void> => {
    const { session, controller, done } = job;
    line.status = { type: 'busy' };
    line.isIdlePublished = false;
    let lease: SessionLease | undefined;
    try {
      lease = await leases.acquire(session.id, () => controller.abort(new RunAborted()));
      if (lease.hasUnfinishedAnswers) await recoverSession(session.id, lease.id);
      done.resolve(await answerUnder(lease, job, line));
    } catch (error) {
      line.isIdlePublished = false;
      // Whoever has taken over tells the rest.
      if (error instanceof LeaseLostError) line.isIdlePublished = true;
      else onBug(error);
      done.reject(error);
    }
    if (lease === undefined) return;
    // Whoever waits elsewhere tells what the session does next.
    if (!line.isIdlePublished) line.isIdlePublished = await lease.isAwaited().catch(() => false);
    await lease.release().catch(onBug);
  };
  const work = async (line: SessionQueue, sessionID: string): Promise<void> => {
    for (let job = line.runs[0]; job !== undefined; job = line.runs[0]) {
      await runOne(job, line);
      line.runs.shift();
      if (line.runs.length === 0) {
        lines.delete(sessionID);
        if (!line.isIdlePublished) await publishStatus(job.session, { type: 'idle' }).catch(onBug);
      }
      job.ended.resolve();
    }
  };
  const abortHere = async (sessionID: string): Promise<void> => {
    const jobs = [...(lines.get(sessionID)?.runs ?? [])];
    for (const { controller } of jobs) controller.abort(new RunAborted());
    await Promise.all(jobs.map(({ ended }) => ended.promise));
  };
  const abort = async (sessionID: string): Promise<void> => {
    await Promise.all([abortHere(sessionID), leases.abort(sessionID)]);
  };
  return {
    run(session, user) {
      const done = Promise.withResolvers<AssistantMessage>();
      // Whoever does not wait for the answer must not end the process when there is none.
      done.promise.catch(() => {});
      const job: QueuedRun = { session, user, controller: new AbortController(), done, ended: Promise.withResolvers() };
      if (isStopped || closing.has(session.id)) job.controller.abort(new RunAborted());
      const line = lines.get(session.id);
      if (line !== undefined) line.runs.push(job);
      else {
        const fresh: SessionQueue = { runs: [job], status: { type: 'busy' }, isIdlePublished: false };
        lines.set(session.id, fresh);
        void work(fresh, session.id);
      }
      return done.promise;
    },
    async statuses() {
      const elsewhere = await leases.statuses();
      return { ...elsewhere, ...Object.fromEntries([...lines].map(([id, { status }]) => [id, status])) };
    },
    counts() {
      const jobs = [...lines.values()].reduce((sum, line) => sum + line.runs.length, 0);
      return { running: lines.size, waiting: jobs - lines.size };
    },
    abort,
    abortHere,
    async close(sessionID) {
      closing.add(sessionID);
      await abort(sessionID);
      while (lines.has(sessionID)) await abort(sessionID);
    },
    isClosing: (sessionID) => closing.has(sessionID),
    open: (sessionID) => void closing.delete(sessionID),
    async whileAccepting(work) {
      const over = Promise.withResolvers<void>();
      coming.add(over.promise);
      try {
        return await work();
      } finally {
        coming.delete(over.promise);
        over.resolve();
      }
    },
    async idle() {
      while (lines.size + coming.size > 0) {
        const jobs = [...lines.values()].flatMap((line) => line.runs);
        await Promise.all([...coming, ...jobs.map(({ ended }) => ended.promise)]);
      }
    },
    async stop() {
      isStopped = true;
      while (lines.size > 0) await Promise.all([...lines.keys()].map(abortHere));
    },
  };
};
