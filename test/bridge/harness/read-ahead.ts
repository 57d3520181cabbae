import type { OutputEvent } from '../../../src/bridge/output.ts';
import type { PolledOutput } from '../../../src/bridge/stream/polled-output.ts';
import type { Clock } from '../../../src/core/clock.ts';

/** Reads a source as fast as it delivers, and holds what it has delivered so far. */
type ReadAhead<Item> = {
  /** The oldest item that was not dropped. */
  readonly first: () => Item | undefined;
  /** Waits for the oldest item; undefined when the source has ended. */
  readonly waitForFirst: () => Promise<Item | undefined>;
  readonly drop: () => void;
  /** Whether nothing will come after what is there. */
  readonly isOver: () => boolean;
  readonly isStopped: () => boolean;
  /** Throws the error of a source that has failed. */
  readonly throwFailure: () => void;
  /** Settles when more has arrived or the source has ended, and at `at` if that is given. */
  readonly more: (at?: number) => Promise<void>;
  /** Settles at `at`, whatever arrives meanwhile. */
  readonly until: (at: number) => Promise<void>;
  /** Ends the source and the current wait, and drops all items. */
  readonly stop: () => void;
};

type ReadAheadOptions<Item> = {
  readonly clock: Clock;
  /** Called with each item as it arrives. */
  readonly onItem?: (item: Item) => void;
};

/** Reading begins with the first wait. At most one of `more` and `until` may be waited for at a time. */
const readAhead = <Item>(items: AsyncIterable<Item>, { clock, onItem }: ReadAheadOptions<Item>): ReadAhead<Item> => {
  const source = items[Symbol.asyncIterator]();
  let state: 'new' | 'reading' | 'over' | 'stopped' = 'new';
  let failure: { readonly error: unknown } | undefined;
  let ready: Item[] = [];
  let at = 0;
  let wake = (): void => {};
  let isForMore = false;
  const isStopped = () => state === 'stopped';
  const isOver = () => state === 'over' || isStopped();
  const read = async (): Promise<void> => {
    state = 'reading';
    try {
      for (let next = await source.next(); next.done !== true; next = await source.next()) {
        if (isStopped()) return;
        ready.push(next.value);
        onItem?.(next.value);
        if (isForMore) wake();
      }
    } catch (error) {
      failure = { error };
    }
    if (isStopped()) return;
    state = 'over';
    if (isForMore) wake();
  };
  const wait = (until: number | undefined, isMoreEnough: boolean): Promise<void> =>
    new Promise((resolve) => {
      const cancel = until === undefined ? undefined : clock.after(until - clock.now(), () => wake());
      isForMore = isMoreEnough;
      wake = () => {
        wake = () => {};
        isForMore = false;
        cancel?.();
        resolve();
      };
      if (state === 'new') void read();
    });
  const endSource = async (): Promise<void> => {
    try {
      await source.return?.();
    } catch {
      // The reader has stopped, so there is no one to report to.
    }
  };
  return {
    first: () => ready[at],
    async waitForFirst() {
      while (ready[at] === undefined && !isOver()) await wait(undefined, true);
      return ready[at];
    },
    drop() {
      at += 1;
      if (at * 2 < ready.length) return;
      ready = ready.slice(at);
      at = 0;
    },
    isOver,
    isStopped,
    throwFailure() {
      if (failure !== undefined) throw failure.error;
    },
    more: (until) => wait(until, true),
    until: (until) => wait(until, false),
    stop() {
      const isEnded = isOver();
      state = 'stopped';
      ready = [];
      at = 0;
      wake();
      // Not awaited: a generator ends only after the read that is under way.
      if (!isEnded) void endSource();
    },
  };
};

/** The same generator, which also stops its source when its reader returns while it waits, or before the first read. */
export const stopOnReturn = <Item>(items: AsyncGenerator<Item, void>, stop: () => void): AsyncGenerator<Item, void> => {
  const returnItems = items.return.bind(items);
  return Object.assign(items, {
    return(value: void | PromiseLike<void>) {
      stop();
      return returnItems(value);
    },
  });
};

/** Reads a source as fast as it delivers, from the first poll on, and lets what it has delivered be polled. */
export const pollIterable = (items: AsyncIterable<OutputEvent>, clock: Clock): PolledOutput => {
  const ahead = readAhead(items, { clock });
  let notify = (): void => {};
  let isReading = false;
  const read = async (): Promise<void> => {
    isReading = true;
    while (!ahead.isOver()) {
      await ahead.more();
      notify();
    }
  };
  return {
    poll() {
      if (!isReading) void read();
      const first = ahead.first();
      if (first !== undefined) ahead.drop();
      else ahead.throwFailure();
      return first;
    },
    isOver: () => ahead.isOver() && ahead.first() === undefined,
    onChange(listener) {
      notify = listener;
    },
    stop: ahead.stop,
  };
};
