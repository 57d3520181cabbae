import { createHash } from 'node:crypto';
import * as assert from 'uvu/assert';
import { ConfigError } from '../../../src/core/config.ts';
import { CATEGORY_NAMES, highestScores } from '../../../src/gateway/policy/categories.ts';
import { DEFAULT_POLICY } from '../../../src/gateway/policy/policy.ts';
import { describe } from '../../check.ts';
import { judgedBy, parsePolicy } from '../harness/policies.ts';
import { resultsOf } from '../harness/read-answer.ts';
import { gatewayOver, judging, systemMessageOf } from '../harness/world.ts';

const policyOf = (categories: object, version = 'house-7') => parsePolicy(JSON.stringify({ version, categories }));
const problemsOf = (text: string): readonly string[] => {
  try {
    parsePolicy(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe('a policy file', (check) => {
  check('moves thresholds, and what it does not name stays', async () => {
    const policy = policyOf({ harassment: { threshold: 0.8 }, violence: { threshold: 0.2 } });
    const { ask } = gatewayOver(judging({ HR: 79, VI: 20, HA: 50 }), judgedBy(policy));
    const [result] = await resultsOf(await ask({ input: 'some text' }));
    const { harassment, violence, hate, sexual } = result?.categories ?? {};
    assert.equal([harassment, violence, hate, sexual], [false, true, true, false]);
  });

  check('flags nothing by a score under every threshold', async () => {
    const policy = policyOf(Object.fromEntries(CATEGORY_NAMES.map((name) => [name, { threshold: 1 }])));
    const { ask } = gatewayOver(judging({ HR: 99, SX: 99 }), judgedBy(policy));
    const [result] = await resultsOf(await ask({ input: 'some text' }));
    assert.is(result?.flagged, false);
    assert.is(result?.scores.harassment, 0.99);
  });

  check('flags everything by a threshold of 0', async () => {
    const { ask } = gatewayOver(judging(), judgedBy(policyOf({ hate: { threshold: 0 } })));
    assert.is((await resultsOf(await ask({ input: 'some text' })))[0]?.flagged, true);
  });

  check('adds its guidance to the definition of its category', async () => {
    const policy = policyOf({ illicit: { guidance: 'Fireworks are fine here.' } });
    const { ask, calls } = gatewayOver(judging(), judgedBy(policy));
    await ask({ input: 'some text' });
    const line = systemMessageOf(calls[0]!)
      .split('\n')
      .find((words) => words.startsWith('IL ('));
    assert.match(line ?? '', /^IL \(illicit\): .+ Fireworks are fine here\.$/);
  });

  check('gives its version to the clients', async () => {
    const { ask } = gatewayOver(judging(), judgedBy(policyOf({})));
    assert.is((await ask({ input: 'some text' })).headers.get('x-moderation-policy'), 'house-7');
  });

  check('with nothing but a version is ours under that version', () => {
    assert.equal(parsePolicy('{"version":"x"}'), { ...DEFAULT_POLICY, version: 'x' });
  });

  check('may begin with a byte order mark', () => {
    assert.equal(parsePolicy('\uFEFF{"version":"x"}'), { ...DEFAULT_POLICY, version: 'x' });
  });

  check('may hold guidance alone, and keeps the threshold then', () => {
    assert.is(policyOf({ hate: { guidance: 'a' } }).categories.find(({ name }) => name === 'hate')?.threshold, 0.5);
  });
});

const WRONG: Readonly<Record<string, readonly [text: string, ...problems: RegExp[]]>> = {
  'no JSON': [
    '{',
    /: expected a name in double quotes or a closing brace at line 1, column 2: it is a JSON object with "version", and "categories" or "policies", without comments/,
  ],
  'a trailing comma': ['{\n  "version": "1",\n}', /: expected a name in double quotes at line 3, column 1: /],
  'a comma too many in a list': ['{"version":"1","categories":[1,]}', /: expected a value at line 1, column 32: /],
  'a file that was cut': ['\uFEFF{"version":"1",\r\n"categories":{', /: expected a name .* at line 2, column 15: /],
  'a category that comes twice': [
    '{"version":"1","categories":{\n"hate":{"threshold":0.2},\n"h\\u0061te":{}}}',
    /: expected a name that its object does not have yet at line 3, column 1: /,
  ],
  'a comment': ['// ours\n{"version":"1"}', /: expected a value at line 1, column 1: /],
  'no text': [' \n', /: expected a JSON object with "version", and "categories" or "policies"$/],
  'an array': ['[]', /: expected a JSON object with "version", and "categories" or "policies"$/],
  'no version': ['{}', /version: expected 1 to 64 of A-Z a-z/],
  'an odd version': ['{"version":"a b"}', /version: expected 1 to 64/],
  'a long version': [JSON.stringify({ version: 'v'.repeat(65) }), /version: expected 1 to 64/],
  'a mistyped category': [
    '{"version":"1","categories":{"harasment":{}}}',
    /"harasment".*nearest known one is "harassment"/,
  ],
  'a mistyped setting': [
    '{"version":"1","categories":{"hate":{"treshold":0.4}}}',
    /categories\.hate: unknown name "treshold", the nearest known one is "threshold"/,
  ],
  'a mistyped top level': ['{"version":"1","catgories":{}}', /top level: unknown name "catgories".*"categories"/],
  'a threshold over 1': [
    '{"version":"1","categories":{"hate":{"threshold":50}}}',
    /hate\.threshold: expected a number from 0 to 1/,
  ],
  'a threshold under 0': ['{"version":"1","categories":{"hate":{"threshold":-0.1}}}', /expected a number from 0 to 1/],
  'a threshold as text': ['{"version":"1","categories":{"hate":{"threshold":"0.5"}}}', /expected a number from 0 to 1/],
  'guidance too long': [
    JSON.stringify({ version: '1', categories: { hate: { guidance: 'x'.repeat(501) } } }),
    /hate\.guidance: expected a text of at most 500 characters/,
  ],
  'several things at once': [
    '{"version":"a b","categories":{"hat":{},"sexual":{"threshold":2,"guidence":"x"}}}',
    /"hat".*"hate"/,
    /"guidence".*"guidance"/,
    /version: expected/,
    /sexual\.threshold: expected/,
  ],
};

describe('our policy', (check) => {
  check('has a version that changes with its words', async () => {
    const { ask, calls } = gatewayOver(judging());
    await ask({ input: 'some text' });
    const digest = createHash('sha256').update(systemMessageOf(calls[0]!)).digest('hex').slice(0, 16);
    // Other words? Then raise POLICY_VERSION, and write both down here.
    assert.equal([DEFAULT_POLICY.version, digest], ['2026-11-22', '105e7f8a166c8fa1']);
  });
});

describe('a policy file is refused', (check) => {
  for (const [name, [text, ...expected]] of Object.entries(WRONG)) {
    check(`for ${name}`, () => {
      const problems = problemsOf(text);
      assert.is(problems.length, expected.length, problems.join('\n'));
      for (const pattern of expected)
        assert.ok(
          problems.some((problem) => pattern.test(problem)),
          problems.join('\n'),
        );
      assert.ok(problems.every((problem) => problem.startsWith('MODERATION_POLICY_FILE: ')));
    });
  }
  check('without quoting what was in it', () => {
    for (const text of [
      '{"version":"cana ry","categories":{"hate":{"threshold":"canary","guidance":{"a":"canary"}}}}',
      '{"version":["canary"],"categories":{"hate":"canary","sexual":["canary"]}}',
      '{"version":"1","categories":"canary"}',
      '{"version":"1","categories":["canary"]}',
      '["canary"]',
      '"canary"',
    ]) {
      assert.ok(problemsOf(text).length > 0, text);
      assert.not.match(problemsOf(text).join('\n'), /canary|cana ry/, text);
    }
  });
});

describe('the worst of several verdicts', (check) => {
  check('is none where there is no verdict, and never a clean one', () => {
    assert.throws(() => highestScores([], 13), /at least one verdict/);
    assert.equal(highestScores([[0, 0.4], [0.2]], 2), [0.2, 1]);
  });
});
