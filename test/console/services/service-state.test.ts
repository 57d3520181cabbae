import * as assert from 'uvu/assert';
import { createSecretFilter } from '../../../src/console/services/secret-filter.ts';
import { createServiceState } from '../../../src/console/services/service-state.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

describe('the state of a service', (check) => {
  check('the same reason with a secret in it: logged once and hidden, however often it is seen', () => {
    const secret = 'a-key-of-the-bridge-0123456789';
    const lines: string[] = [];
    const state = createServiceState(
      { part: 'bridge', address: 'http://127.0.0.1:1' },
      {
        clock: createFakeClock(),
        log: (level, event, fields) => void lines.push(JSON.stringify([level, event, fields])),
        hide: createSecretFilter([secret]),
      },
    );
    const seen = { state: 'down', reason: `refused: ${secret}` } as const;
    assert.equal([state.set(seen), state.set(seen), state.set(seen)], [true, false, false]);
    assert.is(lines.length, 1);
    assert.match(lines[0] ?? '', 'refused: ');
    assert.not.match(lines.join(), secret);
  });
});
