import type { Clock } from '../../core/clock.ts';

/** A source that is read as fast as it gives, and what it has given so far. */
export type ReadAhead<Item> = {
  /** The oldest item that was not dropped. */
  readonly first: () => Item | undefined;
  /** The same, waited for; nothing when the source has ended. */
  readonly arrival: () => Promise<Item | undefined>;
  readonly drop: () => void;
  /** Whether nothing will come after what is there. */
  readonly isOver: () => boolean;
  readonly isStopped: () => boolean;
  /** Throws what the source has failed with, if it has. */
  readonly throwFailure: () => void;
  /** Settles when more has come or nothing will, and at `at` if that is given. */
  readonly more: (at?: number) => Promise<void>;
  /** Settles at `at`, however much comes meanwhile. */
  readonly until: (at: number) => Promise<void>;
  /** Ends the source and whatever is waited for. What has come is gone. */
  readonly stop: () => void;
};

export type ReadAheadNeeds<Item> = {
  readonly clock: Clock;
  /** Hears of each item as it comes. */
  readonly onItem?: (item: Item) => void;
};

/** Reading begins with the first wait. At most one of `more` and `until` may be waited for at a time. */
export const readAhead = <Item>(
  items: AsyncIterable<Item>,
  { clock, onItem }: ReadAheadNeeds<Item>,
): ReadAhead<Item> => {
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
      // Whoever read it has left: nobody is there to be told.
    }
  };
  return {
    first: () => ready[at],
    async arrival() {
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
      // Not waited for: a generator that is being read ends only once that has come to something.
      if (!isEnded) void endSource();
    },
  };
};

/** The same generator, which also stops what it reads when its reader leaves while it waits, or before it has begun. */
export const stoppedBy = <Item>(items: AsyncGenerator<Item, void>, stop: () => void): AsyncGenerator<Item, void> => {
  const leave = items.return.bind(items);
  return Object.assign(items, {
    return(value: void | PromiseLike<void>) {
      stop();
      return leave(value);
    },
  });
};
