import * as assert from 'uvu/assert';
import { readGatewayConfig } from '../../../src/gateway/settings/config.ts';
import { redisSecret } from '../../../src/main/gateway/shared-state.ts';
import { describe } from '../../check.ts';

const secretOf = (variables: Readonly<Record<string, string>>): string => redisSecret(readGatewayConfig(variables));

describe('the key that signs verdicts in Redis', (check) => {
  const keys = { MODERATION_API_KEYS: 'one,two', BACKEND_API_KEYS: 'three,four' };
  check('is the same for the same keys in another order, and another for other keys', () => {
    const secret = secretOf(keys);
    assert.is(
      secretOf({ MODERATION_API_KEYS: 'two', MODERATION_API_KEY: 'one', BACKEND_API_KEYS: 'four,three' }),
      secret,
    );
    for (const more of [{ MODERATION_API_KEYS: 'one' }, { BACKEND_API_KEYS: 'three' }, { BACKEND_API_KEYS: 'five' }])
      assert.is.not(secretOf({ ...keys, ...more }), secret);
  });
});
