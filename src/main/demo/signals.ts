import { systemClock } from '../../adapter/node/clock.ts';

/** One Ctrl-C can arrive twice, from the terminal and from the program that started this one. */
const ECHO_MS = 300;

export type LeavingSignals = {
  /** Aborts when the demo is to end. */
  readonly leaving: AbortSignal;
  /** Aborts when it is to end at once. */
  readonly hurrying: AbortSignal;
};

/** The first signal ends the demo in order, a second one at once. */
export const leavingSignals = (): LeavingSignals => {
  const leaving = new AbortController();
  const hurrying = new AbortController();
  let firstAt: number | undefined;
  const hear = (): void => {
    firstAt ??= systemClock.now();
    if (systemClock.now() - firstAt > ECHO_MS) hurrying.abort();
    leaving.abort();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, hear);
  // Whoever reads has left.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => leaving.abort());
  return { leaving: leaving.signal, hurrying: hurrying.signal };
};
