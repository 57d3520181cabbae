import type { Clock } from './clock.ts';
import type { Log } from './log.ts';
import type { RunInSlices } from './time-slices.ts';

/** What nearly every part of a service uses of the world around it. It is created once and handed on whole. */
export type Runtime = {
  readonly clock: Clock;
  readonly log: Log;
  /** Unguessable and unique, fit for a header. */
  readonly newId: () => string;
  /** Long work in slices, between which other requests have their turn. */
  readonly runInSlices: RunInSlices;
};
