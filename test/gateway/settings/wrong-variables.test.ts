import * as assert from 'uvu/assert';
import { GatewayVariables, unknownGatewayVariables } from '../../../src/gateway/settings/variables.ts';
import { describe } from '../../check.ts';
import { BASE, problemsOf } from './world.ts';

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
  BACKEND_DIALECT: ['vllm', 'Ollama'],
  REUSE_PORT: ['yes', '1', 'TRUE'],
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

describe('a variable that only looks like ours', (check) => {
  check('is reported, with the one that was meant', () => {
    const unknownNames = unknownGatewayVariables({
      BACKEND_API_KEY: 'canary',
      RATE_LIMIT: '5',
      BACKEND_TIMEOUT: '5',
      MODERATION_POLICY_FILES: 'x',
      PATH: '/',
      PORT: '1',
    });
    assert.equal(
      [...unknownNames],
      [
        ['BACKEND_API_KEY', 'BACKEND_API_KEYS'],
        ['RATE_LIMIT', 'RATE_LIMIT_RPM'],
        ['BACKEND_TIMEOUT', 'REQUEST_DEADLINE_MS'],
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
