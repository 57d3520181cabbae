import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { createKeyedQueue } from '../../core/keyed-queue.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { createViews, type Views } from './decode.ts';

/**
 * Makes the views of a text. `owner` is whose text it is, by the digest of a gateway key. Rejects with the signal's reason as
 * soon as it aborts, and the rest is not done; with `overloaded` where too much of this owner waits already.
 */
export type MakeViews = (text: string, owner: string, signal: AbortSignal) => Promise<Views>;

/** The same away from the event loop. Undefined where that cannot be had now: then the views are made in slices. */
export type MakeViewsElsewhere = (text: string, owner: string, signal: AbortSignal) => Promise<Views | undefined>;

/** Shorter texts are done before a thread has answered: see docs/decisions/2026-11-22-large-texts-in-a-thread.md. */
export const LARGE_CHARS = 4096;

/** How long the large texts of an owner may have to wait for each other. */
const WAIT_LIMIT_MS = 5000;
/** Until an owner's own texts show what they take: between plain texts, and the costliest with four times that. */
const FIRST_MS_PER_CHAR = 0.0005;
/** How much of what is expected of an owner's texts is what the last one took. */
const LAST_WEIGHT = 0.25;
const MIN_RETRY_AFTER_MS = 1000;

/** What the large texts of an owner, waiting or worked on, are expected to take. */
type Load = { chars: number; msPerChar: number; admitted: AbortSignal | undefined };

type MakeViewsNeeds = {
  readonly clock: Clock;
  readonly runInSlices: RunInSlices;
  readonly elsewhere: MakeViewsElsewhere | undefined;
  readonly onLarge: GatewayMetrics['largeText'];
};

/**
 * Makes views: of short texts here, of large ones elsewhere if possible, one at a time for each owner. What an owner sends
 * beyond five seconds of work is refused, and the texts of others are not in that queue.
 */
export const createMakeViews = ({ clock, runInSlices, elsewhere, onLarge }: MakeViewsNeeds) => {
  const queue = createKeyedQueue({
    count: Number.POSITIVE_INFINITY,
    per: 'key',
    createError: () => new Fault({ kind: 'overloaded', retryAfterMs: MIN_RETRY_AFTER_MS }),
  });
  /** Of each owner: they are as many as there are gateway keys. */
  const loads = new Map<string, Load>();
  let waiting = 0;

  const makeHere: MakeViews = (text, owner, signal) => runInSlices(createViews(text), signal, owner);

  const admit = (owner: string, signal: AbortSignal): Load => {
    const load = loads.get(owner) ?? { chars: 0, msPerChar: FIRST_MS_PER_CHAR, admitted: undefined };
    loads.set(owner, load);
    const excessMs = load.chars * load.msPerChar - WAIT_LIMIT_MS;
    // The texts of one request share a signal and come together: they are refused together or not at all.
    if (excessMs > 0 && load.admitted !== signal)
      throw new Fault({ kind: 'overloaded', retryAfterMs: Math.max(MIN_RETRY_AFTER_MS, excessMs) });
    load.admitted = signal;
    return load;
  };

  const makeLarge: MakeViews = async (text, owner, signal) => {
    const load = admit(owner, signal);
    const cameAt = clock.now();
    load.chars += text.length;
    waiting += 1;
    let release = () => {};
    try {
      release = await queue.acquire(owner, signal);
      const startedAt = clock.now();
      const made = await elsewhere?.(text, owner, signal);
      const views = made ?? (await makeHere(text, owner, signal));
      load.msPerChar += ((clock.now() - startedAt) / text.length - load.msPerChar) * LAST_WEIGHT;
      onLarge({ place: made === undefined ? 'event-loop' : 'thread', durationMs: clock.now() - cameAt });
      return views;
    } finally {
      release();
      waiting -= 1;
      load.chars -= text.length;
      if (load.chars === 0) load.admitted = undefined;
    }
  };

  const makeViews: MakeViews = (text, owner, signal) =>
    text.length > LARGE_CHARS ? makeLarge(text, owner, signal) : makeHere(text, owner, signal);
  /** `waiting`: large texts that wait or are worked on. */
  return { makeViews, waiting: () => waiting };
};
