import { systemClock } from '../../adapter/node/clock.ts';
import { STOP_SIGNALS } from '../../adapter/node/signals.ts';

/** One Ctrl-C can arrive twice, from the terminal and from the program that started this one. */
const ECHO_MS = 300;

export type StopSignals = {
  /** Aborts when the demo is to end. */
  readonly stopping: AbortSignal;
  /** Aborts when it is to end at once. */
  readonly forced: AbortSignal;
};

/** The first signal ends the demo in order, a second one at once. `onSignalled` is called at the first. */
export const createStopSignals = (onSignalled: () => void): StopSignals => {
  const stopping = new AbortController();
  const forced = new AbortController();
  let firstAt: number | undefined;
  const onSignal = (): void => {
    if (firstAt === undefined) onSignalled();
    firstAt ??= systemClock.now();
    if (systemClock.now() - firstAt > ECHO_MS) forced.abort();
    stopping.abort();
  };
  for (const name of STOP_SIGNALS) process.on(name, onSignal);
  // The reader of a pipe has closed it.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => stopping.abort());
  return { stopping: stopping.signal, forced: forced.signal };
};
