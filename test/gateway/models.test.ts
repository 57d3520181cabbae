import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { ConfigError } from '../../src/core/config.ts';
import { JUDGE_KINDS, judgesOf, parseModelAliases } from '../../src/gateway/models.ts';
import { describe } from '../check.ts';

const problemsOf = (text: string): readonly string[] => {
  try {
    parseModelAliases(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe('aliases', (check) => {
  check('are seven unless something else is said', () => {
    assert.equal(
      [...parseModelAliases(undefined).values()],
      [
        { alias: 'moderation-fast', model: 'gpt-oss:20b', judge: 'prompt', vision: false, think: 'low' },
        { alias: 'moderation-standard', model: 'gemma4:31b', judge: 'prompt', vision: false },
        { alias: 'moderation-accurate', model: 'gpt-oss:120b', judge: 'prompt', vision: false, think: 'low' },
        { alias: 'omni-moderation-latest', model: 'gpt-oss:20b', judge: 'prompt', vision: false, think: 'low' },
        { alias: 'qwen3guard', model: 'gpt-oss:20b', judge: 'prompt', vision: false, think: 'low', guard: 'text' },
        {
          alias: 'sileader/qwen3guard:0.6b',
          model: 'gpt-oss:20b',
          judge: 'prompt',
          vision: false,
          think: 'low',
          guard: 'text',
        },
        { alias: 'guard-json', model: 'gpt-oss:20b', judge: 'prompt', vision: false, think: 'low', guard: 'json' },
      ],
    );
  });
  check('are merged over those, by bare name or by object', () => {
    const models = parseModelAliases(
      '{"moderation-fast":"qwen3:8b","mine":{"model":"llava","vision":true,"think":false}}',
    );
    assert.equal(models.get('moderation-fast'), {
      alias: 'moderation-fast',
      model: 'qwen3:8b',
      judge: 'prompt',
      vision: false,
    });
    assert.equal(models.get('mine'), { alias: 'mine', model: 'llava', judge: 'prompt', vision: true, think: false });
    assert.is(models.get('moderation-accurate')?.model, 'gpt-oss:120b');
  });
  check('let the default follow moderation-fast, unless it is named itself', () => {
    assert.is(parseModelAliases('{"moderation-fast":"qwen3:8b"}').get('omni-moderation-latest')?.model, 'qwen3:8b');
    const own = parseModelAliases('{"moderation-fast":"qwen3:8b","omni-moderation-latest":"gemma4:31b"}');
    assert.is(own.get('omni-moderation-latest')?.model, 'gemma4:31b');
  });
  check('have a guard face where they say so, and keep it with another model', () => {
    const models = parseModelAliases(
      '{"moderation-fast":"qwen3:8b","qwen3guard":"gemma4:31b","mine":{"model":"m","guard":"json"}}',
    );
    assert.equal(models.get('qwen3guard'), {
      alias: 'qwen3guard',
      model: 'gemma4:31b',
      judge: 'prompt',
      vision: false,
      guard: 'text',
    });
    assert.equal(
      ['guard-json', 'mine', 'moderation-fast'].map((alias) => [models.get(alias)?.model, models.get(alias)?.guard]),
      [
        ['qwen3:8b', 'json'],
        ['m', 'json'],
        ['qwen3:8b', undefined],
      ],
    );
    assert.is(parseModelAliases('{"toString":"m"}').get('toString')!.guard, undefined);
    assert.match(problemsOf('{"a":{"model":"m","guard":"words"}}').join(), /a\.guard: expected "text" or "json"/);
  });
  check('have a second judge where they say so, which may have one of its own', () => {
    const models = parseModelAliases(
      '{"moderation-fast":{"model":"small","second":"b","doubt":{"default":[0.2,0.8]}},"b":{"model":"m","second":"moderation-accurate"}}',
    );
    for (const alias of ['moderation-fast', 'omni-moderation-latest', 'qwen3guard']) {
      const judges = judgesOf(models.get(alias)!);
      assert.equal(
        judges.map(({ model }) => model),
        ['small', 'm', 'gpt-oss:120b'],
      );
      assert.equal([...(judges[0]?.second?.doubt ?? [])], [['default', [0.2, 0.8]]]);
      assert.equal([...(judges[1]?.second?.doubt ?? [])], []);
    }
  });
  for (const name of [
    'gpt-oss',
    'gpt-oss-safeguard:20b',
    'openai/gpt-oss-120b',
    'hf.co/a/GPT_OSS-20b.gguf',
    'gptoss',
  ]) {
    check(`make ${name} think at a low level, and never not at all`, () => {
      assert.is(parseModelAliases(JSON.stringify({ a: name })).get('a')?.think, 'low');
      assert.is(parseModelAliases(JSON.stringify({ a: { model: name, think: 'high' } })).get('a')?.think, 'high');
      for (const think of [false, true]) {
        assert.match(
          problemsOf(JSON.stringify({ a: { model: name, think } })).join(),
          /a\.think: gpt-oss always thinks/,
        );
      }
    });
  }
});

const WRONG: Readonly<Record<string, readonly [text: string, problem: RegExp]>> = {
  'no JSON': ['{a}', /expected a JSON object, whole and without quotes around it: alias to model name/],
  'no JSON, with where': ['{"a":"m",}', /at line 1, column 10 it needs a name in double quotes$/],
  'an alias twice': ['{"a":"m","a":"n"}', /at line 1, column 10 it needs a name that its object does not have yet$/],
  'an array': ['["a"]', /expected a JSON object/],
  'an alias with blanks': ['{"a b":"m"}', /expected aliases of 1 to 100 of/],
  'an empty alias': ['{"":"m"}', /expected aliases of 1 to 100 of/],
  'a model that no header could carry': [
    '{"a":"模型:1"}',
    /a: expected the name of a model|a\.model: expected the name of a model/,
  ],
  'a model with a line break': ['{"a":"bad\\nname"}', /expected the name of a model/],
  'an empty model': ['{"a":" "}', /a\.model: expected the name of a model/],
  'a number as model': ['{"a":5}', /a: expected Object$/],
  'no model': ['{"a":{}}', /a\.model: expected/],
  'a judge of no known kind': [
    '{"a":{"model":"m","judge":"llamaguard"}}',
    /a\.judge: expected one of prompt, qwen3guard, llama-guard, shieldgemma, granite-guardian/,
  ],
  'a guard model that is to think': [
    '{"a":{"model":"m","judge":"granite-guardian","think":false}}',
    /a\.think: expected none: guard models are asked without thinking/,
  ],
  'a guard model that is to see images, and cannot': [
    '{"a":{"model":"m","judge":"qwen3guard","vision":true}}',
    /a\.vision: expected none: of guard models only Llama Guard sees images/,
  ],
  'vision as text': ['{"a":{"model":"m","vision":"yes"}}', /a\.vision: expected true, false or "force"/],
  'another think': ['{"a":{"model":"m","think":"max"}}', /a\.think: expected "low", "medium", "high", true or false/],
  'an empty second judge': ['{"a":{"model":"m","second":""}}', /a\.second: this alias is not configured/],
  'a second judge that no alias has': [
    '{"a":{"model":"m","second":"moderation-acurate"}}',
    /a\.second: alias "moderation-acurate" is not configured; the nearest is "moderation-accurate"/,
  ],
  'a second judge that is no name': ['{"a":{"model":"m","second":{"model":"b"}}}', /a\.second: expected the alias of/],
  'a judge that is its own second one': [
    '{"a":{"model":"m","second":"a"}}',
    /a\.second: a circle: a > a; expected a last/,
  ],
  'judges in a circle, told once': [
    '{"a":{"model":"m","second":"b"},"b":{"model":"m","second":"c"},"c":{"model":"m","second":"a"}}',
    /a\.second: a circle: a > b > c > a;/,
  ],
  'a judge whose second one is in a circle': [
    '{"a":{"model":"m","second":"b"},"b":{"model":"m","second":"b"}}',
    /b\.second: a circle: b > b;/,
  ],
  'doubt with nobody to ask': [
    '{"a":{"model":"m","doubt":{"default":[0.2,0.8]}}}',
    /a\.doubt: expected none without "second"/,
  ],
  'clearing with nobody to ask': [
    '{"a":{"model":"m","clears":["violence"]}}',
    /a\.clears: expected none without "second"/,
  ],
  'clearing one by name': [
    '{"a":{"model":"m","second":"moderation-fast","clears":"violence"}}',
    /a\.clears: expected a list of categories/,
  ],
  'a band upside down': [
    '{"a":{"model":"m","second":"moderation-fast","doubt":{"default":[0.8,0.2]}}}',
    /a\.doubt\.default: expected two numbers from 0 to 1, the smaller one first/,
  ],
  'an empty band': [
    '{"a":{"model":"m","second":"moderation-fast","doubt":{"hate":[0.5,0.5]}}}',
    /a\.doubt\.hate: expected two numbers/,
  ],
  'a band over 1': [
    '{"a":{"model":"m","second":"moderation-fast","doubt":{"hate":[0.5,1.5]}}}',
    /a\.doubt\.hate(\.1)?: expected two numbers/,
  ],
  'a band of one number': [
    '{"a":{"model":"m","second":"moderation-fast","doubt":{"hate":[0.5]}}}',
    /a\.doubt\.hate(\.1)?: expected two numbers/,
  ],
  'a band of words': [
    '{"a":{"model":"m","second":"moderation-fast","doubt":{"hate":"high"}}}',
    /a\.doubt\.hate: expected two numbers/,
  ],
  'a mistyped setting': [
    '{"a":{"model":"m","vison":true}}',
    /a: unknown name "vison", the nearest known one is "vision"/,
  ],
};

describe('the members of an alias', (check) => {
  check('are those that the chart accepts', () => {
    const file = resolve(import.meta.dirname, '../../k8s/gatehouse/values.schema.json');
    const { config } = JSON.parse(readFileSync(file, 'utf8')).properties;
    const [, entry] = config.properties.models.additionalProperties.anyOf;
    const named = [...(/or to \{(.*)\}/.exec(problemsOf('[]').join())?.[1] ?? '').matchAll(/"(\w+)"/g)];
    assert.equal(Object.keys(entry.properties).toSorted(), named.map(([, name]) => name).toSorted());
    assert.equal(entry.properties.judge.enum, JUDGE_KINDS);
  });
});

describe('aliases are refused', (check) => {
  for (const [name, [text, pattern]] of Object.entries(WRONG)) {
    check(`for ${name}`, () => {
      const problems = problemsOf(text);
      assert.is(problems.length, 1);
      assert.match(problems[0] ?? '', pattern);
      assert.match(problems[0] ?? '', /^MODERATION_MODELS: /);
    });
  }
  check('with everything that is wrong with them', () => {
    const text = '{"a":{"model":"m","vison":true},"b":{"model":""},"c":{"model":"gpt-oss","think":false}}';
    assert.is(problemsOf(text).length, 3);
  });
  check('without quoting what was in them', () => {
    const text =
      '{"a":"","b":["canary"],"c":{"model":{"canary":1}},"d":{"model":"m","think":"canary","vision":"canary"}}';
    assert.is(problemsOf(text).length, 5);
    assert.not.match(problemsOf(text).join('\n'), /canary/);
  });
});
