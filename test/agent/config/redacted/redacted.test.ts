import * as assert from 'uvu/assert';
import { createAgentList, createConfigProviders, createProviderList } from '../../../../src/agent/config/views.ts';
import { describe } from '../../../check.ts';
import { configOf, LEAST } from '../world.ts';
import { config, secrets, WRITTEN, writable } from './world.ts';

const BODIES: Readonly<Record<string, unknown>> = {
  'GET /config': config.redacted,
  'GET /provider': createProviderList(config),
  'GET /config/providers': createConfigProviders(config),
  'GET /agent': createAgentList(config),
  'the warnings': config.warnings,
};

describe('what a configuration shows', (check) => {
  check('is tried with secrets in many places, and they all reach where they are needed', () => {
    assert.ok(secrets.length >= 25);
    const home = config.providers.get('home');
    assert.match(home?.apiKey ?? '', /canary-api-key/);
    assert.match(home?.headers['x-plain'] ?? '', /canary-provider-header/);
    assert.match(config.agents.get('filed')?.prompt ?? '', /canary-prompt-file/);
  });

  for (const [name, body] of Object.entries(BODIES)) {
    check(`holds no secret in ${name}`, () => {
      const text = JSON.stringify(body).toLowerCase();
      assert.equal(
        secrets.filter((canary) => text.includes(canary.toLowerCase())),
        [],
      );
      assert.not.match(text, /canary-/);
    });
  }

  check('holds the rest as it was written', () => {
    const text = JSON.stringify(config.redacted);
    for (const word of [
      'shown-model',
      'shown-shape',
      'shown-description',
      'shown-program',
      '"max_tokens":10',
      '"timeout":1000',
      '"timeout":5',
      '"baseURL":"http://127.0.0.1:1/v1"',
      'https://t.test/[redacted]',
    ])
      assert.ok(text.includes(word), word);
    assert.equal(config.redacted.permission, WRITTEN.permission);
    assert.equal(config.redacted.model, 'home/small');
  });

  check('has the map of tool servers, whatever they are called', () => {
    assert.equal(config.redacted.mcp, {
      tokens: { type: 'local', command: ['shown-program', ...Array(9).fill('[redacted]')], timeout: 5 },
      far: { type: 'remote', url: 'https://t.test/[redacted]' },
      near: { type: 'remote', url: 'https://t.test', enabled: false, oauth: false },
      filled: { type: 'remote', url: '[redacted]' },
    });
  });

  check('has of a provider only the options that are known here', () => {
    const { provider } = writable(config.redacted) as { provider: { home: { options: object } } };
    assert.equal(provider.home.options, {
      baseURL: 'http://127.0.0.1:1/v1',
      apiKey: '[redacted]',
      headers: '[redacted]',
      accessToken: '[redacted]',
      queryParams: '[redacted]',
      credentials: '[redacted]',
      organization: '[redacted]',
      encryptionKey: '[redacted]',
      retries: '[redacted]',
      timeout: 1000,
    });
  });

  check('has no secret of the forms that programs and services take', () => {
    const drawn = 'Zq9Xv7Lm2Kp4';
    const arguments_ = [
      [`--pass=${drawn}`],
      [`--pat=${drawn}`],
      [`--key=${drawn}`],
      [`--auth=${drawn}`],
      ['-k', drawn],
      ['-p', drawn],
      ['--subscription-key', drawn],
      [`--license-key=${drawn}`],
      ['-c', `DB_PASS=${drawn} exec srv`],
      ['-e', `SIGNING_KEY=${drawn}`],
      ['--user', `bob:${drawn}`],
    ];
    const addresses = [
      `https://mcp.test/api/mcp/s/${drawn}/mcp`,
      `https://mcp.test/mcp?k=${drawn}`,
      `https://mcp.test/mcp?api-version=1&subscription-key=${drawn}`,
      `https://hooks.slack.com/services/T0/B0/${drawn}`,
      'https://mcp.test/0123456789abcdef0123456789abcdef/mcp',
      'https://mcp.test/8d3a53a1-7c1f-4f5e-9a8b-0123456789ab',
    ];
    const names = ['encryptionKey', 'signing_key', 'licence-key', 'clientSecret', 'connectionString', 'db_pass', 'pwd'];
    const mcp = Object.fromEntries([
      ...arguments_.map((words, at) => [`a${at}x`, { type: 'local', command: ['srv', ...words] }]),
      ...addresses.map((url, at) => [`b${at}x`, { type: 'remote', url }]),
    ]);
    const prompt = [
      ...arguments_.filter((words) => !/^-[kp]|^--sub/.test(words[0] ?? '')).map((words) => words.join(' ')),
    ];
    const { redacted: shown } = configOf({
      mcp,
      agent: {
        a: {
          prompt: [...prompt, ...addresses].join(' \n'),
          options: Object.fromEntries(names.map((name) => [name, drawn])),
        },
      },
      formatter: { any: { command: ['shown-formatter', '-k', drawn], env: { A: drawn } }, args: ['-p', drawn] },
    });
    const text = JSON.stringify(shown);
    assert.equal(
      [drawn, '0123456789abcdef0123456789abcdef', '8d3a53a1'].filter((secret) => text.includes(secret)),
      [],
    );
    assert.match(text, 'shown-formatter');
    assert.match(text, 'https://hooks.slack.com/services/T0/B0/[redacted]');
  });

  check('keeps addresses that people have named', () => {
    const baseURL = 'https://gateway.test/openai/deployments/gpt-4o-mini-2024-07-18/v1beta';
    const { redacted: shown } = configOf({ provider: { home: { ...LEAST.provider.home, options: { baseURL } } } });
    assert.match(JSON.stringify(shown), baseURL);
  });

  check('does not take ordinary words for secrets', () => {
    const prompt =
      'Answer basic questions about bearer tokens, about max_tokens and about keys. Tokens are counted; a secret is kept';
    const { redacted: shown } = configOf({
      agent: { a: { prompt, options: { maxTokens: 5, tokens: 3, cached: true } } },
    });
    assert.equal(shown.agent, { a: { prompt, options: { maxTokens: 5, tokens: 3, cached: true } } });
  });

  check('is made in little time also of long texts', () => {
    const startedAt = performance.now();
    for (const text of [
      'token=',
      'a:',
      '-----BEGIN A',
      'eyJaaaaaaaa.',
      'http://a',
      'bearer  ',
      '?key=',
      'http://a/',
      '--user a',
      'A1a',
    ])
      configOf({ agent: { a: { prompt: text.repeat(200_000 / text.length) } } });
    assert.ok(performance.now() - startedAt < 3000);
  });
});
