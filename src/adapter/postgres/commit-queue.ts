import { type EventDraft, sessionIDOf } from '../../agent/protocol/events.ts';
import type { Ids } from '../../agent/protocol/ids.ts';
import { isUnfinished, type Session } from '../../agent/protocol/types.ts';
import { foldedTitle } from '../../agent/session/title-search.ts';
import { LeaseLost, OrphanError, StaleError, StoreUnavailable } from '../../agent/store/errors.ts';
import type { Change, PlacedEvent } from '../../agent/store/store.ts';
import type { PostgresLink } from './connection.ts';
import { isRefused, isToRepeat } from './errors.ts';
import type { Seat } from './membership.ts';

/** One commit as it is asked for. */
export type Draft = { readonly directory: string; readonly draft: EventDraft };
export type Task = {
  readonly changes: readonly Change[];
  /** Parts that grow and need not be written yet: they are only looked for. */
  readonly spared: ReadonlySet<Change>;
  readonly events: readonly Draft[];
  /** The lease that it is only kept under. */
  readonly under: string | undefined;
};

const sessionColumns = (session: Session) => ({
  id: session.id,
  directory: JSON.stringify(session.directory),
  parent: session.parentID,
  title: foldedTitle(session.title),
  updated: session.time.updated,
  data: JSON.stringify(session),
});

/** A change in the words of the database's own function. */
const rowOf = (change: Change, isSpared: boolean): Readonly<Record<string, unknown>> => {
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
      if (isSpared) return { kind: 'part-still', id, message, session };
      return { kind, id, message, session, data: JSON.stringify(change.part) };
    }
    case 'output':
      return { kind, id: change.partID, session: change.sessionID, data: JSON.stringify(change.text) };
    default:
      return change satisfies never;
  }
};

/** A task as the database's function takes it. */
export const writtenTask = ({ changes, spared, events, under }: Task, ids: Ids): unknown => ({
  under,
  changes: changes.map((change) => rowOf(change, spared.has(change))),
  events: events.map(({ directory, draft }) => ({
    id: ids('event'),
    session: sessionIDOf(draft),
    directory: JSON.stringify(directory),
    data: JSON.stringify(draft),
  })),
});

type Answer = readonly string[] | { readonly refused: string };
/** What the database's function answers: the newest event before, and what became of each task. */
export type Answered = { readonly after: string; readonly tasks: readonly Answer[] };

const KINDS = ['session', 'message', 'part', 'output'] as const;

/** Why a task was refused, as an error. */
const refusalOf = (refused: string): Error => {
  if (refused === 'stale') return new StaleError();
  if (refused === 'lease') return new LeaseLost();
  const kind = KINDS.find((one) => one === refused);
  return kind === undefined ? new Error('Cannot read what the store has answered') : new OrphanError(kind);
};

/** The events of a task under their ids, or why there are none. */
export const outcomeOf = ({ events }: Task, answer: Answer | undefined): readonly PlacedEvent[] | Error => {
  if (answer === undefined) return new Error('Cannot read what the store has answered');
  if ('refused' in answer) return refusalOf(answer.refused);
  return events.map(
    ({ directory, draft }, place): PlacedEvent => ({
      directory,
      event: { ...draft, id: answer[place] ?? '' },
    }),
  );
};

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
