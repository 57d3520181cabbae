import type { Portion } from './stream/graphemes.ts';

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
