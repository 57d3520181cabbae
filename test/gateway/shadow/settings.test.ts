import * as assert from 'uvu/assert';
import { ConfigError } from '../../../src/core/config.ts';
import { parseModelAliases } from '../../../src/gateway/models.ts';
import { withoutPolicyFile } from '../../../src/gateway/policy/select-policy.ts';
import { parseShadow } from '../../../src/gateway/policy/shadow-settings.ts';
import { describe } from '../../check.ts';
import { selectionOf } from '../harness/policies.ts';
import { gatewayOver, judging } from '../harness/world.ts';

const MODELS = parseModelAliases(undefined);
const parse = (text: string | undefined) => parseShadow(text, MODELS);
const problemsOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.join('\n');
    throw error;
  }
  return '';
};

const WRONG: Readonly<Record<string, readonly [text: string, problem: RegExp]>> = {
  'no JSON': ['{share}', /^MODERATION_SHADOW: expected a JSON object such as /],
  'a name twice': [
    '{"alias":"moderation-accurate","share":0,"share":1}',
    /at line 1, column 42 it needs a name that its object does not have yet$/,
  ],
  'an array': ['[]', /expected a JSON object such as/],
  'nothing to differ in': ['{"share":0.1}', /expected "alias", "policy" or both/],
  'no share': ['{"alias":"moderation-fast"}', /share: expected/],
  'a share over 1': ['{"alias":"moderation-fast","share":5}', /share: expected a number from 0 to 1/],
  'a share in words': ['{"alias":"moderation-fast","share":"all"}', /share: expected a number from 0 to 1/],
  'an alias that is not there': [
    '{"alias":"moderation-fats","share":1}',
    /alias: alias "moderation-fats" is not configured/,
  ],
  'no calls': ['{"alias":"moderation-fast","share":1,"calls":0}', /calls: expected a whole number from 1 to 64/],
  'a file of no size': [
    '{"alias":"moderation-fast","share":1,"file":"a","file_bytes":10}',
    /file_bytes: expected a whole/,
  ],
  'texts without a file': ['{"alias":"moderation-fast","share":1,"texts":true}', /texts: expected "file" beside it/],
  'a mistyped name': [
    '{"alias":"moderation-fast","share":1,"flie":"a"}',
    /unknown name "flie", the nearest known one is "file"/,
  ],
};

describe('the settings of the shadow', (check) => {
  check('are none unless something is said', () => {
    assert.equal([parse(undefined), parse(' ')], [undefined, undefined]);
  });
  check('are an alias or a policy, and a share', () => {
    assert.equal(parse('{"alias":"moderation-accurate","share":0.05}'), {
      share: 0.05,
      alias: MODELS.get('moderation-accurate'),
      policy: undefined,
      calls: 1,
      file: undefined,
    });
    assert.equal(parse('{"policy":"strict","share":1,"calls":4,"file":"/tmp/a","texts":true}')?.file, {
      path: '/tmp/a',
      limitBytes: 10_000_000,
      hasTexts: true,
    });
  });
  for (const [name, [text, pattern]] of Object.entries(WRONG))
    check(`are refused for ${name}`, () => {
      const problems = problemsOf(() => parse(text));
      assert.match(problems, pattern);
      assert.is(problems.split('\n').length, 1, problems);
    });
  check('are refused for a policy that is not there', () => {
    assert.match(
      problemsOf(() => withoutPolicyFile('strict')),
      'MODERATION_SHADOW: policy: expected the name of a policy: standard, coding-agent',
    );
    assert.is(withoutPolicyFile('coding-agent').shadow?.version.startsWith('coding-agent/'), true);
    assert.is(withoutPolicyFile(undefined).shadow, undefined);
  });
  check('are a reason for a policy by which no request is judged', () => {
    const file = { version: 'v', policies: { next: { categories: { hate: { threshold: 0.9 } } } } };
    assert.match(
      problemsOf(() => selectionOf(file)),
      'policies.next: no request is judged by it',
    );
    assert.is(selectionOf(file, 'next').shadow?.version, 'next/v');
    assert.match(
      problemsOf(() => selectionOf(file, 'other')),
      'policy: expected the name of a policy',
    );
  });
  check('are refused for an alias that does not cover the policies', () => {
    const variables = {
      MODERATION_MODELS: '{"guard":{"model":"g","judge":"llama-guard","second":"moderation-fast"},"g":"g"}',
      MODERATION_SHADOW: '{"alias":"guard","share":1}',
    };
    gatewayOver(judging(), { variables });
    const alone = '{"guard":{"model":"g","judge":"llama-guard"}}';
    const problems = problemsOf(() =>
      gatewayOver(judging(), { variables: { ...variables, MODERATION_MODELS: alone } }),
    );
    assert.match(problems, 'MODERATION_SHADOW: alias: guard: not covered by its judge (llama-guard): ');
    assert.match(problems, 'jailbreak');
  });
});
