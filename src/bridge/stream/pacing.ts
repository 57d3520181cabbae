import type { Clock } from '../../core/clock.ts';
import type { OutputEvent } from '../output.ts';
import { createGrowingText, type Portion, type TextContinuation } from './graphemes.ts';
import type { PieceShare } from './piece-share.ts';
import type { PolledOutput } from './polled-output.ts';

/** No text waits longer: pieces grow as much as that needs. */
const WAIT_LIMIT_MS = 600;
/** Texts that arrive within this time share one deadline. */
const SHARED_DEADLINE_MS = 50;
/** The most pieces that a backlog is cut into where there are no pauses. */
const BACKLOG_PIECES = 2000;

/** In UTF-16 units. A longer piece is cut. */
const LONGEST_PIECE = 65_536;
/** After such a piece the event loop has a turn. */
const LONG_PIECE = 8192;

type PacerOptions = {
  /** Graphemes of a piece while there is no backlog. */
  readonly chunkSize: number;
  /** From one piece to the next; 0 is no pause. */
  readonly delayMs: number;
};

/** Decides when the next piece of a text is sent, and how large it is. The time is passed in; it has no timers. */
type Pacer = {
  readonly recordReceived: (units: number, now: number) => void;
  /** There was nothing to send at the time of a piece: text that arrives later is not late. */
  readonly recordEmpty: () => void;
  readonly readyAt: (now: number) => number;
  readonly portion: (now: number) => Portion;
  readonly recordSent: (units: number, now: number) => void;
};

type TextDeadline = { readonly since: number; untilUnits: number };

/** Pieces have fixed times, so nothing drifts. A piece that is sent late holds those that were missed, too. */
const createPacer = ({ chunkSize, delayMs }: PacerOptions, share: PieceShare): Pacer => {
  let receivedUnits = 0;
  let sentUnits = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  let sentAt = Number.NEGATIVE_INFINITY;
  let isEmpty = true;
  let minimumUnits = 0;
  const deadlines: TextDeadline[] = [];
  const piecesBetween = (first: number, until: number): number => 1 + Math.floor(Math.max(0, until - first) / delayMs);
  const unitsPerPiece = (now: number): number =>
    deadlines.reduce((most, { since, untilUnits }) => {
      const pieces = piecesBetween(now, since + WAIT_LIMIT_MS);
      return Math.max(most, Math.ceil((untilUnits - sentUnits) / pieces));
    }, 0);
  const addDeadline = (now: number) => {
    const last = deadlines.at(-1);
    if (last !== undefined && now < last.since + SHARED_DEADLINE_MS) last.untilUnits = receivedUnits;
    else deadlines.push({ since: now, untilUnits: receivedUnits });
  };
  return {
    recordReceived(units, now) {
      receivedUnits += units;
      if (isEmpty) {
        nextAt = Math.max(nextAt, now);
        share.begin();
      }
      isEmpty = false;
      if (delayMs > 0) addDeadline(now);
      else minimumUnits = Math.max(minimumUnits, Math.ceil((receivedUnits - sentUnits) / BACKLOG_PIECES));
    },
    recordEmpty() {
      if (!isEmpty) share.end();
      isEmpty = true;
    },
    readyAt(now) {
      if (delayMs === 0) return now;
      // A clock that was set back must not stop the text.
      nextAt = Math.min(nextAt, now + delayMs);
      sentAt = Math.min(sentAt, now);
      const ownAt = Math.min(nextAt, (deadlines[0]?.since ?? now) + WAIT_LIMIT_MS);
      return Math.max(ownAt, sentAt + share.intervalMs());
    },
    portion(now) {
      if (delayMs === 0) return { graphemes: chunkSize, units: Math.min(LONGEST_PIECE, minimumUnits) };
      const pieces = piecesBetween(nextAt, now);
      return { graphemes: pieces * chunkSize, units: Math.min(LONGEST_PIECE, pieces * unitsPerPiece(now)) };
    },
    recordSent(units, now) {
      sentUnits += units;
      if (sentUnits === receivedUnits) minimumUnits = 0;
      if (delayMs === 0) return;
      sentAt = now;
      nextAt = now < nextAt ? now + delayMs : nextAt + delayMs * piecesBetween(nextAt, now);
      while (deadlines[0] !== undefined && deadlines[0].untilUnits <= sentUnits) deadlines.shift();
    },
  };
};

/** The last grapheme of a text is sent once nothing that could join it has arrived for so long. */
const HELD_MS = 40;

/** An answer as it is sent: its texts in pieces, each when its time has come. */
export type PacedOutput = {
  /** The next event whose time has come. Undefined where there is none now, or none will come. Throws as its source does. */
  readonly take: (now: number) => OutputEvent | undefined;
  /** Whether no event will come any more; known after a `take` that found none. */
  readonly isOver: () => boolean;
  /**
   * After a `take` that found none: calls `ready` once, when it is worth another one, also when `stop` is called. Never at once.
   * No promise: hundreds of streams wait for each of their pieces.
   */
  readonly wait: (ready: () => void) => void;
  /** Ends the reading of the source and the current wait. */
  readonly stop: () => void;
};

type PacingOptions = PacerOptions & {
  readonly clock: Clock;
  /** Shared by all that send at the same time. */
  readonly share: PieceShare;
};

/**
 * The same output with its texts in pieces of `chunkSize` graphemes, one every `delayMs`. With a size of 0 texts are sent as
 * they arrive. This smooths and never slows down: no text waits for a second, and pieces grow as much as that needs.
 */
export const paceOutput = (output: PolledOutput, { clock, chunkSize, delayMs, share }: PacingOptions): PacedOutput => {
  const pacer = createPacer({ chunkSize, delayMs: chunkSize === 0 ? 0 : delayMs }, share);
  const text = createGrowingText();
  let id = '';
  /** What was read and is not in `text`, from `next` on. */
  let ahead: OutputEvent[] = [];
  let next = 0;
  /** Whether there may be something to read: what was there at the beginning was not announced. */
  let isUnread = true;
  /** When the oldest event came that was not read yet, and when the newest one came. */
  let changedAt: number | undefined;
  let receivedAt = 0;
  /** Thrown once all before it was taken. */
  let failure: { readonly error: unknown } | undefined;
  let isStopped = false;
  let isResting = false;
  /** Until when to wait, and whether a change ends that earlier. */
  let waitUntil: number | undefined;
  let isForChange = true;
  let waiting: (() => void) | undefined;
  let cancelTimer: (() => void) | undefined;

  const onTime = (): void => {
    const ready = waiting;
    waiting = undefined;
    ready?.();
  };
  /** Not at once: who announces a change may be in the middle of it. */
  const wake = (): void => {
    if (waiting === undefined) return;
    cancelTimer?.();
    queueMicrotask(waiting);
    waiting = undefined;
  };
  output.onChange(() => {
    receivedAt = clock.now();
    changedAt ??= receivedAt;
    isUnread = true;
    if (isForChange) wake();
  });
  const waitFor = (until: number | undefined, isChangeEnough: boolean): undefined => {
    waitUntil = until;
    isForChange = isChangeEnough;
  };
  const read = (now: number): void => {
    isUnread = false;
    const since = changedAt ?? now;
    changedAt = undefined;
    try {
      for (let event = output.poll(); event !== undefined; event = output.poll()) {
        ahead.push(event);
        if (event.kind === 'text') pacer.recordReceived(event.text.length, since);
      }
    } catch (error) {
      failure ??= { error };
    }
  };
  const dropFirst = (): void => {
    next += 1;
    if (next < ahead.length) return;
    ahead = [];
    next = 0;
  };
  /** Joins what was read of one text. Returns the event after it. */
  const gather = (): OutputEvent | undefined => {
    for (let first = ahead[next]; ; first = ahead[next]) {
      if (first?.kind !== 'text' || (text.units() > 0 && first.id !== id)) return first;
      id = first.id;
      text.add(first.text);
      dropFirst();
    }
  };
  const continuationAt = (now: number, isFollowed: boolean): TextContinuation => {
    if (isFollowed || failure !== undefined || output.isOver()) return 'nothing';
    return now - receivedAt < HELD_MS ? 'more' : 'for-now';
  };
  const takePiece = (now: number, isFollowed: boolean): OutputEvent | undefined => {
    const readyAt = pacer.readyAt(now);
    if (now < readyAt) return waitFor(readyAt, false);
    const continuation = continuationAt(now, isFollowed);
    const piece = chunkSize === 0 ? text.takePart(continuation) : text.take(pacer.portion(now), continuation);
    if (piece === '') {
      pacer.recordEmpty();
      return waitFor(continuation === 'more' ? receivedAt + HELD_MS : undefined, true);
    }
    pacer.recordSent(piece.length, now);
    isResting = piece.length >= LONG_PIECE;
    return { kind: 'text', id, text: piece };
  };
  return {
    take(now) {
      if (isStopped) return undefined;
      if (isResting) {
        isResting = false;
        return waitFor(now, false);
      }
      if (isUnread && failure === undefined) read(now);
      const follower = gather();
      if (text.units() > 0) return takePiece(now, follower !== undefined);
      if (follower === undefined) {
        if (failure !== undefined) throw failure.error;
        pacer.recordEmpty();
        return waitFor(undefined, true);
      }
      dropFirst();
      return follower;
    },
    isOver: () => isStopped || (failure === undefined && output.isOver() && ahead.length === 0 && text.units() === 0),
    wait(ready) {
      waiting = ready;
      cancelTimer = undefined;
      if (isStopped || (isForChange && isUnread)) wake();
      else if (waitUntil !== undefined) cancelTimer = clock.after(waitUntil - clock.now(), onTime);
    },
    stop() {
      isStopped = true;
      pacer.recordEmpty();
      output.stop();
      wake();
    },
  };
};
