import * as assert from 'uvu/assert';
import type { ConfigError } from '../../../src/core/config.ts';
import { readGatewayConfig } from '../../../src/gateway/settings/config.ts';
import { describe } from '../../check.ts';
import { gatewayOver, judging } from '../harness/world.ts';
import { problemsOf, read } from './world.ts';

describe('production', (check) => {
  check('is refused without a gateway key', () => {
    const problems = problemsOf({ APP_ENV: 'production', BACKEND_API_KEYS: 'k' });
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? '', /^MODERATION_API_KEYS: expected at least one gateway key/);
  });
  check('is fine with one, and development without', () => {
    assert.equal(problemsOf({ APP_ENV: 'production', MODERATION_API_KEY: 'a', BACKEND_API_KEYS: 'k' }), []);
    assert.equal(problemsOf({ BACKEND_API_KEYS: 'k' }), []);
  });
});

describe('a key that everybody knows or can guess', (check) => {
  const KEYS = {
    MODERATION_API_KEY: 'choose-a-key',
    MODERATION_API_KEYS: 'choose-a-key',
    GATEWAY_ADMIN_KEY: 'choose-a-key',
  };
  check('is refused in production, unquoted, if it is the example of the docs', () => {
    for (const [name, key] of Object.entries(KEYS)) {
      const keys = { MODERATION_API_KEYS: 'a-key-of-our-own-1', BACKEND_API_KEYS: 'k', [name]: `${key}` };
      assert.equal(problemsOf({ ...keys, APP_ENV: 'production' }), [
        `${name}: expected a key of your own when APP_ENV is production, not the example of the docs`,
      ]);
      assert.equal(problemsOf(keys), []);
    }
  });

  check('is a warning in production under 16 characters, which does not repeat it', () => {
    const keys = { MODERATION_API_KEYS: 'a-key-of-our-own-1,short-canary', GATEWAY_ADMIN_KEY: 'sixteen-chars-ok' };
    for (const APP_ENV of ['production', 'development']) {
      const { logged } = gatewayOver(judging(), { variables: { ...keys, APP_ENV } });
      const warnings = logged.filter((line) => line.includes('doubtful-setting'));
      assert.is(warnings.length, APP_ENV === 'production' ? 1 : 0);
      assert.is(
        warnings.every((line) => line.includes('"setting":"MODERATION_API_KEYS"')),
        true,
      );
      assert.not.match(logged.join(), 'canary');
    }
  });
});

describe('a key that is both a gateway key and a backend key', (check) => {
  for (const name of ['MODERATION_API_KEY', 'MODERATION_API_KEYS']) {
    check(`is refused, unquoted: ${name}`, () => {
      const problems = problemsOf({ [name]: 'shared-secret-key', BACKEND_API_KEYS: 'other,shared-secret-key' });
      assert.is(problems.length, 1);
      assert.match(problems[0] ?? '', /^BACKEND_API_KEYS: the same key is in MODERATION_API_KEYS; use different keys/);
      assert.not.match(problems.join(), /shared-secret-key/);
    });
  }
});

describe('the admin key', (check) => {
  const KEYS = { MODERATION_API_KEYS: 'client-key,other-client-key', BACKEND_API_KEYS: 'judge-key' };
  check('is one key, and none unless it is set', () => {
    assert.is(read(KEYS).settings.GATEWAY_ADMIN_KEY, undefined);
    assert.is(read({ ...KEYS, GATEWAY_ADMIN_KEY: '' }).settings.GATEWAY_ADMIN_KEY, undefined);
    assert.is(read({ ...KEYS, GATEWAY_ADMIN_KEY: ' admin-key ' }).settings.GATEWAY_ADMIN_KEY, 'admin-key');
    for (const wrong of ['two words', '"quoted"', 'x'.repeat(513)])
      assert.match(problemsOf({ ...KEYS, GATEWAY_ADMIN_KEY: wrong })[0] ?? '', /^GATEWAY_ADMIN_KEY: expected one key/);
  });
  check('is refused, unquoted, where it is a gateway key or a backend key too', () => {
    for (const same of ['other-client-key', 'judge-key']) {
      const problems = problemsOf({ ...KEYS, GATEWAY_ADMIN_KEY: same, PORT: 'x' });
      assert.is(problems.length, 2);
      assert.match(problems[1] ?? '', /^GATEWAY_ADMIN_KEY: the same key is in MODERATION_API_KEYS or BACKEND_API_KEYS/);
      assert.not.match(problems.join(), same);
    }
  });
});

describe('keys in quotes', (check) => {
  check('are refused, as no client would send them so', () => {
    for (const key of ['"choose-a-key"', "'choose-a-key'", 'fine,"other"']) {
      try {
        readGatewayConfig({ MODERATION_API_KEYS: key, BACKEND_BASE_URL: 'http://127.0.0.1:1' });
      } catch (error) {
        assert.match(String((error as ConfigError).problems), 'MODERATION_API_KEYS: expected keys without quotes');
        continue;
      }
      throw new Error('It was accepted');
    }
  });
});
