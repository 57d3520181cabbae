import { joinPublications } from '../events/publisher.ts';
import type { Turn } from '../protocol/turns.ts';
import { messagesRemoval, partsRemoval } from '../session/revert.ts';
import { isOpenStatus, READ_AGAIN_MS } from './joining.ts';
import { type TurnNeeds, UNREAD_LIFE_MS } from './new-turn.ts';
import { readFacts, statusOf } from './output/view.ts';
import { changeTurn, givenUp, requireTurn, withReader } from './records.ts';
import { isRefusal } from './refusals.ts';
import { forgetTurn } from './removal.ts';

/** A reader whose connection broke counts as left at once, but the time until the turn is aborted begins so much later. */
const BROKEN_MS = 1000;
const TURNS_AT_ONCE = 100;

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

/** What `createLeaving` works with: the open streams of this server, and the timers for what is due. */
type Attendance = TurnNeeds & {
  /** How many streams are open, by turn and reader. */
  readonly attended: Map<string, number>;
  readonly timers: Set<() => void>;
  isStopped: boolean;
};

/** Takes a failure of work that nobody waits for. Another server may have removed the turn. */
const report = ({ isStopped, onBug }: Attendance, error: unknown): void => {
  if (!isStopped && !isRefusal(error, 'turn_not_found')) onBug(error);
};

const lookAt = (readers: Attendance, dueMs: number): void => {
  const { clock, timers } = readers;
  if (readers.isStopped) return;
  const cancel = clock.after(Math.max(0, dueMs - clock.now()), () => {
    timers.delete(cancel);
    // A timer may come a millisecond early.
    if (clock.now() < dueMs) return lookAt(readers, dueMs);
    look(readers).catch((error: unknown) => report(readers, error));
  });
  timers.add(cancel);
};

const owedOf = async ({ store }: Attendance, { sessionID, promptID }: Turn) =>
  (await store.owed(sessionID)).find((owed) => owed.promptID === promptID);

/** The message of the prompt stays, without parts: the turn is shown as aborted, and no model reads of it. */
const removeMessages = async (
  { store, publisher }: Attendance,
  { sessionID, promptID, messageIDs }: Turn,
): Promise<void> => {
  const [session, prompt] = await Promise.all([store.session(sessionID), store.message(sessionID, promptID)]);
  if (session === undefined || prompt === undefined || !messageIDs.includes(promptID)) return;
  const earlier = messageIDs.filter((id) => id !== promptID);
  const removal = joinPublications(messagesRemoval(sessionID, earlier), partsRemoval(sessionID, prompt.parts));
  await publisher.publish(session.directory, removal);
};

const abort = async (readers: Attendance, turn: Turn): Promise<void> => {
  if ((await owedOf(readers, turn)) === undefined) return;
  // From now on it begins no more, at this server.
  const aborted = readers.runs.abort(turn.sessionID, turn.promptID);
  const removed = owedOf(readers, turn).then((owed) =>
    owed?.isBegun === false ? removeMessages(readers, turn) : undefined,
  );
  await Promise.all([aborted, removed]);
};

/** Does what is due for a turn: of several servers, the one that takes the time away from it. */
const settle = async (readers: Attendance, due: Turn): Promise<void> => {
  const nowMs = readers.clock.now();
  const status = statusOf(await readFacts(readers, due));
  const isOpen = isOpenStatus(status);
  const abortMs = isOpen ? abortMsOf(due, status === 'queued') : undefined;
  const isToAbort = abortMs !== undefined && abortMs <= nowMs;
  const removedMs = removalMs(due);
  if (!due.isStored && !isOpen && removedMs !== undefined && removedMs <= nowMs) return forgetTurn(readers, due);
  const laterMs = due.isStored ? undefined : Math.max(nowMs + READ_AGAIN_MS, removedMs ?? nowMs + UNREAD_LIFE_MS);
  const next = isToAbort ? laterMs : (abortMs ?? laterMs);
  let isMine = false;
  await changeTurn(readers.store, due, (turn) => {
    isMine = JSON.stringify(turn) === JSON.stringify(due);
    return isMine ? withDue(isToAbort ? givenUp(turn, nowMs) : turn, next) : turn;
  });
  if (isMine && next !== undefined) lookAt(readers, next);
  if (isMine && isToAbort) await abort(readers, due);
};

const look = async (readers: Attendance): Promise<void> => {
  const due = await readers.store.turns.due(readers.clock.now(), TURNS_AT_ONCE);
  if (readers.isStopped) return;
  // Together: while one is aborted, the next in its session would begin.
  const settled = due.map((turn) =>
    settle(readers, turn).catch((error: unknown) => {
      if (!isRefusal(error, 'turn_not_found')) throw error;
    }),
  );
  await Promise.all(settled);
};

const leave = async (
  readers: Attendance,
  who: Who,
  { reader, readTo, shownIDs, brokenMs = 0 }: Left & { readonly brokenMs?: number },
): Promise<Turn> => {
  const { store, clock } = readers;
  const owed = readTo === undefined ? await owedOf(readers, await requireTurn(store, who.owner, who.id)) : undefined;
  const turn = await changeTurn(store, who, (before) => {
    const now = clock.now();
    const without = { ...before, readers: before.readers.filter((one) => one !== reader) };
    if (readTo !== undefined) return afterReading(without, { readTo, shownIDs }, now);
    // One whose connection broke says that it has left: then the time begins now.
    const counts = before.readers.includes(reader) || (before.leftMs ?? 0) > now;
    return counts ? afterLeaving(without, now + brokenMs, owed?.isBegun === false) : before;
  });
  if (turn.dueMs !== undefined) lookAt(readers, turn.dueMs);
  return turn;
};

/** Counts one stream more or less, and returns how many of the place are open. */
const countAt = ({ attended }: Attendance, place: string, more: number): number => {
  const now = (attended.get(place) ?? 0) + more;
  if (now > 0) attended.set(place, now);
  else attended.delete(place);
  return now;
};

const attend = (readers: Attendance, turn: Turn, reader: string): ReturnType<Leaving['attend']> => {
  const place = `${turn.id} ${reader}`;
  const comeBack = () =>
    changeTurn(readers.store, turn, (now) => (now.readers.includes(reader) ? now : withReader(now, reader)));
  const breakOff = async (): Promise<void> => {
    await leave(readers, turn, { reader, brokenMs: BROKEN_MS });
    if (readers.attended.has(place)) await comeBack();
  };
  countAt(readers, place, 1);
  comeBack().catch(() => {});
  return (isBroken) => {
    if (countAt(readers, place, -1) > 0 || !isBroken || readers.isStopped) return;
    breakOff().catch((error: unknown) => report(readers, error));
  };
};

/** Follows who reads the turns of this server. */
export const createLeaving = (needs: TurnNeeds): Leaving => {
  const readers: Attendance = { ...needs, attended: new Map(), timers: new Set(), isStopped: false };
  return {
    leave: (turn, left) => leave(readers, turn, left),
    attend: (turn, reader) => attend(readers, turn, reader),
    async cancel({ owner, id }) {
      const turn = await requireTurn(needs.store, owner, id);
      if (turn.until === undefined) await abort(readers, turn);
      return requireTurn(needs.store, owner, id);
    },
    look: () => look(readers),
    stop() {
      readers.isStopped = true;
      for (const cancel of readers.timers) cancel();
    },
  };
};
