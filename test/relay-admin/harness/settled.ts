import * as assert from 'uvu/assert';
import type { FakeClock } from '../../fake-clock.ts';

const STEP_MS = 1000;
const TURNS = 40;
/** Digests are made on other threads, in a time that no clock of ours tells. */
const REAL_PAUSE_MS = 10;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const realPause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, REAL_PAUSE_MS));

type Waiting = {
  readonly clock: FakeClock;
  readonly limitMs: number;
  /** Whether something is asked of the relay at the moment, so that waiting is for the clock alone. */
  readonly isAsking: () => boolean;
};

/** Waits for a promise and moves the clock on while it waits, and no further than to the limit. */
export const settledWithin = async <T>({ clock, limitMs, isAsking }: Waiting, pending: Promise<T>): Promise<T> => {
  let isOver = false;
  const leave = () => {
    isOver = true;
  };
  pending.then(leave, leave);
  for (let waitedMs = 0; ; waitedMs += STEP_MS) {
    for (let turns = 0; turns < TURNS && !isOver; turns += 1) await turn();
    if (!isOver && (!isAsking() || waitedMs >= limitMs)) await realPause();
    if (isOver) return pending;
    assert.ok(waitedMs < limitMs, `still under way after ${limitMs} ms`);
    await clock.advance(STEP_MS);
  }
};
