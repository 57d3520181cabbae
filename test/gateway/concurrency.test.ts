import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { outcomeOf } from './harness/read-answer.ts';
import { gatewayOver, judging } from './harness/world.ts';

describe('backend calls', (check) => {
  check('are never more at the same time than MAX_CONCURRENCY', async () => {
    let [running, most] = [0, 0];
    const { ask } = gatewayOver(
      async (sent) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return judging()(sent);
      },
      { variables: { MAX_CONCURRENCY: '3' } },
    );
    const input = Array.from({ length: 15 }, (_, index) => `text ${index}`);
    assert.is(await outcomeOf(await ask({ input })), '200');
    assert.is(most, 3);
  });
  check('leave their place when they fail', async () => {
    const { ask } = gatewayOver(
      () => {
        throw new Error('a bug');
      },
      { variables: { MAX_CONCURRENCY: '1' } },
    );
    for (let index = 0; index < 10; index++) assert.is((await ask({ input: 'a' })).status, 500);
  });
});
