import * as assert from 'uvu/assert';
import { redactConfig } from '../../src/agent/config/redacted.ts';
import { isSecretName, REDACTED, withoutSecrets } from '../../src/core/redact.ts';
import { redactData } from '../../src/relay-admin/read/redact.ts';
import { describe } from '../check.ts';

/** Each was once known to one service only. */
const NAMES = [
  'password',
  'passwd',
  'db_pwd',
  'db_pass',
  'passphrase',
  'clientSecret',
  'access_token',
  'bot_tokens',
  'API-Key',
  'key',
  'keys',
  'encryptionKey',
  'x-api-key',
  'masked_key',
  'private-key',
  'session',
  'session_key',
  'sso',
  'totp_code_otp',
  'code',
  'oauth_code',
  'auth',
  'authorization',
  'Set-Cookie',
  'credentials',
  'service_account',
  'pat',
  'sig',
  'signature',
  'bearer',
  'jwt',
  'dsn',
  'connectionString',
  'pay_url',
];
const SHOWN_NAMES = [
  'name',
  'model',
  'status',
  'id',
  'prompt',
  'monkeys_id',
  'keyboard',
  'author',
  'encode',
  'pattern',
];

const TEXTS: Readonly<Record<string, string>> = {
  'an argument': '--pass=hunter-2-x',
  'a user of a program': 'curl -u bob:hunter-2-x https://a.test',
  'an address that is its own key': 'https://hooks.test/services/Hunter2aXbYc9',
  'basic credentials': 'sent Basic hunter-2-x==',
  'a passphrase': 'passphrase: hunter-2-x',
  'a digit token': 'token=hunter-2-x',
};

describe('the agent server and the relay admin', (check) => {
  check('hide the same names', () => {
    for (const name of NAMES) {
      assert.ok(isSecretName(name), name);
      assert.equal(redactConfig({ experimental: { [name]: 'plain' } }), { experimental: { [name]: REDACTED } }, name);
      assert.equal(redactData({ [name]: 'plain' }).data, { [name]: REDACTED }, name);
    }
  });

  check('show the same names', () => {
    for (const name of SHOWN_NAMES) {
      assert.not.ok(isSecretName(name), name);
      assert.equal(redactConfig({ experimental: { [name]: 'plain' } }), { experimental: { [name]: 'plain' } }, name);
      assert.equal(redactData({ [name]: 'plain' }).data, { [name]: 'plain' }, name);
    }
  });

  for (const [what, text] of Object.entries(TEXTS)) {
    check(`hide ${what} in a text`, () => {
      for (const shown of [withoutSecrets(text), JSON.stringify(redactData({ text }).data)]) {
        assert.not.match(shown, /hunter-?2/i);
        assert.match(shown, /\[redacted\]/);
      }
    });
  }

  check('take counts of tokens for no secret', () => {
    assert.is(withoutSecrets('max_tokens: 4096'), 'max_tokens: 4096');
    assert.equal(redactConfig({ experimental: { max_tokens: 5 } }), { experimental: { max_tokens: 5 } });
    assert.equal(redactData({ max_tokens: 5 }).data, { max_tokens: 5 });
  });
});
