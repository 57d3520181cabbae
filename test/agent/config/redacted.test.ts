import type { Agent, Provider } from '@opencode-ai/sdk/v2';
import * as assert from 'uvu/assert';
import { createAgentList, createConfigProviders, createProviderList } from '../../../src/agent/config/views.ts';

import { describe } from '../../check.ts';
import { configOf, type Json, LEAST } from './world.ts';

type Writable<T> = T extends readonly (infer Item)[]
  ? Writable<Item>[]
  : T extends object
    ? { -readonly [Name in keyof T]: Writable<T[Name]> }
    : T;
/** The same, for types that know no `readonly`. */
const writable = <T>(value: T): Writable<T> => JSON.parse(JSON.stringify(value));

/** A different secret for each place, so that a leak tells where it is. */
const secrets: string[] = [];
const secret = (place: string): string => {
  const text = `canary-${place}-7d1f0c`;
  secrets.push(text);
  return text;
};

const WRITTEN: Json = {
  model: 'home/small',
  username: '{env:USERNAME_CANARY}',
  provider: {
    home: {
      name: '{env:NAME_CANARY}',
      options: {
        baseURL: 'http://127.0.0.1:1/v1',
        apiKey: secret('api-key'),
        headers: { 'x-plain': secret('provider-header') },
        accessToken: secret('access-token'),
        queryParams: { key: secret('query-key'), page: '1' },
        credentials: { any: [secret('in-credentials')] },
        organization: secret('organization'),
        encryptionKey: secret('encryption-key'),
        retries: 7_654_321,
        timeout: 1000,
      },
      models: {
        small: {
          id: '{env:UPSTREAM_CANARY}',
          headers: { authorization: secret('model-header') },
          options: {
            store: false,
            user_secret: secret('model-option'),
            max_tokens: 10,
            note: `Bearer ${secret('bearer-9')}`,
            pem: `-----BEGIN PRIVATE KEY-----\n${secret('pem')}\n-----END PRIVATE KEY-----`,
          },
          variants: { high: { password: secret('variant') }, low: {} },
        },
      },
    },
    key: {
      options: { baseURL: '{env:URL_CANARY}' },
      models: { token: { name: 'shown-model' } },
    },
  },
  agent: {
    build: { options: { sessionKey: secret('agent-option'), shape: 'shown-shape' }, prompt: 'Ask {env:PROMPT_CANARY}' },
    secret: { description: 'shown-description', permission: { 'token_*': { 'a *': 'ask' } } },
    filed: { prompt: '{file:prompt.md}', description: `api_key=${secret('description')}` },
  },
  mcp: {
    tokens: {
      type: 'local',
      command: [
        'shown-program',
        '--api-key',
        secret('flag-value'),
        `--token=${secret('flag')}`,
        '-H',
        `X: ${secret('header-flag')}`,
        `https://me:${secret('url-user')}@t.test/`,
        '{env:ARGUMENT_CANARY}',
        '--verbose',
        secret('argument'),
      ],
      cwd: secret('directory'),
      environment: { PLAIN: secret('environment'), FILLED: '{env:ENVIRONMENT_CANARY}' },
      timeout: 5,
    },
    far: {
      type: 'remote',
      url: `https://t.test/mcp?page=2&key=${secret('url-key')}&access_token=${secret('url-token')}`,
      headers: { [secret('header-name')]: secret('mcp-header') },
      oauth: { clientId: secret('client'), clientSecret: secret('client-secret') },
    },
    near: { type: 'remote', url: 'https://t.test', oauth: false, enabled: false },
    filled: { type: 'remote', url: 'https://t.test/{env:ARGUMENT_CANARY}/mcp' },
  },
  permission: { password: 'ask', bash: { 'token *': 'deny' } },
  experimental: { apiKey: secret('inert-key'), list: [{ cookie: secret('inert-cookie') }] },
  server: { password: secret('server') },
};

const variables = Object.fromEntries(
  ['USERNAME', 'NAME', 'UPSTREAM', 'PROMPT', 'ARGUMENT', 'ENVIRONMENT'].map((name) => [`${name}_CANARY`, secret(name)]),
);
const config = configOf(
  WRITTEN,
  { ...variables, URL_CANARY: `http://${secret('url').toLowerCase()}.test/v1` },
  { './prompt.md': secret('prompt-file') },
);
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

describe('GET /provider', (check) => {
  check('is what the SDK expects, with the configured providers alone', () => {
    const { all, connected, default: first } = createProviderList(config);
    const typed: Provider[] = writable(all);
    assert.equal(
      typed.map(({ id, name, source, env }) => [id, name, source, env]),
      [
        ['home', '[redacted]', 'config', []],
        ['key', 'key', 'config', []],
      ],
    );
    assert.equal(connected, ['home', 'key']);
    assert.equal(first, { home: 'small', key: 'token' });
    assert.equal(createConfigProviders(config), { providers: all, default: first });
  });

  check('has no field for a key and no headers', () => {
    for (const provider of createProviderList(config).all) {
      assert.not('key' in provider);
      assert.not('apiKey' in provider.options);
      assert.not('headers' in provider.options);
      for (const model of Object.values(provider.models)) assert.equal(model.headers, {});
    }
  });

  check('offers the default model first for its provider', () => {
    const models = { a: {}, b: {} };
    const several = configOf({ model: 'home/b', provider: { home: { ...LEAST.provider.home, models } } });
    assert.equal(createProviderList(several).default, { home: 'b' });
  });

  check('reports what a model can do', () => {
    const seeing = configOf({
      provider: {
        home: {
          ...LEAST.provider.home,
          models: {
            small: {
              id: 'vendor/small',
              limit: { context: 10, output: 5 },
              cost: { input: 1, output: 2, cache_read: 3 },
              reasoning: 'split',
              modalities: { input: ['text', 'image'] },
              options: { store: false },
            },
          },
        },
      },
    });
    assert.equal(createProviderList(seeing).all[0]?.models.small, {
      id: 'small',
      providerID: 'home',
      api: { id: 'vendor/small', url: 'http://127.0.0.1:1/v1', npm: '@ai-sdk/openai-compatible' },
      name: 'small',
      capabilities: {
        temperature: true,
        reasoning: true,
        attachment: false,
        toolcall: true,
        input: { text: true, audio: false, image: true, video: false, pdf: false },
        output: { text: true, audio: false, image: false, video: false, pdf: false },
        interleaved: false,
      },
      cost: { input: 1, output: 2, cache: { read: 3, write: 0 } },
      limit: { context: 10, output: 5 },
      status: 'active',
      options: { store: false },
      headers: {},
      release_date: '',
      variants: {
        low: { reasoningEffort: 'low' },
        medium: { reasoningEffort: 'medium' },
        high: { reasoningEffort: 'high' },
      },
    });
  });
});

describe('GET /agent', (check) => {
  check('is what the SDK expects, the default agent first', () => {
    const listed = configOf({
      default_agent: 'helper',
      agent: {
        helper: { model: 'home/small', top_p: 0.5, temperature: 1, color: '#fff', options: { a: 1 }, prompt: 'Hi' },
      },
    });
    const typed: Agent[] = writable(createAgentList(listed));
    assert.equal(
      typed.map(({ name }) => name),
      ['helper', 'build', 'plan', 'general', 'title', 'compaction'],
    );
    assert.equal(typed[0], {
      name: 'helper',
      mode: 'all',
      native: false,
      hidden: false,
      topP: 0.5,
      temperature: 1,
      color: '#fff',
      permission: [{ permission: '*', pattern: '*', action: 'allow' }],
      model: { providerID: 'home', modelID: 'small' },
      prompt: 'Hi',
      options: { a: 1 },
      steps: 50,
    });
  });

  check('shows what was filled in as redacted', () => {
    const byName = Object.fromEntries(createAgentList(config).map((agent) => [agent.name, agent]));
    assert.is(byName.build?.prompt, '[redacted]');
    assert.equal(byName.build?.options, { sessionKey: '[redacted]', shape: 'shown-shape' });
    assert.is(byName.filed?.description, 'api_key=[redacted]');
  });
});
