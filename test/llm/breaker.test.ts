import * as assert from 'uvu/assert';
import { type Admission, type Breaker, type BreakerStatus, createBreaker } from '../../src/llm/breaker.ts';
import { describe } from '../check.ts';

const LIMITS = { failures: 5, coolDownMs: 2_000, maxCoolDownMs: 30_000 };

const breakerOf = () => {
  const time = { ms: 1_000_000 };
  const changes: BreakerStatus[] = [];
  return {
    time,
    changes,
    breaker: createBreaker(
      () => time.ms,
      LIMITS,
      (status) => changes.push(status),
    ),
  };
};
const admit = (breaker: Breaker): Admission => {
  const admission = breaker.admit();
  if (admission === undefined) throw new Error('Not admitted');
  return admission;
};
const fail = (breaker: Breaker, count: number): void => {
  for (let index = 0; index < count; index++) admit(breaker).fail();
};
/** A breaker that opened and has just served its first rest. */
const halfOpen = () => {
  const world = breakerOf();
  fail(world.breaker, 5);
  world.time.ms += 2_000;
  return world;
};

describe('a breaker', (check) => {
  check('takes a neutral end for neither failure nor success', () => {
    const { breaker } = breakerOf();
    fail(breaker, 4);
    for (let index = 0; index < 9; index++) admit(breaker).release();
    assert.is(breaker.status().state, 'closed');
    fail(breaker, 1);
    assert.is(breaker.status().state, 'open');
  });

  check('rests twice as long after each failed trial, up to 30 seconds', () => {
    const { breaker, time } = halfOpen();
    const rests = Array.from({ length: 6 }, () => {
      admit(breaker).fail();
      const coolDownMs = breaker.waitMs();
      time.ms += coolDownMs;
      return coolDownMs;
    });
    assert.equal(rests, [4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  check('opens once for all requests that were under way when it opened', () => {
    const { breaker, time } = breakerOf();
    const early = Array.from({ length: 64 }, () => admit(breaker));
    for (const admission of early.slice(0, 32)) admission.fail();
    assert.is(breaker.waitMs(), 2_000);
    time.ms += 2_000;
    const trial = admit(breaker);
    for (const admission of early.slice(32, 40)) admission.fail();
    for (const admission of early.slice(40, 48)) admission.succeed();
    for (const admission of early.slice(48, 56)) admission.release();
    assert.is(breaker.admit(), undefined, 'the trial is still under way');
    trial.succeed();
    for (const admission of early.slice(56)) admission.fail();
    assert.is(breaker.status().state, 'closed');
  });

  check('counts only the first thing that a request says', () => {
    const { breaker } = breakerOf();
    const admission = admit(breaker);
    for (let index = 0; index < 9; index++) admission.fail();
    assert.is(breaker.status().state, 'closed');
    fail(breaker, 3);
    admission.succeed();
    fail(breaker, 1);
    assert.is(breaker.status().state, 'open');
  });

  check('reports when it opens and when it closes', () => {
    const { breaker, time, changes } = halfOpen();
    admit(breaker).release();
    admit(breaker).fail();
    time.ms += 4_000;
    admit(breaker).succeed();
    admit(breaker).succeed();
    assert.equal(changes, [
      { state: 'open', coolDownMs: 2_000 },
      { state: 'open', coolDownMs: 4_000 },
      { state: 'closed', coolDownMs: 0 },
    ]);
  });

  check('survives a clock that is set back without resting longer than its rest from then', () => {
    const { breaker, time } = breakerOf();
    fail(breaker, 5);
    time.ms -= 900_000;
    assert.is(breaker.waitMs(), 2_000);
    time.ms += 2_000;
    admit(breaker).succeed();
    assert.is(breaker.status().state, 'closed');
  });
});
