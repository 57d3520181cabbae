import type { Ids } from '../../agent/protocol/ids.ts';
import type { PlacedEvent } from '../../agent/store/store.ts';
import { StoreUnavailable } from '../../agent/store-unavailable.ts';
import { type Answered, outcomeOf, type Task, writtenTask } from '../postgres-tasks.ts';
import type { PostgresLink } from './connection.ts';
import { isRefused, isToRepeat } from './errors.ts';
import type { Seat } from './membership.ts';

/** More in one trip would keep other servers waiting. */
const GROUP_TASKS = 200;
const AGAIN_AFTER_MS = [20, 50, 100, 200, 500] as const;

type Waiting = {
  readonly task: Task;
  readonly resolve: (placed: readonly PlacedEvent[]) => void;
  readonly reject: (error: unknown) => void;
};

export type CommitQueueNeeds = {
  readonly link: PostgresLink;
  readonly seat: Seat;
  readonly ids: Ids;
  /** How long commits wait for a database that is away. */
  readonly limitMs: number;
  /** Called before the commits of a group settle: `placed` are its events, and `after` the newest that was there before. */
  readonly onKept: (own: { readonly after: string; readonly placed: readonly PlacedEvent[] }) => Promise<void>;
  /** Called after `look`, while no group is under way. */
  readonly onLook: () => Promise<void>;
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Commits in the order of asking, one group under way at a time: what is asked for meanwhile makes the next group. While the
 * database is away the group waits and is sent again, under the same number, so that nothing is kept twice.
 */
export const createCommitQueue = ({ link, seat, ids, limitMs, onKept, onLook }: CommitQueueNeeds) => {
  const waiting: Waiting[] = [];
  let isToLook = false;
  let working: Promise<void> | undefined;

  /** Sends a group until it is answered. Nothing was kept when the seat is lost. */
  const sent = async (tasks: string): Promise<Answered> => {
    const { id, batch } = seat.nextBatch();
    const untilMs = performance.now() + limitMs;
    for (let tries = 0; ; tries++) {
      try {
        const [row] = await link.ask(
          (sql) => sql`SELECT commit_tasks(${id}, ${batch}, ${tasks}::text::json) AS answer`,
          limitMs,
        );
        if (row?.answer === null) throw await seat.lost(id);
        return JSON.parse(String(row?.answer));
      } catch (error) {
        if (isToRepeat(error)) continue;
        if (!(error instanceof StoreUnavailable)) throw error;
        const pause = AGAIN_AFTER_MS[Math.min(tries, AGAIN_AFTER_MS.length - 1)] ?? 0;
        if (link.isClosed() || performance.now() + pause > untilMs) throw error;
        await sleep(pause);
      }
    }
  };
  /** What the database answers to a group, or nothing when it refuses it whole. */
  const answerTo = async (group: readonly Waiting[]): Promise<Answered | undefined> => {
    try {
      return await sent(JSON.stringify(group.map(({ task }) => writtenTask(task, ids))));
    } catch (error) {
      if (group.length > 1 && isRefused(error)) return undefined;
      throw error;
    }
  };
  const settle = async (group: readonly Waiting[]): Promise<void> => {
    try {
      const answered = await answerTo(group);
      if (answered === undefined) {
        // What the database cannot take at all must not take others with it.
        for (const one of group) await settle([one]);
        return;
      }
      const { after, tasks } = answered;
      const outcomes = group.map(({ task }, place) => outcomeOf(task, tasks[place]));
      await onKept({ after, placed: outcomes.flatMap((outcome) => (outcome instanceof Error ? [] : outcome)) });
      for (const [place, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[place];
        if (outcome === undefined || outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };
  const work = async (): Promise<void> => {
    while (waiting.length > 0 || isToLook) {
      if (waiting.length > 0) await settle(waiting.splice(0, GROUP_TASKS));
      if (!isToLook) continue;
      isToLook = false;
      await onLook();
    }
    working = undefined;
  };
  // After the turn's other events: several sessions that speak at once are then one group.
  const begin = (): void => {
    working ??= new Promise<void>((begun) => void setImmediate(begun)).then(work);
  };
  return {
    add: (task: Task): Promise<readonly PlacedEvent[]> =>
      new Promise((resolve, reject) => {
        waiting.push({ task, resolve, reject });
        begin();
      }),
    /** Has `onLook` called before long. */
    look(): void {
      isToLook = true;
      begin();
    },
    /** Settles once everything that was asked for is done or has failed. */
    finish: async (): Promise<void> => {
      while (working !== undefined) await working;
    },
  };
};
