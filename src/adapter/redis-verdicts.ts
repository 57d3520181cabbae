import * as v from 'valibot';
import { parseJson } from '../core/json.ts';
import type { SharedVerdicts } from '../gateway/judge/moderate.ts';
import { CATEGORIES } from '../gateway/policy/categories.ts';
import type { RedisLink } from './redis/connection.ts';

/** What may stand under a verdict's name. Anything else counts as not found: no score is ever made up. */
const StoredScores = v.pipe(
  v.array(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  v.length(CATEGORIES.length),
  v.readonly(),
);

/** Verdicts in Redis, each for `lifetimeMs` from when it was kept; 0 keeps none. */
export const createRedisVerdicts = (link: RedisLink, prefix: string, lifetimeMs: number): SharedVerdicts => ({
  async find(key) {
    if (lifetimeMs === 0) return undefined;
    const text = await link.ask((redis) => redis.get(prefix + key));
    return typeof text === 'string' ? parseJson(StoredScores, text) : undefined;
  },
  keep(key, scores) {
    if (lifetimeMs === 0) return;
    link.ask((redis) => redis.set(prefix + key, JSON.stringify(scores), 'PX', Math.ceil(lifetimeMs)));
  },
});
