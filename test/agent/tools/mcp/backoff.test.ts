import * as assert from 'uvu/assert';
import { reconnectDelayMs } from '../../../../src/agent/tools/mcp/connection.ts';
import { describe } from '../../../check.ts';

describe('the time for which a tool server is left alone', (check) => {
  check('doubles from one second to sixty, and is a quarter less at most by chance', () => {
    const delays = [1, 2, 3, 6, 7, 20].map((failures) => reconnectDelayMs(failures, 0));
    assert.equal(delays, [1000, 2000, 4000, 32_000, 60_000, 60_000]);
    assert.is(reconnectDelayMs(1, 1), 750);
  });

  check('is reported in whole milliseconds', () => {
    for (let count = 0; count < 1000; count++)
      assert.ok(Number.isInteger(reconnectDelayMs(1 + (count % 9), count / 1000)));
  });
});
