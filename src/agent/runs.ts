import type { AssistantMessage, UserMessage } from './message.ts';
import { RunAborted } from './message-error.ts';
import type { Session, SessionStatus } from './session.ts';

/** What answers a prompt. Rejects only when the store fails. */
export type Answering = (
  prompt: { readonly session: Session; readonly user: UserMessage; readonly show: Show },
  signal: AbortSignal,
) => Promise<AssistantMessage>;
export type Show = (status: SessionStatus) => Promise<void>;

/** The runs of all sessions: one at a time for each session, in the order in which the prompts came. */
export type Runs = {
  /** Runs a prompt that is stored, when its turn comes. Settles with the answer to this very prompt. */
  readonly run: (session: Session, user: UserMessage) => Promise<AssistantMessage>;
  /** Sessions that are not idle, with what they do. */
  readonly statuses: () => Readonly<Record<string, SessionStatus>>;
  readonly isBusy: (sessionID: string) => boolean;
  /** Ends what runs and what waits, and settles once the session is idle. */
  readonly abort: (sessionID: string) => Promise<void>;
  /** The same for all sessions; nothing runs any more after it. */
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
};
type Line = { readonly jobs: Job[]; status: SessionStatus; idle: Promise<void> };

export const createRuns = ({ answer, tell, onBug }: RunsNeeds): Runs => {
  const lines = new Map<string, Line>();
  let isStopped = false;

  const show = async (session: Session, line: Line, status: SessionStatus): Promise<void> => {
    line.status = status;
    await tell(session, status);
  };
  const runOne = async (job: Job, line: Line): Promise<void> => {
    const { session, user, controller, done } = job;
    try {
      await show(session, line, { type: 'busy' });
      done.resolve(await answer({ session, user, show: (status) => show(session, line, status) }, controller.signal));
    } catch (error) {
      onBug(error);
      done.reject(error);
    }
  };
  const work = async (line: Line, sessionID: string): Promise<void> => {
    let last: Session | undefined;
    for (let job = line.jobs[0]; job !== undefined; job = line.jobs[0]) {
      last = job.session;
      await runOne(job, line);
      line.jobs.shift();
    }
    lines.delete(sessionID);
    if (last !== undefined) await tell(last, { type: 'idle' }).catch(onBug);
  };
  const abort = async (sessionID: string): Promise<void> => {
    const line = lines.get(sessionID);
    if (line === undefined) return;
    for (const { controller } of line.jobs) controller.abort(new RunAborted());
    await line.idle;
  };
  return {
    run(session, user) {
      const done = Promise.withResolvers<AssistantMessage>();
      // Whoever does not wait for the answer must not end the process when there is none.
      done.promise.catch(() => {});
      const job: Job = { session, user, controller: new AbortController(), done };
      if (isStopped) job.controller.abort(new RunAborted());
      const line = lines.get(session.id);
      if (line !== undefined) line.jobs.push(job);
      else {
        const fresh: Line = { jobs: [job], status: { type: 'busy' }, idle: Promise.resolve() };
        lines.set(session.id, fresh);
        fresh.idle = work(fresh, session.id);
      }
      return done.promise;
    },
    statuses: () => Object.fromEntries([...lines].map(([id, { status }]) => [id, status])),
    isBusy: (sessionID) => lines.has(sessionID),
    abort,
    async stop() {
      isStopped = true;
      await Promise.all([...lines.keys()].map(abort));
    },
  };
};
