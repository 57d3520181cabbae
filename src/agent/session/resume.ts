import type { Log } from '../../core/log.ts';
import type { Recovery } from './recovery.ts';
import type { RunQueue } from './run-queue.ts';

/** What `createResume` works with. */
type ResumeNeeds = {
  readonly recovery: Pick<Recovery, 'all'>;
  readonly runs: Pick<RunQueue, 'run'>;
  readonly log: Log;
  readonly onBug: (error: unknown) => void;
};

/**
 * Takes over what no server works on: ends the answers that were begun, and returns a function that runs the prompts whose
 * answers were not. The log tells how many there were of both.
 */
export const createResume =
  ({ recovery, runs, log, onBug }: ResumeNeeds): (() => Promise<() => void>) =>
  async () => {
    const { ended, waiting } = await recovery.all();
    if (ended > 0) log('warn', 'unfinished-answers-ended', { count: ended });
    return () => {
      if (waiting.length > 0) log('warn', 'waiting-prompts-run', { count: waiting.length });
      for (const { session, user } of waiting) runs.run(session, user).catch(onBug);
    };
  };
