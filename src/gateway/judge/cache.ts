import type { CategoryScores } from '../policy/categories.ts';

/** Valid verdicts by key. The least recently used are evicted first; expired ones are not found. */
export type VerdictCache<Scores = CategoryScores> = {
  readonly find: (key: string) => Scores | undefined;
  readonly store: (key: string, scores: Scores) => void;
  readonly size: () => number;
};

type Entry<Scores> = { readonly scores: Scores; readonly endsAt: number };

/**
 * Creates a cache of two generations: a used entry moves to the younger one, and when that is full the older one is
 * dropped. Moving an entry within one Map on every hit, for an exact order, costs more than the hit itself.
 */
export const createVerdictCache = <Scores = CategoryScores>(
  maxEntries: number,
  lifetimeMs: number,
  now: () => number,
): VerdictCache<Scores> => {
  const generationLimit = Math.max(1, Math.floor(maxEntries / 2));
  let younger = new Map<string, Entry<Scores>>();
  let older = new Map<string, Entry<Scores>>();

  const putYoung = (key: string, entry: Entry<Scores>): void => {
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
      if (young === undefined) putYoung(key, entry);
      return entry.scores;
    },
    store(key, scores) {
      if (maxEntries > 0 && lifetimeMs > 0) putYoung(key, { scores, endsAt: now() + lifetimeMs });
    },
    size: () => younger.size + older.size,
  };
};
