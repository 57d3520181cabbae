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

/** What the filters of the two services hid before they became one: the secret, and a text that it stands in. */
const HEX = 'c0ffee00'.repeat(8);
const nested = (depth: number, value: unknown): string =>
  depth === 0 ? JSON.stringify(value) : JSON.stringify({ a: nested(depth - 1, value) });
const HIDDEN: Readonly<Record<string, readonly [secret: string, text: string]>> = {
  'an admin key of letters and digits': ['SbkvETV6LjFc', 'with admin-SbkvETV6LjFc today'],
  'an admin key with an underscore': ['SbkvETV6LjFc', 'with admin_SbkvETV6LjFc'],
  'an admin key of small letters': ['abcdefghijkl', 'with admin-abcdefghijkl'],
  'an admin key of hexadecimal digits': [HEX, `the key is admin-${HEX} today`],
  'a masked admin key': ['ab12', 'admin-ab12...wxyz'],
  'a password with brackets': ['dc}a', 'password=sk-b}dc}a'],
  'a password with two brackets': ['dc]a', 'password: b}}dc]a'],
  'a password with square brackets in JSON': ['[x]y', '{token:a[x]y}'],
  'the end of a password behind a bracket': ['tail', 'api_key=ab]}tail}'],
  ...Object.fromEntries(
    [0, 1, 2, 3, 4, 5, 6].flatMap((depth) => [
      [`a password in JSON ${depth} deep`, ['zz-z6Qr', nested(depth, { password: 'zz-z6Qr', b: 1 })]],
      [`a header in JSON ${depth} deep`, ['zz-z6Qr', nested(depth, { authorization: 'zz-z6Qr' })]],
    ]),
  ),
  'a quote behind 15 backslashes': [
    'sk-z6Qr',
    `${'\\'.repeat(15)}"password${'\\'.repeat(15)}":${'\\'.repeat(15)}"zz-sk-z6Qr`,
  ],
  'a header behind 10 backslashes': ['zz-z6Qr', `authorization${'\\'.repeat(10)}": zz-z6Qr`],
  'a masked API key': ['12345', 'sk-12345****9876'],
  'a bearer token': ['abcdefgh', 'sent Bearer abcdefgh'],
  'an authorization header': ['dXNlcjpwYXNz', 'Authorization: Basic dXNlcjpwYXNz'],
  'a cookie header': ['second', 'Cookie: sid=first; other=second'],
  'a JWT': ['eyJzdWIiOiIxIn0', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln'],
  'a Google client secret': ['GOCSPX-abc', 'GOCSPX-abc123'],
  'an AWS key': ['AKIAIOSFODNN7EXAMPLE', 'as AKIAIOSFODNN7EXAMPLE'],
  'half a private key': ['MIIEvQ', 'x -----BEGIN RSA PRIVATE KEY----- MIIEvQ'],
  'a user in an address': ['hunter2', 'via http://root:hunter2@proxy.test:8080/x'],
  'a key in an address': ['s3cr3t', 'GET https://host.test/v1?key=s3cr3t&x=1'],
  'a quoted password': ['hunter2 two', 'the "password" = "hunter2 two" was refused'],
  'a key in half a JSON': ['abc"', 'upstream: {"api_key":"abc","code":1'],
  'a key in escaped JSON': ['abcdef', 'upstream: {\\"api_key\\":\\"abcdef\\"}'],
  'an argument': ['pw-of-mine', '--connectionString=pw-of-mine'],
  'a webhook key': ['whsec', 'whsec_abc.def-ghijkl'],
};
const SHOWN = [
  'relay-admin_list_users and relay-admin_preview_recharge',
  'admin-panel of the relay',
  'users of the admin_balance type',
];

describe('the filter for secrets', (check) => {
  for (const [what, [secret, text]] of Object.entries(HIDDEN)) {
    check(`hides ${what}`, () => {
      assert.not.ok(withoutSecrets(text).includes(secret), withoutSecrets(text));
      assert.match(withoutSecrets(text), /\[redacted\]/);
      assert.not.ok(JSON.stringify(redactData({ text }).data).includes(secret));
    });
  }
  for (const text of SHOWN) check(`shows ${text}`, () => assert.is(withoutSecrets(text), text));

  check('leaves the JSON around a value as it is', () => {
    assert.is(withoutSecrets('{a:{token:abc}}, {b:1}'), '{a:{token:[redacted]}}, {b:1}');
    assert.is(withoutSecrets('[{token:abc}]'), '[{token:[redacted]}]');
  });

  check('takes no long time for texts made against it', () => {
    for (const piece of [
      'token',
      'token=}',
      'password=}]',
      'password\\',
      'admin-',
      'admin-a',
      '"token":\\\\',
      'cookie"\\',
    ]) {
      const text = piece.repeat(Math.ceil(100_000 / piece.length));
      const before = performance.now();
      withoutSecrets(text);
      assert.ok(performance.now() - before < 500, `${piece}: ${performance.now() - before} ms`);
    }
  });
});

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
