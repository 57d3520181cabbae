import * as assert from 'uvu/assert';
import type { MarkedConversation } from '../../../src/bridge/conversation/started/marks.ts';
import { createTurnReaders } from '../../../src/bridge/conversation/started/readers.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const TOKEN = 'token';

/** The clients of a turn whose session cannot be read, of which this bridge has been told before that others read it. */
const unreadable = (others: readonly string[]) => {
  const request = { digest: '', token: TOKEN, createdSeconds: 0, readers: ['here', ...others] };
  return createTurnReaders({
    bridgeID: 'here',
    change: () => Promise.reject(new Error('The agent does not answer')),
    marks: {
      ofToken: () => ({ request }) as unknown as MarkedConversation,
      times: { leftAtOf: () => undefined, failedAtOf: () => undefined },
    },
    clock: createFakeClock(),
  })({ sessionID: () => 'ses_1', token: TOKEN });
};

describe('a turn whose session cannot be read when its client leaves', (check) => {
  check('goes on if another bridge was known to have a client', async () => {
    assert.is(await unreadable(['there']).leave(), false);
    assert.is(await unreadable(['there']).isAbandoned(), false);
  });

  check('is abandoned if none was', async () => {
    assert.is(await unreadable([]).leave(), true);
    assert.is(await unreadable([]).isAbandoned(), true);
  });
});
