import type { AssistantMessage, UserMessage } from './message.ts';
import { RunAborted } from './message-error.ts';
import type { Fact } from './publisher.ts';
import type { Session, SessionStatus } from './session.ts';
import { statusFact } from './status-fact.ts';

/** A prompt whose turn it is. */
export type Prompted = {
  readonly session: Session;
  readonly user: UserMessage;
  readonly show: Show;
  /** What is told with the end of the answer, as one: that the session is idle, unless another prompt waits. */
  readonly atEnd: () => Fact;
};
/** What answers a prompt, and tells that the session is busy when it begins. Rejects only when the store fails. */
export type Answering = (prompt: Prompted, signal: AbortSignal) => Promise<AssistantMessage>;
export type Show = (status: SessionStatus) => Promise<void>;

/** The runs of all sessions: one at a time for each session, in the order in which the prompts came. */
export type Runs = {
  /** Runs a prompt that is stored, when its turn comes. Settles with the answer to this very prompt. */
  readonly run: (session: Session, user: UserMessage) => Promise<AssistantMessage>;
  /** Sessions that are not idle, with what they do. */
  readonly statuses: () => Readonly<Record<string, SessionStatus>>;
  readonly counts: () => { readonly running: number; readonly waiting: number };
  /** Ends what runs and what waits, and settles once that has ended. What comes meanwhile is not waited for. */
  readonly abort: (sessionID: string) => Promise<void>;
  /** The same, and from now on whatever comes is aborted at once, until `open`. The session is idle after it. */
  readonly close: (sessionID: string) => Promise<void>;
  readonly isClosing: (sessionID: string) => boolean;
  readonly open: (sessionID: string) => void;
  /** The same as `abort` for all sessions; nothing runs any more after it. */
  readonly stop: () => Promise<void>;
};

export type RunsNeeds = {
  readonly answer: Answering;
  /** Tells the world what a session does. */
  readonly tell: (session: Session, status: SessionStatus) => Promise<unknown>;
  /** A run that failed in a way that it should not. */
  readonly onBug: (error: unknown) => void;
};

type Job = {
  readonly session: Session;
  readonly user: UserMessage;
  readonly controller: AbortController;
  readonly done: PromiseWithResolvers<AssistantMessage>;
  /** Settles when nothing of it is left, and the session is told to be idle if it was the last one. */
  readonly over: PromiseWithResolvers<void>;
};
type Line = { readonly jobs: Job[]; status: SessionStatus; isIdleTold: boolean };

export const createRuns = ({ answer, tell, onBug }: RunsNeeds): Runs => {
  const lines = new Map<string, Line>();
  const closing = new Set<string>();
  let isStopped = false;

  const show = async (session: Session, line: Line, status: SessionStatus): Promise<void> => {
    line.status = status;
    await tell(session, status);
  };
  const runOne = async (job: Job, line: Line): Promise<void> => {
    const { session, user, controller, done } = job;
    try {
      line.status = { type: 'busy' };
      line.isIdleTold = false;
      const atEnd = (): Fact => {
        line.isIdleTold = line.jobs.length === 1;
        return line.isIdleTold ? statusFact(session.id, { type: 'idle' }) : {};
      };
      const prompted = { session, user, show: (status: SessionStatus) => show(session, line, status), atEnd };
      done.resolve(await answer(prompted, controller.signal));
    } catch (error) {
      line.isIdleTold = false;
      onBug(error);
      done.reject(error);
    }
  };
  const work = async (line: Line, sessionID: string): Promise<void> => {
    for (let job = line.jobs[0]; job !== undefined; job = line.jobs[0]) {
      await runOne(job, line);
      line.jobs.shift();
      if (line.jobs.length === 0) {
        lines.delete(sessionID);
        if (!line.isIdleTold) await tell(job.session, { type: 'idle' }).catch(onBug);
      }
      job.over.resolve();
    }
  };
  const abort = async (sessionID: string): Promise<void> => {
    const jobs = [...(lines.get(sessionID)?.jobs ?? [])];
    for (const { controller } of jobs) controller.abort(new RunAborted());
    await Promise.all(jobs.map(({ over }) => over.promise));
  };
  return {
    run(session, user) {
      const done = Promise.withResolvers<AssistantMessage>();
      // Whoever does not wait for the answer must not end the process when there is none.
      done.promise.catch(() => {});
      const job: Job = { session, user, controller: new AbortController(), done, over: Promise.withResolvers() };
      if (isStopped || closing.has(session.id)) job.controller.abort(new RunAborted());
      const line = lines.get(session.id);
      if (line !== undefined) line.jobs.push(job);
      else {
        const fresh: Line = { jobs: [job], status: { type: 'busy' }, isIdleTold: false };
        lines.set(session.id, fresh);
        void work(fresh, session.id);
      }
      return done.promise;
    },
    statuses: () => Object.fromEntries([...lines].map(([id, { status }]) => [id, status])),
    counts() {
      const jobs = [...lines.values()].reduce((sum, line) => sum + line.jobs.length, 0);
      return { running: lines.size, waiting: jobs - lines.size };
    },
    abort,
    async close(sessionID) {
      closing.add(sessionID);
      while (lines.has(sessionID)) await abort(sessionID);
    },
    isClosing: (sessionID) => closing.has(sessionID),
    open: (sessionID) => void closing.delete(sessionID),
    async stop() {
      isStopped = true;
      while (lines.size > 0) await Promise.all([...lines.keys()].map(abort));
    },
  };
};
