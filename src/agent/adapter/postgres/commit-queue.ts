import {
  LeaseLostError,
  OrphanError,
  StaleSessionError,
  StaleTurnError,
  StoreUnavailableError,
} from '../../store/errors.ts';
import type { DirectoryEvent } from '../../store/store.ts';
import type { PostgresConnection } from './connection.ts';
import { isRejected, isTransactionConflict, type RefusedTask, refusedTask } from './errors.ts';
import type { EventTail } from './event-tail.ts';
import type { Membership } from './membership.ts';
import type { NotificationChannel } from './notifications.ts';
import { eventIDOf } from './schema/commit-function.ts';
import { type CommitTask, serializeGroup } from './serialize-commit.ts';

type TakenTicket = {
  readonly task: number;
  readonly seq: string;
  readonly isFirst: boolean;
  readonly isUntouched: boolean;
};
/** The reply of `commit_group`: the number of the group of its events, whether there are other servers, and the tickets taken. */
type CommitReply = {
  readonly number: number | null;
  readonly others: boolean;
  readonly tickets: readonly TakenTicket[] | null;
};

const KINDS = ['session', 'message', 'part', 'output'] as const;

/** The error for a refused task. */
const toRefusal = ({ reason }: RefusedTask): Error => {
  if (reason === 'stale') return new StaleSessionError();
  if (reason === 'turn') return new StaleTurnError();
  if (reason === 'lease') return new LeaseLostError();
  const kind = KINDS.find((one) => one === reason);
  return kind === undefined ? new Error('Cannot read what the store has answered') : new OrphanError(kind);
};

/** How long the next group waits for the events that precede those of the last one: it becomes larger meanwhile. */
const PRECEDING_LIMIT_MS = 5;
/** Between two notifications: other servers then read the events of several groups at once. */
const NOTIFY_EVERY_MS = 20;
/** Larger groups would make other sessions wait too long. */
const GROUP_TASKS = 200;
const RETRY_AFTER_MS = [20, 50, 100, 200, 500] as const;

type PendingCommit = {
  readonly task: CommitTask;
  readonly resolve: (placed: readonly DirectoryEvent[]) => void;
  readonly reject: (error: unknown) => void;
};

type CommitQueueParts = {
  readonly connection: PostgresConnection;
  readonly membership: Membership;
  readonly channel: Pick<NotificationChannel, 'publish'>;
  readonly tail: Pick<EventTail, 'passed' | 'beginGroup' | 'endGroup' | 'whenPrecedingPassed'>;
  /** How long commits wait for an unavailable database. */
  readonly limitMs: number;
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Settles with the work, or after `limitMs`. */
const settlesWithin = async (work: Promise<void>, limitMs: number): Promise<void> => {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, limitMs);
  await Promise.race([work, late.promise]);
  clearTimeout(timer);
};

/**
 * Sends commits in the order of their calls, one group at a time: commits that arrive meanwhile form the next group. While
 * the database is unavailable, the group is sent again under the same batch number, so that nothing is stored twice. A
 * commit settles when the events of other servers that precede its own have been passed on; the next group waits
 * a moment for that.
 */
export const createCommitQueue = ({ connection, membership, channel, tail, limitMs }: CommitQueueParts) => {
  // Bounded by its callers: each request, turn and call waits for its commit before it makes the next one.
  const waiting: PendingCommit[] = [];
  let working: Promise<void> | undefined;
  let isNotifying = false;
  let isNotificationDue = false;

  /** Sends a group until the database replies. Nothing of it is stored when the membership is lost. */
  const sendGroup = async (group: readonly PendingCommit[]): Promise<CommitReply> => {
    const { sessions, steps, drafts } = serializeGroup(group.map(({ task }) => task));
    const { id, batch } = membership.nextBatch();
    const untilMs = performance.now() + limitMs;
    let mayBeStored = false;
    for (let tries = 0; ; tries++) {
      try {
        const [row] = await connection.query(
          (sql) =>
            sql`SELECT commit_group(${id}, ${batch}, ${tail.passed()}, ${sessions}::text::json, ${steps}::text::json, ${drafts}::text::json) AS answer`,
          limitMs,
        );
        if (row?.answer === null) throw await membership.rejoin(id);
        // A connection that is cut at the right byte leaves a result without its row: whether it was stored is unknown.
        if (typeof row?.answer !== 'string') throw new StoreUnavailableError('unreachable', true);
        return JSON.parse(row.answer);
      } catch (error) {
        if (isTransactionConflict(error)) continue;
        if (!(error instanceof StoreUnavailableError) || isRejected(error)) throw error;
        mayBeStored ||= error.mayHaveRun;
        const pause = RETRY_AFTER_MS[Math.min(tries, RETRY_AFTER_MS.length - 1)] ?? 0;
        if (connection.isClosed() || performance.now() + pause > untilMs)
          throw mayBeStored ? new StoreUnavailableError('unanswered', true) : error;
        await sleep(pause);
      }
    }
  };
  /** Other servers then read the events. Those that miss it read them at their next heartbeat. */
  const notify = async (): Promise<void> => {
    isNotificationDue = true;
    if (isNotifying) return;
    isNotifying = true;
    while (isNotificationDue) {
      isNotificationDue = false;
      await channel.publish({ kind: 'events', from: membership.serverID() }).catch(() => {});
      await sleep(NOTIFY_EVERY_MS);
    }
    isNotifying = false;
  };
  const resolveInOrder = async (group: readonly PendingCommit[], number: number): Promise<void> => {
    try {
      await tail.whenPrecedingPassed(number);
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    let place = 0;
    for (const { task, resolve } of group) {
      resolve(
        task.events.map(({ directory, draft }): DirectoryEvent => {
          place += 1;
          return { directory, event: { ...draft, id: eventIDOf(number, place) } };
        }),
      );
    }
  };
  /** Stores a group. A task that the database refuses is left out, and one that it cannot take does not fail the others. */
  const store = async (group: readonly PendingCommit[]): Promise<void> => {
    let rest = group;
    while (rest.length > 0) {
      try {
        const { number, others, tickets } = await sendGroup(rest);
        for (const { task, seq: id, isFirst, isUntouched } of tickets ?? [])
          rest[task]?.task.leaseRequest?.onTaken({ id, isFirst, isUntouched });
        if (number === null) for (const { resolve } of rest) resolve([]);
        else {
          if (others) void notify();
          await settlesWithin(resolveInOrder(rest, number), PRECEDING_LIMIT_MS);
        }
        return;
      } catch (error) {
        const refused = refusedTask(error);
        const commit = refused && rest[refused.place];
        if (refused !== undefined && commit !== undefined) {
          commit.reject(toRefusal(refused));
          rest = rest.filter((one) => one !== commit);
        } else if (rest.length > 1 && isRejected(error)) {
          for (const one of rest) await store([one]);
          return;
        } else {
          for (const { reject } of rest) reject(error);
          return;
        }
      }
    }
  };
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      tail.beginGroup();
      await store(waiting.splice(0, GROUP_TASKS));
      tail.endGroup();
    }
    working = undefined;
  };
  return {
    add: (task: CommitTask): Promise<readonly DirectoryEvent[]> =>
      new Promise((resolve, reject) => {
        waiting.push({ task, resolve, reject });
        // Runs after the other events of this turn of the event loop, so that several sessions share one group.
        working ??= new Promise<void>((begun) => void setImmediate(begun)).then(work);
      }),
    /** Settles once every commit so far is stored or has failed. */
    finish: async (): Promise<void> => {
      while (working !== undefined) await working;
    },
  };
};
