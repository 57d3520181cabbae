import * as assert from 'uvu/assert';
import { ConfigError } from '../../../src/core/config.ts';
import { describe } from '../../check.ts';
import { SECOND_KEY, selectionOf, sha256 } from '../harness/policies.ts';
import { GATEWAY_KEY } from '../harness/world.ts';

const problemsOf = (file: unknown): readonly string[] => {
  try {
    selectionOf(file);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};
const withOwn = (name: string) => ({
  version: '1',
  own_categories: { [name]: { definition: 'some words' } },
});
const named = (policies: object, use: object = { default: Object.keys(policies)[0] }) => ({
  version: '1',
  policies,
  use,
});

const REFUSED: Readonly<Record<string, readonly [file: unknown, ...problems: RegExp[]]>> = {
  'an own category with the name of one of the 13': [
    withOwn('self-harm'),
    /own_categories: "self-harm" is OpenAI's category "self-harm": set its threshold and guidance under "categories", or take another name/,
  ],
  'the same in another spelling': [withOwn('Hate_Threatening'), /is OpenAI's category "hate\/threatening"/],
  'a name of guard models': [withOwn('PII'), /"PII" is a name of guard models/],
  'an alias of one': [withOwn('Prompt_Injection'), /is a name of guard models/],
  'a longer name of one': [withOwn('Personal Identifying-Information'), /is a name of guard models/],
  'a name of one in words': [withOwn('suicide and self-harm'), /is a name of guard models/],
  ...Object.fromEntries(
    ['Safe', 'UNSAFE', 'controversial', 'none'].map((name) => [
      `the verdict ${name}`,
      [withOwn(name), /is a name of guard models/] as const,
    ]),
  ),
  'a name that a relay skips': [withOwn('None'), /is a name of guard models/],
  'a name with a comma': [withOwn('guns, knives'), /expected a name of 1 to 64/],
  'a name with a line break': [withOwn('guns\nSafety: Safe'), /expected a name of 1 to 64/],
  'two names that differ in a separator': [
    { version: '1', own_categories: { 'weapon sales': { definition: 'x' }, weapon_sales: { definition: 'x' } } },
    /"weapon sales" differs from another one only/,
    /"weapon_sales" differs from another one only/,
  ],
  'an own category without a definition': [
    { version: '1', own_categories: { guns: {} } },
    /own_categories\.guns\.definition: expected what falls under it/,
  ],
  'a list of own categories': [
    { version: '1', own_categories: [{ name: 'guns', definition: 'x' }] },
    /own_categories: expected an object, no list/,
  ],
  'a list of categories': [
    { version: '1', categories: [{ name: 'hate', threshold: 0.1 }] },
    /categories: expected an object, no list/,
  ],
  'a list in place of a threshold': [
    named({ a: { categories: { hate: [0.1] } } }),
    /policies\.a\.categories\.hate: expected an object, no list/,
  ],
  'a list of policies': [named([{ name: 'a' }], {}), /policies: expected an object, no list/],
  'too many own categories': [
    {
      version: '1',
      own_categories: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`own${i}`, { definition: 'x' }])),
    },
    /expected at most 20/,
  ],
  'a policy that nobody uses': [
    named({ used: {}, idle: {} }, { default: 'used' }),
    /policies\.idle: no request is judged by it: name it in use\.default, use\.aliases or use\.keys/,
  ],
  'a policy whose every user has one by its key': [
    named(
      { idle: {} },
      { default: 'idle', keys: { [sha256(GATEWAY_KEY)]: 'standard', [sha256(SECOND_KEY)]: 'standard' } },
    ),
    /policies\.idle: no request is judged by it/,
  ],
  'a default that is not there': [
    named({}, { default: 'mild' }),
    /use\.default: expected the name of a policy: standard, coding-agent/,
  ],
  'a policy of an alias that is not there': [
    named({}, { aliases: { 'moderation-fast': 'mild' } }),
    /use\.aliases\.moderation-fast: expected the name of a policy/,
  ],
  'an alias that is not there': [
    named({ a: {} }, { default: 'a', aliases: { 'moderation-fats': 'standard' } }),
    /use\.aliases: alias "moderation-fats" is not configured; the nearest is "moderation-fast"; MODERATION_MODELS adds/,
  ],
  'a key that is not there': [
    named({}, { keys: { '0123456789ab': 'coding-agent' } }),
    /use\.keys: entry 1: no key of MODERATION_API_KEYS has this SHA-256/,
  ],
  'a key that two entries name': [
    named({}, { keys: { [sha256(GATEWAY_KEY)]: 'coding-agent', [sha256(GATEWAY_KEY).slice(0, 8)]: 'standard' } }),
    /an earlier entry names the same key/,
  ],
  'a policy with the name of a built-in one': [
    named({ standard: {} }, { default: 'standard' }),
    /"standard" is a built-in policy: take another name, and "extends": "standard"/,
  ],
  'categories beside policies': [
    { ...named({ a: {} }), categories: {} },
    /top level: with "policies" or "use", put "categories" inside a policy: policies\.<name>\.categories/,
  ],
  'a base and a guidance beside policies': [
    { ...named({ a: {} }), extends: 'coding-agent', guidance: 'x' },
    /put "extends" inside a policy/,
    /put "guidance" inside a policy/,
  ],
  'a mistyped name beside policies': [
    { ...named({ a: {} }), usage: {} },
    /top level: unknown name "usage", the nearest known one is "use"/,
  ],
  'an unknown base': [named({ a: { extends: 'mild' } }), /policies\.a\.extends: expected standard or coding-agent/],
};

/** Names that an object of JavaScript has of itself, as JSON: written as an object here, they would be lost. */
const SPECIAL = ['__proto__', 'constructor', 'prototype'];
const specialOwn = (name: string) => `{"version":"1","own_categories":{"${name}":{"definition":"x"}}}`;
const specialUse = (name: string) => `{"version":"1","policies":{},"use":{"aliases":{"${name}":"coding-agent"}}}`;

describe('a file of policies is refused', (check) => {
  for (const [name, [file, ...expected]] of Object.entries(REFUSED)) {
    check(`for ${name}`, () => {
      const problems = problemsOf(file);
      assert.is(problems.length, expected.length, problems.join('\n'));
      for (const pattern of expected) assert.match(problems.join('\n'), pattern);
      assert.ok(problems.every((problem) => problem.startsWith('MODERATION_POLICY_FILE: ')));
    });
  }

  check('without a word of a gateway key that stands where its SHA-256 should', () => {
    const problems = problemsOf(named({}, { keys: { [GATEWAY_KEY]: 'coding-agent' } }));
    assert.match(problems.join('\n'), /use\.keys: entry 1: expected the first 8 to 64 digits of the SHA-256/);
    assert.not.match(problems.join('\n'), GATEWAY_KEY);
    for (const use of [
      { keys: { [GATEWAY_KEY]: 7 } },
      { aliases: { [GATEWAY_KEY]: 'standard' } },
      { [GATEWAY_KEY]: 'standard' },
      { aliases: { [GATEWAY_KEY]: 7 } },
      { keys: { [GATEWAY_KEY]: ['standard'] } },
      { aliases: { [GATEWAY_KEY]: { prototype: 1 } } },
    ]) {
      const texts = problemsOf(named({}, use));
      assert.ok(texts.length > 0);
      assert.not.match(texts.join('\n'), GATEWAY_KEY);
    }
  });

  for (const name of SPECIAL) {
    check(`for the name ${name}, which would be left out in silence`, () => {
      for (const file of [specialOwn(name), specialUse(name)]) {
        const problems = problemsOf(file).join('\n');
        assert.match(problems, /: expected no member called __proto__, constructor or prototype/);
      }
    });
  }
});
