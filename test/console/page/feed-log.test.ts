import * as assert from 'uvu/assert';
import type { FeedVerdict } from '../../../src/console/page/api/types.ts';
import { createFeedLog } from '../../../src/console/page/views/moderation/feed-log.ts';
import { describe } from '../../check.ts';

const verdict = (more: Partial<FeedVerdict> = {}): FeedVerdict => ({
  at: 0,
  alias: 'demo',
  duration_ms: 100,
  flagged: [],
  ...more,
});

describe('the log of the live feed', (check) => {
  check('keeps the newest rows first, each with a number of its own', () => {
    const log = createFeedLog({ rows: 3, seconds: 4 });
    log.add([verdict({ alias: 'a' }), verdict({ alias: 'b' })], 10_000);
    log.add([verdict({ alias: 'c' }), verdict({ alias: 'd' })], 10_100);
    assert.equal(
      log.rows().map(({ alias, number }) => `${number}${alias}`),
      ['4d', '3c', '2b'],
    );
    assert.is(log.total(), 4);
  });

  check('counts verdicts, flagged ones and their mean latency by the second, also seconds without any', () => {
    const log = createFeedLog({ rows: 3, seconds: 3 });
    log.add([verdict({ flagged: ['hate'] }), verdict({ duration_ms: 300 })], 10_900);
    log.add([verdict()], 12_000);
    assert.equal(log.seconds(12_999), [
      [10, 11, 12],
      [2, 0, 1],
      [1, 0, 0],
      [200, null, 100],
    ]);
  });

  check('does not grow, whatever comes', () => {
    const log = createFeedLog({ rows: 30, seconds: 120 });
    for (let index = 0; index < 20_000; index++) log.add([verdict(), verdict({ error: 'timeout' })], index * 100);
    assert.is(log.rows().length, 30);
    assert.equal(
      log.seconds(2_000_000).map((values) => values.length),
      [120, 120, 120, 120],
    );
  });
});
