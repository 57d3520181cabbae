import type { Scores } from '../policy/categories.ts';

/** Whole valid verdicts by key. What has not been used for longest leaves first; what outlived its time is not found. */
export type VerdictCache = {
  readonly find: (key: string) => Scores | undefined;
  readonly keep: (key: string, scores: Scores) => void;
  readonly size: () => number;
};

type Entries = Map<string, { readonly scores: Scores; readonly endsAt: number }>;

/**
 * Two generations: what is used moves to the younger, and when that is full the older is dropped whole. Taking entries
 * out of one Map and putting them back for every hit, as an exact order would need, costs more than the hit itself.
 */
export const createVerdictCache = (maxEntries: number, lifetimeMs: number, now: () => number): VerdictCache => {
  const generationLimit = Math.max(1, Math.floor(maxEntries / 2));
  let younger: Entries = new Map();
  let older: Entries = new Map();

  const put = (key: string, entry: { readonly scores: Scores; readonly endsAt: number }): void => {
    if (younger.size >= generationLimit && !younger.has(key)) {
      older = generationLimit < maxEntries ? younger : new Map();
      younger = new Map();
    }
    older.delete(key);
    younger.set(key, entry);
  };

  return {
    find(key) {
      const young = younger.get(key);
      const entry = young ?? older.get(key);
      if (entry === undefined || entry.endsAt <= now()) return undefined;
      if (young === undefined) put(key, entry);
      return entry.scores;
    },
    keep(key, scores) {
      if (maxEntries > 0 && lifetimeMs > 0) put(key, { scores, endsAt: now() + lifetimeMs });
    },
    size: () => younger.size + older.size,
  };
};
