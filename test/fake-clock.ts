import type { Clock } from '../src/core/clock.ts';

/** A clock that stands still until a test moves it. */
export type FakeClock = Clock & {
  /** Moves on by `ms`, runs what falls due in order of its time, and lets whatever that wakes come to rest. */
  readonly advance: (ms: number) => Promise<void>;
  /** How many tasks still wait for their time. */
  readonly pending: () => number;
};

type Task = { readonly dueAt: number; readonly run: () => void };

/** A turn of the event loop: every microtask that is ready, and those that it makes ready, run before it is over. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Starts at the beginning of 2026 unless told otherwise. */
export const createFakeClock = (start = Date.UTC(2026, 0, 1)): FakeClock => {
  let time = start;
  const tasks = new Set<Task>();
  const nextDue = (until: number): Task | undefined =>
    [...tasks].filter(({ dueAt }) => dueAt <= until).sort((left, right) => left.dueAt - right.dueAt)[0];
  return {
    now: () => time,
    after(delayMs, run) {
      const task = { dueAt: time + Math.max(0, delayMs), run };
      tasks.add(task);
      return () => void tasks.delete(task);
    },
    async advance(ms) {
      const until = time + ms;
      await turn();
      for (let task = nextDue(until); task !== undefined; task = nextDue(until)) {
        tasks.delete(task);
        time = Math.max(time, task.dueAt);
        task.run();
        await turn();
      }
      time = until;
    },
    pending: () => tasks.size,
  };
};
