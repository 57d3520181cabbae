import type { Scores } from './taxonomy.ts';

/** Whole valid verdicts by key. The oldest used leaves first; what is older than its lifetime is no longer there. */
export type VerdictCache = {
  readonly find: (key: string) => Scores | undefined;
  readonly keep: (key: string, scores: Scores) => void;
  readonly size: () => number;
};

export const createVerdictCache = (maxEntries: number, lifetimeMs: number, now: () => number): VerdictCache => {
  const entries = new Map<string, { readonly scores: Scores; readonly endsAt: number }>();
  return {
    find(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      // A Map keeps the order of insertion: taking an entry out and putting it back makes it the youngest.
      entries.delete(key);
      if (entry.endsAt <= now()) return undefined;
      entries.set(key, entry);
      return entry.scores;
    },
    keep(key, scores) {
      if (maxEntries === 0 || lifetimeMs === 0) return;
      entries.delete(key);
      entries.set(key, { scores, endsAt: now() + lifetimeMs });
      const [oldest] = entries.keys();
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    },
    size: () => entries.size,
  };
};
