import type { Observation } from './observation.ts';
import { percentile } from './score.ts';

/** Whether an answer came out of the gateway's cache; `unknown` where it does not say, or says it of several texts at once. */
export type CacheUse = 'miss' | 'hit' | 'unknown';

/** Latencies of texts of one class of lengths. */
export type LatencyGroup = {
  readonly chars: string;
  readonly cache: CacheUse;
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
};

/** Classes of lengths, each up to so many characters. */
export const LENGTH_CLASSES = [
  { mostChars: 100, name: 'up to 100' },
  { mostChars: 500, name: 'up to 500' },
  { mostChars: 2000, name: 'up to 2,000' },
  { mostChars: 10_000, name: 'up to 10,000' },
  { mostChars: Number.POSITIVE_INFINITY, name: 'longer' },
] as const;

/** The latencies of judged rows by length and by what the cache gave, without the classes that are empty. */
export const latencyGroups = (observations: readonly Observation[]): readonly LatencyGroup[] => {
  const groups = new Map<string, number[]>();
  const keyOf = (chars: string, cache: CacheUse): string => `${chars} ${cache}`;
  for (const { chars, result } of observations) {
    if (result.status === 'error') continue;
    const { name = 'longer' } = LENGTH_CLASSES.find(({ mostChars }) => chars <= mostChars) ?? {};
    const key = keyOf(name, result.cache ?? 'unknown');
    const list = groups.get(key) ?? [];
    list.push(result.ms);
    groups.set(key, list);
  }
  return (['miss', 'hit', 'unknown'] as const).flatMap((cache) =>
    LENGTH_CLASSES.flatMap(({ name }) => {
      const ms = groups.get(keyOf(name, cache)) ?? [];
      const p50 = percentile(ms, 50);
      const p95 = percentile(ms, 95);
      return p50 === null || p95 === null ? [] : [{ chars: name, cache, count: ms.length, p50, p95 }];
    }),
  );
};
