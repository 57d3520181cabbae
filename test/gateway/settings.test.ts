import * as assert from 'uvu/assert';
import { ConfigError } from '../../src/core/config.ts';
import { readGatewayConfig } from '../../src/gateway/settings/config.ts';
import { GatewayVariables, unknownGatewayVariables } from '../../src/gateway/settings/variables.ts';
import { settingsOfWorker, workersFor } from '../../src/gateway/settings/workers.ts';
import { describe } from '../check.ts';

const BASE = { MODERATION_API_KEYS: 'gateway-key-1', BACKEND_API_KEYS: 'backend-key-1' };
const read = (variables: Readonly<Record<string, string>> = {}) => readGatewayConfig({ ...BASE, ...variables });
const problemsOf = (variables: Readonly<Record<string, string>>): readonly string[] => {
  try {
    readGatewayConfig(variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe('the configuration', (check) => {
  check('needs nothing to be said but keys', () => {
    const { settings, backend, gatewayKeys, models } = read();
    assert.equal(
      { ...settings, MODERATION_API_KEY: [], MODERATION_API_KEYS: [], BACKEND_API_KEYS: [] },
      {
        HOST: '0.0.0.0',
        PORT: 8000,
        APP_ENV: 'development',
        LOG_LEVEL: 'info',
        GATEWAY_WORKERS: 1,
        MODERATION_API_KEY: [],
        MODERATION_API_KEYS: [],
        BACKEND_API_KEYS: [],
        BACKEND_CLOUD_URL: 'https://ollama.com',
        BACKEND_DIALECT: 'auto',
        UNJUDGED_INPUT: 'error',
        NO_VERDICT: 'error',
        REQUEST_DEADLINE_MS: 25_000,
        MAX_INPUTS: 32,
        MAX_INPUT_CHARS: 100_000,
        MODERATION_WINDOW_CHARS: 24_000,
        MAX_CONCURRENCY: 64,
        RATE_LIMIT_RPM: 0,
        CACHE_MAX_ENTRIES: 10_000,
        CACHE_TTL_SECONDS: 3600,
        HEDGE_AFTER_MS: 0,
        JUDGE_BATCH: 0,
      },
    );
    assert.equal(backend, { kind: 'cloud', baseUrl: 'https://ollama.com', keys: ['backend-key-1'], dialect: 'ollama' });
    assert.equal(gatewayKeys, ['gateway-key-1']);
    assert.is(models.size, 7);
  });
  check('takes an empty variable for one that is not set', () => {
    const { settings } = read({ PORT: ' ', BACKEND_BASE_URL: '', MODERATION_MODELS: '', REDIS_URL: '' });
    assert.is(settings.PORT, 8000);
  });
  check('joins both variables of gateway keys, each key once', () => {
    const { gatewayKeys } = read({ MODERATION_API_KEY: 'a', MODERATION_API_KEYS: ' b , a ,, c ' });
    assert.equal(gatewayKeys, ['a', 'b', 'c']);
  });
  check('counts each backend key once', () => {
    assert.equal(read({ BACKEND_API_KEYS: 'a, b,a,' }).backend?.keys, ['a', 'b']);
  });
  check('takes a self-hosted server before the cloud, with keys or without', () => {
    const own = { BACKEND_BASE_URL: 'http://10.0.0.5:11434/' };
    assert.equal(read(own).backend, {
      kind: 'self-hosted',
      baseUrl: 'http://10.0.0.5:11434',
      keys: ['backend-key-1'],
      dialect: 'auto',
    });
    assert.equal(read({ ...own, BACKEND_API_KEYS: '' }).backend?.keys, []);
  });
  check('knows no backend when none is named', () => {
    assert.is(readGatewayConfig({ MODERATION_API_KEYS: 'a' }).backend, undefined);
  });
  for (const [given, used] of [
    ['http://a.test:8080/v1', 'http://a.test:8080'],
    ['http://a.test:8080/v1/', 'http://a.test:8080'],
    ['https://a.test/api', 'https://a.test'],
    ['http://a.test/llm/v1', 'http://a.test/llm'],
    [' http://a.test ', 'http://a.test'],
    ['http://[::1]:11434', 'http://[::1]:11434'],
  ] as const) {
    check(`reads the address ${JSON.stringify(given)} as ${used}`, () => {
      assert.is(read({ BACKEND_BASE_URL: given }).backend?.baseUrl, used);
    });
  }
  check('lets the dialect of the cloud be chosen', () => {
    assert.is(read({ BACKEND_DIALECT: 'openai', BACKEND_CLOUD_URL: 'https://b.test' }).backend?.dialect, 'openai');
  });
});

const WRONG: Readonly<Record<string, readonly string[]>> = {
  PORT: ['http', '65536', '-1', '80.5', '8e3', '0x50'],
  APP_ENV: ['prod', 'Production'],
  LOG_LEVEL: ['verbose', 'INFO'],
  MODERATION_API_KEY: ['with blank', 'ümlaut', 'k'.repeat(513)],
  MODERATION_API_KEYS: ['good,with blank'],
  BACKEND_API_KEYS: ['good,tab\there', 'line\nbreak'],
  BACKEND_BASE_URL: [
    'localhost:11434',
    'ftp://a.test',
    'http://user:secret@a.test',
    'http://a.test?x=1',
    'http://a.test#x',
    'http://a.test/v1/chat/completions',
    'http://a.test/api/chat/',
    'https://a.test/proxy/v1/models',
    'nothing',
  ],
  BACKEND_CLOUD_URL: ['ollama.com'],
  BACKEND_DIALECT: ['vllm', 'Ollama'],
  UNJUDGED_INPUT: ['pass', 'allow', 'Text'],
  NO_VERDICT: ['text', 'pass', 'FLAG'],
  REQUEST_DEADLINE_MS: ['99', '600001', '25s'],
  MAX_BODY_BYTES: ['1023', '1MB'],
  MAX_INPUTS: ['0', '1001'],
  MAX_INPUT_CHARS: ['0', '10000001'],
  MODERATION_WINDOW_CHARS: ['499', '200001'],
  MAX_CONCURRENCY: ['0', '10001'],
  RATE_LIMIT_RPM: ['-1', '1000001', 'off'],
  CACHE_MAX_ENTRIES: ['-1', '10000001'],
  CACHE_TTL_SECONDS: ['-1', '31536001'],
  HEDGE_AFTER_MS: ['-1', '600001'],
  JUDGE_BATCH: ['-1', '17', 'on'],
  JUDGE_KEEP_ALIVE: ['-2', '30', '30 m', '1d', 'forever', '-1m'],
  REDIS_URL: ['localhost:6379', 'http://localhost:6379', 'redis://:canary@h:99999'],
  MODERATION_MODELS: ['{', '[]', '{"a":5}'],
};

describe('a wrong variable', (check) => {
  for (const [name, values] of Object.entries(WRONG)) {
    check(`is named with what was expected, and never quoted: ${name}`, () => {
      for (const value of values) {
        const problems = problemsOf({ ...BASE, [name]: value });
        assert.is(problems.length, 1, `${value}: ${problems.join('; ')}`);
        assert.match(problems[0] ?? '', new RegExp(`^${name}: .*expected`));
        if (value.length > 4) assert.not.ok(problems[0]?.includes(value), problems[0]);
      }
    });
  }
  check('is reported beside all the others', () => {
    const wrong = Object.fromEntries(Object.entries(WRONG).map(([name, [value = '']]) => [name, value]));
    const named = problemsOf({ ...wrong, APP_ENV: 'production' }).map((problem) => problem.split(':')[0]);
    for (const name of Object.keys(WRONG)) if (name !== 'APP_ENV') assert.ok(named.includes(name), name);
  });
  check('does not hide what is wrong between variables', () => {
    const problems = problemsOf({ PORT: 'x', APP_ENV: 'production', BACKEND_API_KEYS: 'k' });
    assert.is(problems.length, 2, problems.join('\n'));
    const same = problemsOf({ PORT: 'x', MODERATION_API_KEYS: 'same-key', BACKEND_API_KEYS: 'same-key' });
    assert.is(same.length, 2, same.join('\n'));
  });
  check('is one of those that are known', () => {
    const known = Object.keys(GatewayVariables.entries);
    for (const name of Object.keys(WRONG)) assert.ok(known.includes(name), name);
  });
});

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

describe('a key that is both a gateway key and a backend key', (check) => {
  for (const name of ['MODERATION_API_KEY', 'MODERATION_API_KEYS']) {
    check(`is refused, unquoted: ${name}`, () => {
      const problems = problemsOf({ [name]: 'shared-secret-key', BACKEND_API_KEYS: 'other,shared-secret-key' });
      assert.is(problems.length, 1);
      assert.match(problems[0] ?? '', /^BACKEND_API_KEYS: the same key is in MODERATION_API_KEYS; use different keys/);
      assert.not.match(problems[0] ?? '', /shared-secret-key/);
    });
  }
});

describe('a policy', (check) => {
  check('stands in a variable or in a file, never in both', () => {
    const inline = { MODERATION_POLICY: '{"version":"canary"}' };
    assert.is(read(inline).settings.MODERATION_POLICY, inline.MODERATION_POLICY);
    assert.equal(problemsOf({ ...BASE, ...inline, MODERATION_POLICY_FILE: '/canary.json' }), [
      'MODERATION_POLICY: expected none beside MODERATION_POLICY_FILE: remove one of them',
    ]);
    assert.is(read({ ...inline, MODERATION_POLICY_FILE: ' ' }).settings.MODERATION_POLICY_FILE, undefined);
  });
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

describe('a variable that only looks like ours', (check) => {
  check('is reported, with the one that was meant', () => {
    const unknownNames = unknownGatewayVariables({
      BACKEND_API_KEY: 'canary',
      RATE_LIMIT: '5',
      MODERATION_POLICY_FILES: 'x',
      PATH: '/',
      PORT: '1',
    });
    assert.equal(
      [...unknownNames],
      [
        ['BACKEND_API_KEY', 'BACKEND_API_KEYS'],
        ['RATE_LIMIT', 'RATE_LIMIT_RPM'],
        ['MODERATION_POLICY_FILES', 'MODERATION_POLICY_FILE'],
      ],
    );
  });
  check('is none of those that are known', () => {
    assert.equal(
      [
        ...unknownGatewayVariables(
          Object.fromEntries(Object.keys(GatewayVariables.entries).map((name) => [name, '1'])),
        ),
      ],
      [],
    );
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

describe('the workers of a gateway', (check) => {
  const settingsWith = (variables: Readonly<Record<string, string>>) => read(variables).settings;
  check('are one unless set, auto, or a number within bounds', () => {
    assert.is(settingsWith({}).GATEWAY_WORKERS, 1);
    assert.is(settingsWith({ GATEWAY_WORKERS: ' auto ' }).GATEWAY_WORKERS, 'auto');
    assert.is(settingsWith({ GATEWAY_WORKERS: '64' }).GATEWAY_WORKERS, 64);
    for (const wrong of ['0', '65', '-1', '1.5', 'all', 'AUTO'])
      assert.equal(problemsOf({ ...BASE, GATEWAY_WORKERS: wrong }), [
        'GATEWAY_WORKERS: expected auto, or a whole number from 1 to 64',
      ]);
  });
  check('are no more than the calls that they share', () => {
    const [problem = ''] = problemsOf({ ...BASE, GATEWAY_WORKERS: '3', MAX_CONCURRENCY: '2' });
    assert.match(problem, /^GATEWAY_WORKERS: expected no more than MAX_CONCURRENCY/);
    assert.is(workersFor(settingsWith({ GATEWAY_WORKERS: 'auto', MAX_CONCURRENCY: '2' }), 8), 2);
    assert.is(workersFor(settingsWith({ GATEWAY_WORKERS: 'auto' }), 96), 64);
    assert.is(workersFor(settingsWith({ GATEWAY_WORKERS: '3' }), 1), 3);
  });
  check('share the calls and the bytes, to the last one', () => {
    const settings = settingsWith({ MAX_CONCURRENCY: '8', MAX_BODY_BYTES_IN_FLIGHT: '10000' });
    const parts = [1, 2, 3].map((number) => settingsOfWorker(settings, { number, of: 3 }));
    assert.equal(
      parts.map(({ MAX_CONCURRENCY }) => MAX_CONCURRENCY),
      [3, 3, 2],
    );
    assert.equal(
      parts.map(({ MAX_BODY_BYTES_IN_FLIGHT }) => MAX_BODY_BYTES_IN_FLIGHT),
      [3333, 3333, 3333],
    );
    assert.is(settingsOfWorker(settingsWith({}), { number: 1, of: 2 }).MAX_BODY_BYTES_IN_FLIGHT, undefined);
  });
});
