import type { Clock } from '../../core/clock.ts';
import type { OutputEvent } from '../output.ts';
import { createGrowingText, type Portion, type Prospect } from './graphemes.ts';
import { readAhead, stoppedBy } from './read-ahead.ts';

/** No text waits longer: pieces grow as far as that takes. */
const WAIT_LIMIT_MS = 600;
/** Text that comes within this time shares the time at which it has to be out. */
const GATHER_MS = 50;
/** Into how many pieces at most a backlog is cut that goes out without pauses. */
const BACKLOG_PIECES = 2000;

export type PaceSettings = {
  /** Graphemes of a piece while nothing is behind. */
  readonly chunkSize: number;
  /** From one piece to the next; 0 is no pause at all. */
  readonly delayMs: number;
};

/** When the next piece of a text may go out, and how large it is. Time is told, never asked; it holds no timers. */
export type Pace = {
  readonly came: (units: number, now: number) => void;
  /** Nothing could go out although its time had come: what comes later has missed no turn. */
  readonly ranDry: () => void;
  readonly readyAt: (now: number) => number;
  readonly portion: (now: number) => Portion;
  readonly went: (units: number, now: number) => void;
};

type Promised = { readonly since: number; untilUnits: number };

/** Turns come at fixed times, so nothing drifts. Whoever comes late finds the turns that were missed in one larger piece. */
export const createPace = ({ chunkSize, delayMs }: PaceSettings): Pace => {
  let cameUnits = 0;
  let wentUnits = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  let isDry = true;
  let leastUnits = 0;
  const promised: Promised[] = [];
  const turnsFrom = (first: number, until: number): number => 1 + Math.floor(Math.max(0, until - first) / delayMs);
  const unitsATurn = (now: number): number =>
    promised.reduce((most, { since, untilUnits }) => {
      const turns = turnsFrom(now, since + WAIT_LIMIT_MS);
      return Math.max(most, Math.ceil((untilUnits - wentUnits) / turns));
    }, 0);
  const promise = (now: number) => {
    const last = promised.at(-1);
    if (last !== undefined && now < last.since + GATHER_MS) last.untilUnits = cameUnits;
    else promised.push({ since: now, untilUnits: cameUnits });
  };
  return {
    came(units, now) {
      cameUnits += units;
      if (isDry) nextAt = Math.max(nextAt, now);
      isDry = false;
      if (delayMs > 0) promise(now);
      else leastUnits = Math.max(leastUnits, Math.ceil((cameUnits - wentUnits) / BACKLOG_PIECES));
    },
    ranDry() {
      isDry = true;
    },
    readyAt(now) {
      if (delayMs === 0) return now;
      // A clock that was set back must not stop the text.
      nextAt = Math.min(nextAt, now + delayMs);
      return Math.min(nextAt, (promised[0]?.since ?? now) + WAIT_LIMIT_MS);
    },
    portion(now) {
      if (delayMs === 0) return { graphemes: chunkSize, units: leastUnits };
      const turns = turnsFrom(nextAt, now);
      return { graphemes: turns * chunkSize, units: turns * unitsATurn(now) };
    },
    went(units, now) {
      wentUnits += units;
      if (wentUnits === cameUnits) leastUnits = 0;
      if (delayMs === 0) return;
      nextAt = now < nextAt ? now + delayMs : nextAt + delayMs * turnsFrom(nextAt, now);
      while (promised[0] !== undefined && promised[0].untilUnits <= wentUnits) promised.shift();
    },
  };
};

/** The last grapheme of a text goes out when nothing has come for so long that could join it. */
const HELD_MS = 40;

export type PacingNeeds = PaceSettings & { readonly clock: Clock };

/**
 * The same sayings with their texts in pieces of `chunkSize` graphemes, one every `delayMs`. With a size of 0 they go out as
 * they come. This smooths and never slows: no text is kept for a second, and pieces grow as far as that takes. Ends without a
 * word when `signal` aborts.
 */
export const paced = (
  sayings: AsyncIterable<OutputEvent>,
  { clock, chunkSize, delayMs }: PacingNeeds,
  signal: AbortSignal,
): AsyncGenerator<OutputEvent, void> => {
  const pace = createPace({ chunkSize, delayMs: chunkSize === 0 ? 0 : delayMs });
  const text = createGrowingText();
  let id = '';
  let cameAt = 0;
  const ahead = readAhead(sayings, {
    clock,
    onItem(saying) {
      if (saying.kind !== 'text') return;
      cameAt = clock.now();
      pace.came(saying.text.length, cameAt);
    },
  });
  /** Joins what has come of one text. Returns what comes after it. */
  const gather = (): OutputEvent | undefined => {
    for (let first = ahead.first(); ; first = ahead.first()) {
      if (first?.kind !== 'text' || (text.units() > 0 && first.id !== id)) return first;
      id = first.id;
      text.add(first.text);
      ahead.drop();
    }
  };
  const prospectAt = (now: number, isFollowed: boolean): Prospect => {
    if (isFollowed || ahead.isOver()) return 'nothing';
    return now - cameAt < HELD_MS ? 'more' : 'for-now';
  };
  async function* tell(): AsyncGenerator<OutputEvent, void> {
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
            pace.ranDry();
            await ahead.more();
          }
          continue;
        }
        const now = clock.now();
        const readyAt = pace.readyAt(now);
        if (now < readyAt) {
          await ahead.until(readyAt);
          continue;
        }
        const prospect = prospectAt(now, follower !== undefined);
        const piece = chunkSize === 0 ? text.takePart(prospect) : text.take(pace.portion(now), prospect);
        if (piece === '') {
          pace.ranDry();
          await ahead.more(prospect === 'more' ? cameAt + HELD_MS : undefined);
          continue;
        }
        pace.went(piece.length, now);
        yield { kind: 'text', id, text: piece };
      }
    } finally {
      signal.removeEventListener('abort', ahead.stop);
      ahead.stop();
    }
  }
  return stoppedBy(tell(), ahead.stop);
};
