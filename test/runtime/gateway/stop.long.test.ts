import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import type { Script } from '../backends.ts';
import { moderate } from '../client.ts';
import { withGateway } from './world.ts';

/** Longer than a process that is asked to stop waits for its requests. */
const slow: Script = () => ({ delayMs: 60_000 });

describe('stopping the Node bundle while the backend is slow', (check) => {
  check('answers what still runs with an error before it ends', () =>
    withGateway({ script: slow }, async ({ gateway, backend }) => {
      const arrived = backend.nextCall();
      const asked = moderate(gateway.address, { input: 'x' });
      await arrived;
      gateway.signal('SIGTERM');
      const response = await asked;
      assert.is(response.status, 503);
      assert.match(response.text, 'The gateway is being stopped');
      assert.equal(await gateway.ended, { code: 0, signal: null });
      assert.match(gateway.stderr(), /"event":"request-answered".*"status":503.*"fault":"unavailable"/);
    }),
  );
});
