import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import { retryDelayMs } from '../../../src/agent/turn/model-call.ts';
import { describe } from '../../check.ts';

const passing = (retryAfterMs?: number): ModelError =>
  new ModelError('api', 'later', { isRetryable: true, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

describe('the plan of retries', (check) => {
  check('doubles from two seconds to thirty, five times', () => {
    const delays = [1, 2, 3, 4, 5, 6].map((attempt) => retryDelayMs(passing(), attempt, 0));
    assert.equal(delays, [2000, 4000, 8000, 16_000, 30_000, undefined]);
  });

  check('adds a quarter at most by chance', () => {
    const attempts = fc.integer({ min: 1, max: 5 });
    fc.assert(
      fc.property(attempts, fc.double({ min: 0, max: 1, noNaN: true }), (attempt, chance) => {
        const least = retryDelayMs(passing(), attempt, 0) ?? 0;
        const delay = retryDelayMs(passing(), attempt, chance) ?? 0;
        assert.ok(delay >= least && delay <= least * 1.25);
        assert.ok(Number.isInteger(delay));
      }),
    );
  });

  check('does as the backend asks, up to a minute, and gives up where it asks for more', () => {
    assert.is(retryDelayMs(passing(700), 1, 1), 700);
    assert.is(retryDelayMs(passing(0), 1, 1), 0);
    assert.is(retryDelayMs(passing(700.2), 1, 1), 701);
    assert.is(retryDelayMs(passing(60_000), 3, 1), 60_000);
    assert.is(retryDelayMs(passing(60_001), 1, 1), undefined);
    assert.is(retryDelayMs(passing(10), 6, 1), undefined);
  });

  check('has no second try for what would fail again', () => {
    assert.is(retryDelayMs(new ModelError('auth', 'no'), 1, 0), undefined);
    assert.is(retryDelayMs(new ModelError('api', 'no', { retryAfterMs: 5 }), 1, 0), undefined);
  });
});
