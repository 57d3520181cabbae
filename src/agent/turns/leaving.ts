import type { Clock } from '../../core/clock.ts';
import { joinPublications, type Publisher } from '../events/publisher.ts';
import type { Turn } from '../protocol/turns.ts';
import { messagesRemoval, partsRemoval } from '../session/revert.ts';
import type { RunQueue } from '../session/run-queue.ts';
import type { Store } from '../store/store.ts';
import type { Approvals } from '../tools/approvals.ts';
import { isOpenStatus, READ_AGAIN_MS } from './joining.ts';
import { readFacts, statusOf } from './output/view.ts';
import { changeTurn, givenUp, requireTurn, withReader } from './records.ts';
import { isRefusal } from './refusals.ts';

type LeavingNeeds = {
  readonly store: Store;
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly approvals: Pick<Approvals, 'open'>;
  readonly runs: Pick<RunQueue, 'abort'>;
  /** Removes a turn, with its session if nothing else is in that. */
  readonly forget: (turn: Turn) => Promise<void>;
  readonly clock: Clock;
  readonly onBug: (error: unknown) => void;
};

/** A reader whose connection broke counts as left at once, but the time until the turn is aborted begins so much later. */
const BROKEN_MS = 1000;
const TURNS_AT_ONCE = 100;
/** What is not stored is removed so long after its last reader has left, or its request has come. */
export const UNREAD_LIFE_MS = 600_000;

type Who = Pick<Turn, 'owner' | 'id'>;
/** How a reader leaves. `shownIDs`: the permission requests that it was shown. */
type Left = { readonly reader: string; readonly readTo?: number | undefined; readonly shownIDs?: readonly string[] };

/** Readers of turns come and go; turns that nobody reads are aborted, and those that are not stored are removed. */
export type Leaving = {
  /** `readTo`: the reader has had everything up to there. Without it, it has left before. */
  readonly leave: (turn: Who, left: Left) => Promise<Turn>;
  /** A stream of the reader is open, until the returned function is called: it says whether the stream broke. */
  readonly attend: (turn: Turn, reader: string) => (isBroken: boolean) => void;
  /** Aborts what runs for a turn. */
  readonly cancel: (turn: Who) => Promise<Turn>;
  /** Does what is due by now. Each server looks at the times that it has set; this finds those of servers that have ended. */
  readonly look: () => Promise<void>;
  readonly stop: () => void;
};

const withDue = ({ dueMs: _, ...turn }: Turn, dueMs: number | undefined): Turn =>
  dueMs === undefined ? turn : { ...turn, dueMs };

/** The turn once one of its readers has read it up to a position. */
const afterReading = (
  { leftMs: _, ...turn }: Turn,
  { readTo, shownIDs = [] }: { readonly readTo: number; readonly shownIDs: readonly string[] | undefined },
  nowMs: number,
): Turn => ({
  ...withDue(turn, turn.isStored ? undefined : nowMs + READ_AGAIN_MS),
  readMs: turn.readMs ?? nowMs,
  readTo: Math.max(turn.readTo ?? 0, readTo),
  ...(shownIDs.length === 0 ? {} : { shownIDs: [...new Set([...(turn.shownIDs ?? []), ...shownIDs])] }),
});

/** When a turn that nobody reads is aborted. One that has not begun has cost nothing: it waits for no reader. */
const abortMsOf = ({ readers, leftMs, abortAfterMs, from }: Turn, isQueued: boolean): number | undefined => {
  if (readers.length > 0 || leftMs === undefined || abortAfterMs === null) return undefined;
  return isQueued && from === 0 ? leftMs : leftMs + abortAfterMs;
};

/** The turn once one of its readers has left early. */
const afterLeaving = (turn: Turn, leftMs: number, isQueued: boolean): Turn => {
  const { readers, readMs } = turn;
  if (readers.length > 0 || readMs !== undefined || (turn.leftMs ?? Number.POSITIVE_INFINITY) <= leftMs) return turn;
  const left = { ...turn, leftMs };
  const removedMs = turn.isStored ? undefined : leftMs + UNREAD_LIFE_MS;
  return withDue(left, abortMsOf(left, isQueued) ?? removedMs);
};

/** When a turn that is not stored is removed, once it has ended. */
const removalMs = ({ readMs, leftMs, readers, createdMs }: Turn): number | undefined => {
  if (readMs !== undefined) return readMs + READ_AGAIN_MS;
  return readers.length > 0 ? undefined : (leftMs ?? createdMs) + UNREAD_LIFE_MS;
};

/** The comings and goings of readers, as one server sees them. */
export const createLeaving = ({ store, publisher, approvals, runs, forget, clock, onBug }: LeavingNeeds): Leaving => {
  const attended = new Map<string, number>();
  const timers = new Set<() => void>();
  let isStopped = false;
  const lookAt = (dueMs: number): void => {
    if (isStopped) return;
    const cancel = clock.after(Math.max(0, dueMs - clock.now()), () => {
      timers.delete(cancel);
      // A timer may come a millisecond early.
      if (clock.now() < dueMs) return lookAt(dueMs);
      look().catch((error: unknown) => {
        if (!isStopped && !isRefusal(error, 'turn_not_found')) onBug(error);
      });
    });
    timers.add(cancel);
  };
  const owedOf = async ({ sessionID, promptID }: Turn) =>
    (await store.owed(sessionID)).find((owed) => owed.promptID === promptID);
  /** The message of the prompt stays, without parts: the turn is shown as aborted, and no model reads of it. */
  const removeMessages = async ({ sessionID, promptID, messageIDs }: Turn): Promise<void> => {
    const [session, prompt] = await Promise.all([store.session(sessionID), store.message(sessionID, promptID)]);
    if (session === undefined || prompt === undefined || !messageIDs.includes(promptID)) return;
    const earlier = messageIDs.filter((id) => id !== promptID);
    const removal = joinPublications(messagesRemoval(sessionID, earlier), partsRemoval(sessionID, prompt.parts));
    await publisher.publish(session.directory, removal);
  };
  const abort = async (turn: Turn): Promise<void> => {
    if ((await owedOf(turn)) === undefined) return;
    // From now on it begins no more, at this server.
    const aborted = runs.abort(turn.sessionID, turn.promptID);
    const removed = owedOf(turn).then((owed) => (owed?.isBegun === false ? removeMessages(turn) : undefined));
    await Promise.all([aborted, removed]);
  };
  /** Does what is due for a turn: of several servers, the one that takes the time away from it. */
  const settle = async (due: Turn): Promise<void> => {
    const nowMs = clock.now();
    const status = statusOf(await readFacts({ store, approvals }, due));
    const isOpen = isOpenStatus(status);
    const abortMs = isOpen ? abortMsOf(due, status === 'queued') : undefined;
    const isToAbort = abortMs !== undefined && abortMs <= nowMs;
    const removedMs = removalMs(due);
    if (!due.isStored && !isOpen && removedMs !== undefined && removedMs <= nowMs) return forget(due);
    const laterMs = due.isStored ? undefined : Math.max(nowMs + READ_AGAIN_MS, removedMs ?? nowMs + UNREAD_LIFE_MS);
    const next = isToAbort ? laterMs : (abortMs ?? laterMs);
    let isMine = false;
    await changeTurn(store, due, (turn) => {
      isMine = JSON.stringify(turn) === JSON.stringify(due);
      return isMine ? withDue(isToAbort ? givenUp(turn, nowMs) : turn, next) : turn;
    });
    if (isMine && next !== undefined) lookAt(next);
    if (isMine && isToAbort) await abort(due);
  };
  const look = async (): Promise<void> => {
    const due = await store.turns.due(clock.now(), TURNS_AT_ONCE);
    if (isStopped) return;
    // Together: while one is aborted, the next in its session would begin.
    const settled = due.map((turn) =>
      settle(turn).catch((error: unknown) => {
        if (!isRefusal(error, 'turn_not_found')) throw error;
      }),
    );
    await Promise.all(settled);
  };
  const leave = async (who: Who, { reader, readTo, shownIDs }: Left, brokenMs = 0): Promise<Turn> => {
    const owed = readTo === undefined ? await owedOf(await requireTurn(store, who.owner, who.id)) : undefined;
    const turn = await changeTurn(store, who, (before) => {
      const now = clock.now();
      const without = { ...before, readers: before.readers.filter((one) => one !== reader) };
      if (readTo !== undefined) return afterReading(without, { readTo, shownIDs }, now);
      // One whose connection broke says that it has left: then the time begins now.
      const counts = before.readers.includes(reader) || (before.leftMs ?? 0) > now;
      return counts ? afterLeaving(without, now + brokenMs, owed?.isBegun === false) : before;
    });
    if (turn.dueMs !== undefined) lookAt(turn.dueMs);
    return turn;
  };
  return {
    leave,
    attend(turn, reader) {
      const place = `${turn.id} ${reader}`;
      const count = (more: number): number => {
        const now = (attended.get(place) ?? 0) + more;
        if (now > 0) attended.set(place, now);
        else attended.delete(place);
        return now;
      };
      const comeBack = () =>
        changeTurn(store, turn, (now) => (now.readers.includes(reader) ? now : withReader(now, reader)));
      const breakOff = async (): Promise<void> => {
        await leave(turn, { reader }, BROKEN_MS);
        if (attended.has(place)) await comeBack();
      };
      count(1);
      comeBack().catch(() => {});
      return (isBroken) => {
        if (count(-1) > 0 || !isBroken || isStopped) return;
        breakOff().catch((error: unknown) => {
          if (!isStopped && !isRefusal(error, 'turn_not_found')) onBug(error);
        });
      };
    },
    async cancel({ owner, id }) {
      const turn = await requireTurn(store, owner, id);
      if (turn.until === undefined) await abort(turn);
      return requireTurn(store, owner, id);
    },
    look,
    stop() {
      isStopped = true;
      for (const cancel of timers) cancel();
    },
  };
};
