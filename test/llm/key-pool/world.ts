import { createKeyPool, type KeyPool } from '../../../src/llm/key-pool.ts';
import type { BackendKey, KeyChange, KeyLease, KeyRefusal } from '../../../src/llm/key-state.ts';

export const SECOND_MS = 1_000;

export const MINUTE_MS = 60_000;

export const HOUR_MS = 60 * MINUTE_MS;

export const BURST: KeyRefusal = { reason: 'burst' };

export const QUOTA: KeyRefusal = { reason: 'quota' };

export const AUTH: KeyRefusal = { reason: 'auth' };

export const poolOf = (names: string) => {
  const time = { ms: 1_000_000 };
  const changes: KeyChange[] = [];
  const keys = [...names].map((name): BackendKey => ({ secret: `secret-${name}`, fingerprint: name }));
  const pool = createKeyPool(
    keys,
    () => time.ms,
    (change) => changes.push(change),
  );
  return { time, changes, keys, pool };
};

export const take = (pool: KeyPool, tried: readonly BackendKey[] = []): KeyLease => {
  const lease = pool.take(new Set(tried));
  if (lease === undefined) throw new Error('No key to take');
  return lease;
};

export const isEmpty = (pool: KeyPool): boolean => pool.take(new Set()) === undefined;

/** The keys of so many calls, each of which leaves its key as it was. */
export const order = (pool: KeyPool, count: number): string =>
  Array.from({ length: count }, () => {
    const lease = take(pool);
    lease.release();
    return lease.key.fingerprint;
  }).join('');

/** The rest that each of so many refusals in a row earns, every one from the probe after the rest before it. */
export const rests = (refusal: KeyRefusal, count: number): number[] => {
  const { pool, time } = poolOf('a');
  return Array.from({ length: count }, () => {
    take(pool).refuse(refusal);
    const coolDownMs = pool.waitMs();
    time.ms += coolDownMs;
    return coolDownMs;
  });
};

export const states = (pool: KeyPool): string =>
  pool
    .statuses()
    .map(({ state }) => state)
    .join(' ');

/** One key that has just served a burst's first rest. */
export const halfOpen = () => {
  const world = poolOf('a');
  take(world.pool).refuse(BURST);
  world.time.ms += 5 * SECOND_MS;
  return world;
};

/** One key that rests after a burst, and three calls that left before. */
export const cooling = () => {
  const world = poolOf('a');
  const late = [take(world.pool), take(world.pool), take(world.pool)] as const;
  take(world.pool).refuse(BURST);
  world.changes.length = 0;
  return { ...world, late };
};
