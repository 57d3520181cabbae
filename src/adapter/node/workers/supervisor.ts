import type { Clock } from '../../../core/clock.ts';
import { ConfigError } from '../../../core/config.ts';
import type { Log } from '../../../core/log.ts';

/** What becomes of a worker process that was started. */
export type WorkerEvents = {
  /** It takes connections. Called once at most. */
  readonly onStarted: () => void;
  /** It cannot start, and ends: what is wrong, a line each. */
  readonly onFailed: (problems: readonly string[]) => void;
  /** It has ended. `reason`: an exit code or a signal. */
  readonly onEnded: (reason: string) => void;
};

type SupervisorNeeds = {
  readonly count: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Starts the worker with a number from 1 to `count`. */
  readonly start: (number: number, events: WorkerEvents) => void;
  /** A worker that had taken connections was replaced by one that does. */
  readonly onReplaced: () => void;
  /** A worker that was to replace another cannot start. */
  readonly onProblems: (problems: readonly string[]) => void;
};

/** Keeps a number of worker processes running. */
export type Supervisor = {
  /** Resolves once all workers take connections; rejects with a `ConfigError` if one of them cannot start. */
  readonly started: Promise<void>;
  /** Rejects with a `ConfigError` when no worker stays up. Never resolves. */
  readonly failed: Promise<never>;
  /** Workers that take connections. */
  readonly running: () => number;
  /** From now on no worker is started. */
  readonly stop: () => void;
};

/** A worker that took connections for so long was all right: what ended it may have been an accident. */
const SETTLED_MS = 2000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 10_000;
/** How often each worker may end early in a row before the service gives up. */
const EARLY_ENDS_LIMIT = 5;

type Slot = { readonly number: number; earlyEnds: number; startedAt: number | undefined; hasServed: boolean };

/**
 * Starts workers, and replaces those that end: at once, or after a delay that doubles with each early end in a row. Gives up
 * when none runs and each has ended early several times in a row.
 */
export const createSupervisor = (needs: SupervisorNeeds): Supervisor => {
  const { count, clock, log, start } = needs;
  const slots = Array.from({ length: count }, (_, index): Slot => {
    return { number: index + 1, earlyEnds: 0, startedAt: undefined, hasServed: false };
  });
  const first = Promise.withResolvers<void>();
  const end = Promise.withResolvers<never>();
  // Either may stay without a listener.
  for (const promise of [first.promise, end.promise]) promise.catch(() => {});
  let isStopping = false;

  const running = (): number => slots.filter(({ startedAt }) => startedAt !== undefined).length;
  const giveUp = (problems: readonly string[]): void => {
    isStopping = true;
    const error = new ConfigError(problems);
    first.reject(error);
    end.reject(error);
  };
  const isInitial = (): boolean => slots.some(({ hasServed }) => !hasServed);

  const startIn = (slot: Slot): void => {
    if (isStopping) return;
    start(slot.number, {
      onStarted() {
        if (slot.hasServed) {
          log('info', 'worker-replaced', { worker: slot.number });
          needs.onReplaced();
        }
        slot.startedAt = clock.now();
        slot.hasServed = true;
        if (!isInitial()) first.resolve();
      },
      onFailed(problems) {
        if (isStopping) return;
        // All workers have the same settings: the problems of the first are those of all.
        if (isInitial()) giveUp(problems);
        else needs.onProblems(problems);
      },
      onEnded(reason) {
        const aliveMs = slot.startedAt === undefined ? 0 : clock.now() - slot.startedAt;
        slot.startedAt = undefined;
        if (isStopping) return;
        slot.earlyEnds = aliveMs >= SETTLED_MS ? 0 : slot.earlyEnds + 1;
        const restMs =
          slot.earlyEnds === 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (slot.earlyEnds - 1), LONGEST_DELAY_MS);
        log('warn', 'worker-ended', { worker: slot.number, reason, restMs });
        if (running() === 0 && slots.every(({ earlyEnds }) => earlyEnds >= EARLY_ENDS_LIMIT))
          return giveUp([
            `every worker process ended ${EARLY_ENDS_LIMIT} times within ${SETTLED_MS / 1000} s of its start, the last one with ${reason}; the lines before this one may say why`,
          ]);
        clock.after(restMs, () => startIn(slot));
      },
    });
  };
  for (const slot of slots) startIn(slot);

  return {
    started: first.promise,
    failed: end.promise,
    running,
    stop() {
      isStopping = true;
    },
  };
};
