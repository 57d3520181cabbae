import * as assert from 'uvu/assert';
import { readGatewayConfig } from '../../../src/gateway/settings/config.ts';
import { describe } from '../../check.ts';
import { BASE, problemsOf, read } from './world.ts';

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
        REUSE_PORT: 'false',
        MODERATION_API_KEY: [],
        MODERATION_API_KEYS: [],
        BACKEND_API_KEYS: [],
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
    assert.is(read({ BACKEND_DIALECT: 'openai' }).backend?.dialect, 'openai');
  });
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
