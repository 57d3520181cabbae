import { createByteBudget } from '../../core/byte-budget.ts';
import type { Clock } from '../../core/clock.ts';
import type { RunInSlices, Steps } from '../../core/time-slices.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { createHintlessViews, createViews, SHORT_CHARS, type Views } from './decode.ts';
import { createOwnerLoad, type OwnerLoad, TOGETHER_CHARS } from './owner-load.ts';

/**
 * Makes the views of a text. `owner` is whose text it is, by the digest of a gateway key. Rejects with the signal's reason as
 * soon as it aborts, and the rest is not done; with `overloaded` where too much of this owner waits already.
 */
export type MakeViews = (text: string, owner: string, signal: AbortSignal) => Promise<Views>;

/** The same away from the event loop. Undefined where that cannot be had now: then the views are made in slices. */
export type MakeViewsElsewhere = (text: string, owner: string, signal: AbortSignal) => Promise<Views | undefined>;

type MakeViewsNeeds = {
  readonly clock: Clock;
  readonly runInSlices: RunInSlices;
  readonly elsewhere: MakeViewsElsewhere | undefined;
  readonly onLarge: GatewayMetrics['largeText'];
};

/** One look takes up to a millisecond, and a request may hold hundreds of such texts. */
function* lookForHints(text: string): Steps<Views | undefined> {
  const views = createHintlessViews(text);
  yield;
  return views;
}

/**
 * Makes views: of plain and of short texts here, of others elsewhere if possible, and also of short ones where their owner
 * has used its share of the event loop.
 */
export const createMakeViews = ({ clock, runInSlices, elsewhere, onLarge }: MakeViewsNeeds) => {
  /** Owners are as many as there are gateway keys. */
  const loads = new Map<string, OwnerLoad>();
  const together = createByteBudget(TOGETHER_CHARS);
  let waiting = 0;

  const loadOf = (owner: string): OwnerLoad => {
    const load = loads.get(owner) ?? createOwnerLoad(clock.now, together);
    loads.set(owner, load);
    return load;
  };

  const makeHere = (text: string, owner: string, signal: AbortSignal): Promise<Views> =>
    runInSlices(createViews(text), signal, owner);

  const makeInTurn = async (text: string, owner: string, signal: AbortSignal): Promise<Views> => {
    const startedAt = clock.now();
    const { end } = await loadOf(owner).begin(text.length, signal);
    let isDone = false;
    try {
      const made = await elsewhere?.(text, owner, signal);
      const views = made ?? (await makeHere(text, owner, signal));
      isDone = true;
      onLarge({ place: made === undefined ? 'event-loop' : 'thread', durationMs: clock.now() - startedAt });
      return views;
    } finally {
      end(isDone);
    }
  };

  const makeLarge = async (text: string, owner: string, signal: AbortSignal): Promise<Views> => {
    const plain = await runInSlices(lookForHints(text), signal, owner);
    if (plain !== undefined) return plain;
    waiting += 1;
    try {
      return await makeInTurn(text, owner, signal);
    } finally {
      waiting -= 1;
    }
  };

  const makeShort = async (text: string, owner: string, signal: AbortSignal): Promise<Views> => {
    const end = loadOf(owner).beginShort();
    try {
      return await makeHere(text, owner, signal);
    } finally {
      end();
    }
  };

  const makeViews: MakeViews = (text, owner, signal) => {
    const isLarge = text.length > SHORT_CHARS || (elsewhere !== undefined && loadOf(owner).hasUsedLoopShare());
    return isLarge ? makeLarge(text, owner, signal) : makeShort(text, owner, signal);
  };
  /** `waiting`: large texts that wait or are worked on. */
  return { makeViews, waiting: () => waiting };
};
