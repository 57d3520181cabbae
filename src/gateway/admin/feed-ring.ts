import type { FeedBatch, FeedEvent } from './feed-numbering.ts';

/** How far a reader may lag behind. Of what is older it learns only how much it was. */
const KEPT_EVENTS = 1000;

/** How far a reader has come: the period that it is in, and the number that it expects next. */
export type FeedPosition = { readonly period: number; readonly next: number };

/** What a reader is sent: an event with its number, or how many were skipped; null where that is unknown. */
export type FeedItem = (FeedEvent & { readonly number: number }) | { readonly skipped: number | null };

type Numbered = FeedEvent & { readonly number: number };

/** Keeps the latest events of one period. */
export type FeedRing = {
  readonly append: (batch: FeedBatch) => void;
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
  let kept: Numbered[] = [];
  let next = 1;

  return {
    append({ period: given, first, events }) {
      if (given < period) return;
      if (given > period) [period, kept] = [given, []];
      for (const [index, event] of events.entries()) kept.push({ ...event, number: first + index });
      next = first + events.length;
      if (kept.length > 2 * KEPT_EVENTS) kept = kept.slice(-KEPT_EVENTS);
    },
    end: () => ({ period, next }),
    after(position) {
      // An id of another replica, or of before a clock was set back: its period never comes here.
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
