import type { AgentRuntime } from '../runtime.ts';
import type { Recovery } from './recovery.ts';
import type { RunQueue } from './run-queue.ts';

type ResumeNeeds = AgentRuntime & { readonly recovery: Recovery; readonly runs: RunQueue };

/** How long after a recovery a client counts as one that has not heard of it, and of how many sessions. */
const RECENT_MS = 600_000;
const RECENT_LIMIT = 1000;

/** Takes over sessions on which no server works. */
export type Resume = {
  /**
   * Ends the answers that were begun, and returns a function that runs the prompts whose answers were not. The log reports
   * how many there were of both.
   */
  readonly takeOver: () => Promise<() => void>;
  /** The sessions that were taken over in the last minutes: some clients still show them as busy. */
  readonly recentSessions: () => readonly string[];
};

/** The recovery of one server, at its start and later. */
export const createResume = ({ recovery, runs, clock, log, onBug }: ResumeNeeds): Resume => {
  let recent: readonly { readonly id: string; readonly untilMs: number }[] = [];
  const remember = (ids: readonly string[]): void => {
    const untilMs = clock.now() + RECENT_MS;
    recent = [...recent.filter(({ id }) => !ids.includes(id)), ...ids.map((id) => ({ id, untilMs }))].slice(
      -RECENT_LIMIT,
    );
  };
  return {
    async takeOver() {
      const { ended, waiting, sessionIDs } = await recovery.all();
      remember(sessionIDs);
      if (ended > 0) log('warn', 'unfinished-answers-ended', { count: ended });
      return () => {
        if (waiting.length > 0) log('warn', 'waiting-prompts-run', { count: waiting.length });
        for (const { session, user } of waiting) runs.run(session, user).catch(onBug);
      };
    },
    recentSessions: () => recent.flatMap(({ id, untilMs }) => (clock.now() < untilMs ? [id] : [])),
  };
};
