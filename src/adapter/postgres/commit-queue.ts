import { type EventDraft, sessionIDOf } from '../../agent/protocol/events.ts';
import type { Ids } from '../../agent/protocol/ids.ts';
import { isUnfinished, type Session } from '../../agent/protocol/types.ts';
import { LeaseLostError, OrphanError, StaleSessionError, StoreUnavailableError } from '../../agent/store/errors.ts';
import { type DirectoryEvent, foldTitle, type StoreChange } from '../../agent/store/store.ts';
import type { PostgresConnection } from './connection.ts';
import { isRejected, isTransactionConflict } from './errors.ts';
import type { Membership } from './membership.ts';

/** An event before it has an id. */
type DraftEvent = { readonly directory: string; readonly draft: EventDraft };
type CommitTask = {
  readonly changes: readonly StoreChange[];
  /** Parts that still grow and need not be written yet: the database only checks that they exist. */
  readonly deferred: ReadonlySet<StoreChange>;
  readonly events: readonly DraftEvent[];
  /** The commit is refused unless this lease is still held. */
  readonly leaseID: string | undefined;
};

const sessionColumns = (session: Session) => ({
  id: session.id,
  directory: JSON.stringify(session.directory),
  parent: session.parentID,
  title: foldTitle(session.title),
  updated: session.time.updated,
  data: JSON.stringify(session),
});

/** A change as `put_change` in the database takes it. */
const serializeChange = (change: StoreChange, isDeferred: boolean): Readonly<Record<string, unknown>> => {
  const { kind } = change;
  switch (kind) {
    case 'session': {
      const { session, before } = change;
      return { kind, ...sessionColumns(session), before: before && JSON.stringify(before) };
    }
    case 'session-begun':
      return { kind, ...sessionColumns(change.session) };
    case 'session-given-up':
    case 'session-removed':
      return { kind, id: change.sessionID };
    case 'message': {
      const { message } = change;
      const { id, sessionID: session } = message;
      return { kind, id, session, unfinished: isUnfinished(message), data: JSON.stringify(message) };
    }
    case 'messages-removed':
      return { kind, session: change.sessionID, ids: change.messageIDs };
    case 'parts-removed':
      return { kind, session: change.sessionID, ids: change.partIDs };
    case 'part': {
      const { id, messageID: message, sessionID: session } = change.part;
      if (isDeferred) return { kind: 'part-still', id, message, session };
      return { kind, id, message, session, data: JSON.stringify(change.part) };
    }
    case 'output':
      return { kind, id: change.partID, session: change.sessionID, data: JSON.stringify(change.text) };
    case 'answer':
      return { kind, id: change.promptID, session: change.sessionID, state: change.state };
    default:
      return change satisfies never;
  }
};

/** A task as `commit_tasks` in the database takes it. */
const serializeTask = ({ changes, deferred, events, leaseID }: CommitTask, ids: Ids): unknown => ({
  under: leaseID,
  changes: changes.map((change) => serializeChange(change, deferred.has(change))),
  events: events.map(({ directory, draft }) => ({
    id: ids('event'),
    session: sessionIDOf(draft),
    directory: JSON.stringify(directory),
    data: JSON.stringify(draft),
  })),
});

type TaskReply = readonly string[] | { readonly refused: string };
/** The reply of `commit_tasks`: the newest event before the group, and the event ids or the refusal of each task. */
type CommitReply = { readonly after: string; readonly tasks: readonly TaskReply[] };

const KINDS = ['session', 'message', 'part', 'output'] as const;

/** The error for a refused task. */
const toRefusal = (refused: string): Error => {
  if (refused === 'stale') return new StaleSessionError();
  if (refused === 'lease') return new LeaseLostError();
  const kind = KINDS.find((one) => one === refused);
  return kind === undefined ? new Error('Cannot read what the store has answered') : new OrphanError(kind);
};

/** The events of a task with their ids, or the error that it failed with. */
const toOutcome = ({ events }: CommitTask, answer: TaskReply | undefined): readonly DirectoryEvent[] | Error => {
  if (answer === undefined) return new Error('Cannot read what the store has answered');
  if ('refused' in answer) return toRefusal(answer.refused);
  return events.map(
    ({ directory, draft }, place): DirectoryEvent => ({
      directory,
      event: { ...draft, id: answer[place] ?? '' },
    }),
  );
};

/** Larger groups would make other servers wait too long. */
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
  readonly ids: Ids;
  /** How long commits wait for an unavailable database. */
  readonly limitMs: number;
  /** Called before the commits of a group settle: `placed` are its events, `after` is the newest event before them. */
  readonly onCommitted: (own: { readonly after: string; readonly placed: readonly DirectoryEvent[] }) => Promise<void>;
  /** Called after `check`, while no group is being sent. */
  readonly onCheck: () => Promise<void>;
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Sends commits in the order of their calls, one group at a time: commits that arrive meanwhile form the next group. While
 * the database is unavailable, the group is sent again under the same batch number, so that nothing is stored twice.
 */
export const createCommitQueue = ({ connection, membership, ids, limitMs, onCommitted, onCheck }: CommitQueueParts) => {
  // Bounded by its callers: each request, turn and call waits for its commit before it makes the next one.
  const waiting: PendingCommit[] = [];
  let isCheckDue = false;
  let working: Promise<void> | undefined;

  /** Sends a group until the database replies. Nothing of it is stored when the membership is lost. */
  const sendGroup = async (tasks: string): Promise<CommitReply> => {
    const { id, batch } = membership.nextBatch();
    const untilMs = performance.now() + limitMs;
    for (let tries = 0; ; tries++) {
      try {
        const [row] = await connection.query(
          (sql) => sql`SELECT commit_tasks(${id}, ${batch}, ${tasks}::text::json) AS answer`,
          limitMs,
        );
        if (row?.answer === null) throw await membership.rejoin(id);
        // A connection that is cut at the right byte leaves a result without its row: whether it was stored is unknown.
        if (typeof row?.answer !== 'string') throw new StoreUnavailableError();
        return JSON.parse(row.answer);
      } catch (error) {
        if (isTransactionConflict(error)) continue;
        if (!(error instanceof StoreUnavailableError) || isRejected(error)) throw error;
        const pause = RETRY_AFTER_MS[Math.min(tries, RETRY_AFTER_MS.length - 1)] ?? 0;
        if (connection.isClosed() || performance.now() + pause > untilMs) throw error;
        await sleep(pause);
      }
    }
  };
  /** The reply to a group, or undefined when the database rejects the whole group. */
  const commitGroup = async (group: readonly PendingCommit[]): Promise<CommitReply | undefined> => {
    try {
      return await sendGroup(JSON.stringify(group.map(({ task }) => serializeTask(task, ids))));
    } catch (error) {
      if (group.length > 1 && isRejected(error)) return undefined;
      throw error;
    }
  };
  const settle = async (group: readonly PendingCommit[]): Promise<void> => {
    try {
      const answered = await commitGroup(group);
      if (answered === undefined) {
        // One commit that the database cannot take must not fail the others.
        for (const one of group) await settle([one]);
        return;
      }
      const { after, tasks } = answered;
      const outcomes = group.map(({ task }, place) => toOutcome(task, tasks[place]));
      await onCommitted({ after, placed: outcomes.flatMap((outcome) => (outcome instanceof Error ? [] : outcome)) });
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
    while (waiting.length > 0 || isCheckDue) {
      if (waiting.length > 0) await settle(waiting.splice(0, GROUP_TASKS));
      if (!isCheckDue) continue;
      isCheckDue = false;
      await onCheck();
    }
    working = undefined;
  };
  // Runs after the other events of this turn of the event loop, so that several sessions share one group.
  const begin = (): void => {
    working ??= new Promise<void>((begun) => void setImmediate(begun)).then(work);
  };
  return {
    add: (task: CommitTask): Promise<readonly DirectoryEvent[]> =>
      new Promise((resolve, reject) => {
        waiting.push({ task, resolve, reject });
        begin();
      }),
    /** Schedules a call of `onCheck`. */
    check(): void {
      isCheckDue = true;
      begin();
    },
    /** Settles once every commit so far is stored or has failed. */
    finish: async (): Promise<void> => {
      while (working !== undefined) await working;
    },
  };
};
