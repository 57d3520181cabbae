import type { CategoryScores } from '../policy/categories.ts';

/** Scores, and how much longer they may be used, in milliseconds. */
export type LimitedScores<Scores = CategoryScores> = { readonly scores: Scores; readonly leftMs: number };

/** Valid verdicts by key. The least recently used are evicted first; expired ones are not found. */
export type VerdictCache<Scores = CategoryScores> = {
  readonly find: (key: string) => Scores | undefined;
  readonly findLimited: (key: string) => LimitedScores<Scores> | undefined;
  /** `leftMs`: what is left of the lifetime of a verdict that was given before. */
  readonly store: (key: string, scores: Scores, leftMs?: number) => void;
  readonly size: () => number;
};

/** Verdicts that several replicas share. Never fails: a verdict that is not found or not stored is judged again. */
export type SharedVerdicts = {
  /** Exactly `count` scores, with what is left of the lifetime that began when the verdict was given. */
  readonly find: (key: string, count: number) => Promise<LimitedScores | undefined>;
  readonly store: (key: string, scores: CategoryScores) => void;
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

  const findEntry = (key: string, at: number): Entry<Scores> | undefined => {
    const young = younger.get(key);
    const entry = young ?? older.get(key);
    if (entry === undefined || entry.endsAt <= at) return undefined;
    if (young === undefined) putYoung(key, entry);
    return entry;
  };

  return {
    find: (key) => findEntry(key, now())?.scores,
    findLimited(key) {
      const at = now();
      const entry = findEntry(key, at);
      return entry === undefined ? undefined : { scores: entry.scores, leftMs: entry.endsAt - at };
    },
    store(key, scores, leftMs = lifetimeMs) {
      const restMs = Math.min(leftMs, lifetimeMs);
      if (maxEntries > 0 && restMs > 0) putYoung(key, { scores, endsAt: now() + restMs });
    },
    size: () => younger.size + older.size,
  };
};
