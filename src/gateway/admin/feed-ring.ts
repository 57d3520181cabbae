/** How far a reader may lag behind. Of what is older it learns only how much it was. */
const KEPT_EVENTS = 1000;

/** How far a reader has come: the period that it is in, and the number that it expects next. */
export type FeedPosition = { readonly period: number; readonly next: number };

/** An event of the feed: its number from 1, its name, and its data as JSON in one line. No text and no key is in it. */
type FeedEvent = { readonly number: number; readonly event: string; readonly data: string };

/** What a reader is sent: an event, or how many were skipped; null where that is unknown. */
export type FeedItem = FeedEvent | { readonly skipped: number | null };

/** Keeps the latest events of one period. */
export type FeedRing = {
  /** Numbers begin again with each period. A number that is left out was skipped. */
  readonly append: (period: number, event: FeedEvent) => void;
  /** The end of what has come so far. */
  readonly end: () => FeedPosition;
  /**
   * What follows on a position, and the position after it. A position in another period has lost an unknown number, unless it
   * is the beginning of a period: a reader that was there before the first event of this one.
   */
  readonly after: (position: FeedPosition) => { readonly items: readonly FeedItem[]; readonly position: FeedPosition };
};

/** Creates an empty ring. */
export const createFeedRing = (): FeedRing => {
  let period = 0;
  let kept: FeedEvent[] = [];
  let next = 1;

  return {
    append(given, event) {
      if (given > period) [period, kept] = [given, []];
      kept.push(event);
      next = event.number + 1;
      if (kept.length > 2 * KEPT_EVENTS) kept = kept.slice(-KEPT_EVENTS);
    },
    end: () => ({ period, next }),
    after(position) {
      // An id of another process, or of before a clock was set back: its period never comes here.
      if (position.period > period && period > 0) return { items: [{ skipped: null }], position: { period, next } };
      if (position.period > period || (position.period === period && position.next >= next))
        return { items: [], position };
      const isLost = position.period < period && position.next > 1;
      const found = position.period < period ? kept : kept.filter(({ number }) => number >= position.next);
      const items: FeedItem[] = isLost ? [{ skipped: null }] : [];
      let expected = position.period === period ? position.next : (found[0]?.number ?? next);
      for (const event of found) {
        if (event.number > expected) items.push({ skipped: event.number - expected });
        items.push(event);
        expected = event.number + 1;
      }
      if (next > expected) items.push({ skipped: next - expected });
      return { items, position: { period, next } };
    },
  };
};
