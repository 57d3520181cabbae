import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createKeyPool } from '../../../src/llm/key-pool.ts';
import { type BackendKey, type KeyLease, REFUSAL_REASONS, type RefusalReason } from '../../../src/llm/key-state.ts';
import { HOUR_MS } from './world.ts';

const REST_SECONDS: Readonly<Record<RefusalReason, readonly number[]>> = {
  auth: [600, 1200, 2400, 3600],
  quota: [900, 1800, 3600],
  burst: [5, 10, 20, 40, 80, 160, 300],
};

type End =
  | { readonly verb: 'succeed' | 'release' }
  | { readonly verb: 'refuse'; readonly reason: RefusalReason; readonly retryAfterMs: number | undefined };
type Step =
  | { readonly kind: 'take'; readonly triedBits: number }
  | { readonly kind: 'end'; readonly index: number; readonly end: End }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'lapse'; readonly index: number }
  | { readonly kind: 'wait' }
  | { readonly kind: 'adopt'; readonly index: number; readonly coolDownMs: number; readonly strikes: number };

/** What the rules say of one key, kept in absolute times. */
type Expected = {
  readonly key: BackendKey;
  endsAt: number | undefined;
  reason: RefusalReason;
  strikes: number;
  beganAtStep: number;
  probe: KeyLease | undefined;
};
type Open = {
  readonly lease: KeyLease;
  readonly expected: Expected;
  readonly takenAtStep: number;
};

const end: fc.Arbitrary<End> = fc.oneof(
  fc.record({ verb: fc.constantFrom('succeed' as const, 'release' as const) }),
  fc.record({
    verb: fc.constant('refuse' as const),
    reason: fc.constantFrom(...REFUSAL_REASONS),
    retryAfterMs: fc.option(fc.integer({ min: 1_000, max: HOUR_MS }), { nil: undefined }),
  }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('take' as const), triedBits: fc.constantFrom(0, 0, 0, 1, 2, 5, 62) }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('end' as const), index: fc.nat(20), end }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.oneof(fc.nat(6_000), fc.nat(HOUR_MS)) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('lapse' as const), index: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'wait' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('adopt' as const),
      index: fc.nat(5),
      coolDownMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: HOUR_MS })),
      strikes: fc.integer({ min: 1, max: 9 }),
    }),
  },
);
/** A pool of keys and what happens to it, step by step. */
export const history = fc.record({
  size: fc.integer({ min: 1, max: 6 }),
  steps: fc.array(step, { maxLength: 100, size: 'max' }),
});

/** So many keys of different fingerprints. */
export const keysOf = (size: number): readonly BackendKey[] =>
  Array.from({ length: size }, (_, index) => ({ secret: 'x', fingerprint: String(index) }));
/** No key was tried before. */
export const NONE: ReadonlySet<BackendKey> = new Set();

/** Plays a history against a pool and, beside it, against the rules; every step compares the two. */
export const play = (size: number, steps: readonly Step[]) => {
  const keys = keysOf(size);
  let time = 0;
  let stepCount = 0;
  const pool = createKeyPool(keys, () => time);
  const all: Expected[] = keys.map((key) => ({
    key,
    endsAt: undefined,
    reason: 'burst',
    strikes: 0,
    beganAtStep: -1,
    probe: undefined,
  }));
  const open: Open[] = [];
  let nextIndex = 0;

  const stateOf = ({ endsAt, probe }: Expected) => {
    if (endsAt === undefined) return 'active';
    if (probe !== undefined) return 'probing';
    return endsAt > time ? 'cooling' : 'half-open';
  };
  const isUsable = (expected: Expected) => ['active', 'half-open'].includes(stateOf(expected));

  const take = (tried: ReadonlySet<BackendKey>): KeyLease | undefined => {
    const inOrder = all.map((_, offset) => all[(nextIndex + offset) % size]!);
    const due = inOrder.find((expected) => isUsable(expected) && !tried.has(expected.key));
    const lease = pool.take(tried);
    assert.is(lease?.key, due?.key, 'the next usable key in order, or none');
    if (lease === undefined || due === undefined) return undefined;
    if (stateOf(due) === 'half-open') due.probe = lease;
    nextIndex = (all.indexOf(due) + 1) % size;
    open.push({ lease, expected: due, takenAtStep: stepCount });
    return lease;
  };

  const refused = (expected: Expected, isLate: boolean, { reason, retryAfterMs }: Extract<End, { verb: 'refuse' }>) => {
    const asked = reason === 'burst' ? retryAfterMs : undefined;
    const isRepeat = expected.endsAt !== undefined && expected.reason === reason;
    const restMsAt = (strikes: number) =>
      asked ?? (REST_SECONDS[reason][strikes - 1] ?? REST_SECONDS[reason].at(-1)!) * 1000;
    if (!isLate) {
      expected.strikes = isRepeat ? expected.strikes + 1 : 1;
      expected.endsAt = time + restMsAt(expected.strikes);
      expected.beganAtStep = stepCount;
    } else {
      if (expected.endsAt === undefined || expected.probe !== undefined) return;
      if (isRepeat && asked === undefined) return;
      if (time + restMsAt(1) <= Math.max(time, expected.endsAt)) return;
      expected.endsAt = time + restMsAt(1);
      if (!isRepeat) expected.strikes = 1;
    }
    expected.reason = reason;
    expected.probe = undefined;
  };

  const finish = (index: number, how: End): void => {
    const [ended] = open.splice(index % Math.max(1, open.length), 1);
    if (ended === undefined) return;
    const { lease, expected, takenAtStep } = ended;
    const isLate = takenAtStep < expected.beganAtStep;
    if (how.verb === 'refuse') {
      const { reason, retryAfterMs } = how;
      lease.refuse({ reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
      refused(expected, isLate, how);
    } else {
      lease[how.verb]();
      if (!isLate && how.verb === 'succeed')
        Object.assign(expected, { endsAt: undefined, strikes: 0, probe: undefined });
      if (!isLate && expected.probe === lease) expected.probe = undefined;
    }
    // Whatever a lease says after its first word is not heard; the comparison after this step would tell.
    lease.refuse({ reason: 'quota' });
    lease.succeed();
    lease.release();
  };

  const adopt = (index: number, coolDownMs: number, strikes: number): void => {
    const expected = all[index % size]!;
    pool.adopt({ fingerprint: expected.key.fingerprint, coolDownMs: coolDownMs, reason: 'burst', strikes });
    if (coolDownMs === 0) Object.assign(expected, { endsAt: undefined, strikes: 0, probe: undefined });
    else if (time + coolDownMs > Math.max(time, expected.endsAt ?? 0)) {
      Object.assign(expected, {
        endsAt: time + coolDownMs,
        reason: 'burst',
        strikes,
        probe: undefined,
        beganAtStep: stepCount,
      });
    }
  };

  /** The wait the pool tells is the very millisecond at which `take` first works again. */
  const wait = (): void => {
    const waitMs = pool.waitMs();
    if (all.some((expected) => stateOf(expected) === 'probing')) return;
    if (waitMs > 0) {
      time += waitMs - 1;
      assert.is(take(NONE), undefined, 'a millisecond too early');
      time += 1;
    }
    assert.ok(take(NONE), 'a key at the time that was told');
    finish(open.length - 1, { verb: 'release' });
  };

  const compare = (): void => {
    for (const [index, status] of pool.statuses().entries()) {
      const expected = all[index]!;
      const state = stateOf(expected);
      assert.is(status.state, state);
      assert.is(status.coolDownMs, state === 'cooling' ? expected.endsAt! - time : 0);
      assert.is(status.reason, state === 'active' ? undefined : expected.reason);
    }
    assert.is(
      pool.probeEnd() !== undefined,
      all.some((expected) => stateOf(expected) === 'probing'),
    );
    assert.is(pool.waitMs() === 0, all.some(isUsable));
  };

  for (const next of steps) {
    stepCount += 1;
    if (next.kind === 'take') take(new Set(keys.filter((_, index) => (next.triedBits >> index) & 1)));
    else if (next.kind === 'end') finish(next.index, next.end);
    else if (next.kind === 'advance') time += next.ms;
    else if (next.kind === 'lapse') time = Math.max(time, all[next.index % size]!.endsAt ?? time);
    else if (next.kind === 'adopt') adopt(next.index, next.coolDownMs, next.strikes);
    else wait();
    compare();
  }
  const advance = (ms: number): void => {
    time += ms;
  };
  const endAll = (): void => {
    stepCount += 1;
    while (open.length > 0) finish(0, { verb: 'release' });
  };
  return { pool, keys, advance, endAll };
};
