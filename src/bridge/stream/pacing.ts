import type { Clock } from '../../core/clock.ts';
import type { OutputEvent } from '../output.ts';
import { createGrowingText, type Portion, type TextContinuation } from './graphemes.ts';
import { readAhead, stopOnReturn } from './read-ahead.ts';

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
const createPacer = ({ chunkSize, delayMs }: PacerOptions): Pacer => {
  let receivedUnits = 0;
  let sentUnits = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
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
      if (isEmpty) nextAt = Math.max(nextAt, now);
      isEmpty = false;
      if (delayMs > 0) addDeadline(now);
      else minimumUnits = Math.max(minimumUnits, Math.ceil((receivedUnits - sentUnits) / BACKLOG_PIECES));
    },
    recordEmpty() {
      isEmpty = true;
    },
    readyAt(now) {
      if (delayMs === 0) return now;
      // A clock that was set back must not stop the text.
      nextAt = Math.min(nextAt, now + delayMs);
      return Math.min(nextAt, (deadlines[0]?.since ?? now) + WAIT_LIMIT_MS);
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
      nextAt = now < nextAt ? now + delayMs : nextAt + delayMs * piecesBetween(nextAt, now);
      while (deadlines[0] !== undefined && deadlines[0].untilUnits <= sentUnits) deadlines.shift();
    },
  };
};

/** The last grapheme of a text is sent once nothing that could join it has arrived for so long. */
const HELD_MS = 40;

type PacingOptions = PacerOptions & { readonly clock: Clock };

/**
 * The same output with its texts in pieces of `chunkSize` graphemes, one every `delayMs`. With a size of 0 texts are sent as
 * they arrive. This smooths and never slows down: no text waits for a second, and pieces grow as much as that needs. Ends
 * without an error when `signal` aborts.
 */
export const paceOutput = (
  output: AsyncIterable<OutputEvent>,
  { clock, chunkSize, delayMs }: PacingOptions,
  signal: AbortSignal,
): AsyncGenerator<OutputEvent, void> => {
  const pacer = createPacer({ chunkSize, delayMs: chunkSize === 0 ? 0 : delayMs });
  const text = createGrowingText();
  let id = '';
  let receivedAt = 0;
  const ahead = readAhead(output, {
    clock,
    onItem(event) {
      if (event.kind !== 'text') return;
      receivedAt = clock.now();
      pacer.recordReceived(event.text.length, receivedAt);
    },
  });
  /** Joins what has arrived of one text. Returns the event after it. */
  const gather = (): OutputEvent | undefined => {
    for (let first = ahead.first(); ; first = ahead.first()) {
      if (first?.kind !== 'text' || (text.units() > 0 && first.id !== id)) return first;
      id = first.id;
      text.add(first.text);
      ahead.drop();
    }
  };
  const continuationAt = (now: number, isFollowed: boolean): TextContinuation => {
    if (isFollowed || ahead.isOver()) return 'nothing';
    return now - receivedAt < HELD_MS ? 'more' : 'for-now';
  };
  async function* send(): AsyncGenerator<OutputEvent, void> {
    try {
      if (signal.aborted) return;
      signal.addEventListener('abort', ahead.stop, { once: true });
      for (;;) {
        const follower = gather();
        if (ahead.isStopped()) return;
        if (text.units() === 0) {
          if (follower !== undefined) {
            ahead.drop();
            yield follower;
          } else if (ahead.isOver()) return ahead.throwFailure();
          else {
            pacer.recordEmpty();
            await ahead.more();
          }
          continue;
        }
        const now = clock.now();
        const readyAt = pacer.readyAt(now);
        if (now < readyAt) {
          await ahead.until(readyAt);
          continue;
        }
        const continuation = continuationAt(now, follower !== undefined);
        const piece = chunkSize === 0 ? text.takePart(continuation) : text.take(pacer.portion(now), continuation);
        if (piece === '') {
          pacer.recordEmpty();
          await ahead.more(continuation === 'more' ? receivedAt + HELD_MS : undefined);
          continue;
        }
        pacer.recordSent(piece.length, now);
        yield { kind: 'text', id, text: piece };
        if (piece.length >= LONG_PIECE) await ahead.until(now);
      }
    } finally {
      signal.removeEventListener('abort', ahead.stop);
      ahead.stop();
    }
  }
  return stopOnReturn(send(), ahead.stop);
};
