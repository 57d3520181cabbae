import * as assert from 'uvu/assert';
import { readGatewayConfig } from '../../../src/gateway/settings/config.ts';
import { redisSecret } from '../../../src/main/gateway/shared-state.ts';
import { describe } from '../../check.ts';
import { problemsOf } from '../../gateway/settings/world.ts';

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

  check('is REDIS_HMAC_KEY where that is set, of 32 characters or more', () => {
    const REDIS_HMAC_KEY = 'k'.repeat(32);
    assert.is(secretOf({ ...keys, REDIS_HMAC_KEY }), REDIS_HMAC_KEY);
    assert.equal(problemsOf({ ...keys, REDIS_HMAC_KEY: 'canary' }), [
      'REDIS_HMAC_KEY: expected 32 to 512 printable characters without blanks, the same in every replica',
    ]);
  });
});
