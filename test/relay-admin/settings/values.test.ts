import * as assert from 'uvu/assert';
import type { Variables } from '../../../src/core/config.ts';
import { readRelayConfig } from '../../../src/relay-admin/settings.ts';
import { describe } from '../../check.ts';
import { configOf, NEEDED, problemsOf, problemWith } from './world.ts';

const KEY = `admin-${'0123456789abcdef'.repeat(4)}`;

const MILLION = 1_000_000n * 10n ** 8n;

describe('the configuration of the relay tools', (check) => {
  check('needs no more than where the relay is', () => {
    assert.equal(configOf(), {
      address: { origin: 'https://relay.example', host: 'relay.example' },
      key: { kind: 'missing' },
      timeoutMs: 30_000,
      largestRecharge: 1_000_000_000_000n,
      journalFile: './data/relay-journal.jsonl',
      isReadOnly: false,
      logLevel: 'info',
    });
  });

  check('takes everything that can be set, with blanks around it', () => {
    assert.equal(
      readRelayConfig({
        RELAY_BASE_URL: ' http://relay.apps.svc:8080/ ',
        RELAY_ALLOWED_HOST: 'relay.apps.svc\n',
        RELAY_ADMIN_API_KEY: ` ${KEY}\n`,
        RELAY_TIMEOUT_MS: ' 5000 ',
        RELAY_MAX_RECHARGE: ' 250.5 ',
        RELAY_JOURNAL: ' /var/lib/relay/journal.jsonl ',
        RELAY_READ_ONLY: ' true ',
        LOG_LEVEL: ' debug ',
      }),
      {
        address: { origin: 'http://relay.apps.svc:8080', host: 'relay.apps.svc' },
        key: { kind: 'present', secret: KEY },
        timeoutMs: 5000,
        largestRecharge: 25_050_000_000n,
        journalFile: '/var/lib/relay/journal.jsonl',
        isReadOnly: true,
        logLevel: 'debug',
      },
    );
  });

  check('reports every problem at once, a line each, by the names of the variables', () => {
    const problems = problemsOf({
      RELAY_BASE_URL: 'ftp://relay.example',
      RELAY_TIMEOUT_MS: '10',
      RELAY_MAX_RECHARGE: '-5',
      RELAY_READ_ONLY: 'yes',
      LOG_LEVEL: 'loud',
    });
    assert.equal(
      problems.map((problem) => problem.split(':')[0]),
      [
        'RELAY_BASE_URL',
        'RELAY_ALLOWED_HOST',
        'RELAY_TIMEOUT_MS',
        'RELAY_MAX_RECHARGE',
        'RELAY_READ_ONLY',
        'LOG_LEVEL',
      ],
    );
    assert.equal(problemsOf({}), [
      'RELAY_BASE_URL: is required: the address of the relay, such as http://relay.internal:8080',
      'RELAY_ALLOWED_HOST: is required: the host of RELAY_BASE_URL, such as relay.internal',
    ]);
    assert.equal(problemsOf({ RELAY_BASE_URL: '  ', RELAY_ALLOWED_HOST: '' }), problemsOf({}));
  });

  check('reports an address that is wrong among other things', () => {
    const problems = problemsOf({ ...NEEDED, RELAY_ALLOWED_HOST: 'evil.com', RELAY_TIMEOUT_MS: 'x' });
    assert.match(problems[0] ?? '', /^RELAY_ALLOWED_HOST: expected the host name of RELAY_BASE_URL/);
    assert.match(problems[1] ?? '', /^RELAY_TIMEOUT_MS: /);
    assert.match(problemWith({ RELAY_BASE_URL: 'https://relay.example@evil.com' }), /^RELAY_BASE_URL: expected http/);
    const publicRelay = { RELAY_BASE_URL: 'http://relay.example' };
    assert.match(problemWith(publicRelay), /^RELAY_BASE_URL: expected https, because/);
  });

  check('never quotes a value', () => {
    const canary = 'canary-7f3a';
    const problems = problemsOf({
      RELAY_BASE_URL: `https://user:${canary}@relay.example`,
      RELAY_ALLOWED_HOST: canary,
      RELAY_ADMIN_API_KEY: canary,
      RELAY_TIMEOUT_MS: canary,
      RELAY_MAX_RECHARGE: canary,
      RELAY_READ_ONLY: canary,
      RELAY_JOURNAL: canary,
      LOG_LEVEL: canary,
    });
    assert.ok(problems.length >= 5);
    assert.not.match(problems.join('\n'), canary);
    assert.not.match(problemWith({ RELAY_ALLOWED_HOST: canary }), canary);
  });

  check('is not upset by the other variables of a process', () => {
    assert.equal(configOf({ PATH: '/bin', __proto__: 'x', constructor: 'x' } as Variables), configOf());
  });
});

describe('the admin key', (check) => {
  for (const [what, given] of Object.entries({ 'not set': undefined, empty: '', blank: ' \t\n' })) {
    check(`is missing when it is ${what}, and that stops no start`, () => {
      assert.equal(configOf({ RELAY_ADMIN_API_KEY: given }).key, { kind: 'missing' });
    });
  }

  const OF_OTHER_RELEASES = ['adm_3fK9-x.Y~z/+=:@0', 'A'.repeat(16), 'z'.repeat(256), KEY.toUpperCase(), `sk-${KEY}`];
  check('is present as one word of any form, with blanks around it or not', () => {
    for (const secret of [KEY, ...OF_OTHER_RELEASES])
      for (const given of [secret, ` ${secret}`, `${secret}\n`, `\t${secret}\r\n`])
        assert.equal(configOf({ RELAY_ADMIN_API_KEY: given }).key, { kind: 'present', secret });
  });

  const MALFORMED = {
    'of 15 characters': KEY.slice(0, 15),
    'of 257 characters': 'z'.repeat(257),
    'with a comma': `${KEY},${KEY}`,
    'in quotes': `"${KEY}"`,
    'with a blank inside': `${KEY.slice(0, 20)} ${KEY.slice(21)}`,
    'with a line break inside': `${KEY.slice(0, 20)}\n${KEY.slice(21)}`,
    'with a header smuggled behind it': `${KEY}\r\nx-evil: 1`,
    twice: `${KEY}\n${KEY}`,
    'with digits of another script': `admin-${'０'.repeat(64)}`,
    'as a bearer': `Bearer ${KEY}`,
    'with a letter of another script': `admin-${'é'.repeat(64)}`,
  };
  for (const [what, given] of Object.entries(MALFORMED)) {
    check(`is malformed ${what}, and that stops no start and keeps nothing of it`, () => {
      assert.equal(configOf({ RELAY_ADMIN_API_KEY: given }).key, { kind: 'malformed' });
    });
  }
});

describe('the bounds', (check) => {
  check('of a call: from 1 s to 35 s, because the caller leaves after 40', () => {
    for (const given of ['1000', '30000', '35000'])
      assert.is(configOf({ RELAY_TIMEOUT_MS: given }).timeoutMs, Number(given));
    for (const given of ['0', '999', '35001', '40000', '-1000', '1e4', '2000.5', '30s', '0x7d0', '１０００'])
      assert.is(
        problemWith({ RELAY_TIMEOUT_MS: given }),
        'RELAY_TIMEOUT_MS: expected a whole number from 1000 to 35000',
      );
  });

  check('of a recharge: over nothing, at most a million', () => {
    assert.is(configOf({ RELAY_MAX_RECHARGE: '0.00000001' }).largestRecharge, 1n);
    assert.is(configOf({ RELAY_MAX_RECHARGE: '1000000' }).largestRecharge, MILLION);
    assert.is(configOf({ RELAY_MAX_RECHARGE: '1000000.00000000' }).largestRecharge, MILLION);
    for (const given of [
      '0',
      '0.0',
      '1000000.00000001',
      '1000001',
      '9999999',
      '-1',
      '1e3',
      '1,000',
      'all',
      '.5',
      '1.123456789',
    ])
      assert.is(
        problemWith({ RELAY_MAX_RECHARGE: given }),
        'RELAY_MAX_RECHARGE: expected a decimal amount over 0 and at most 1000000, such as 10000',
      );
  });

  check('of read-only: true or false and nothing that means either', () => {
    assert.is(configOf({ RELAY_READ_ONLY: 'true' }).isReadOnly, true);
    assert.is(configOf({ RELAY_READ_ONLY: 'false' }).isReadOnly, false);
    for (const given of ['1', '0', 'TRUE', 'yes', 'on', 'truthy'])
      assert.is(problemWith({ RELAY_READ_ONLY: given }), 'RELAY_READ_ONLY: expected true | false');
  });

  check('of the log: its four levels', () => {
    assert.is(problemWith({ LOG_LEVEL: 'trace' }), 'LOG_LEVEL: expected debug | info | warn | error');
  });
});
