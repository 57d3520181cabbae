import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { readAgentConfig } from '../../../src/agent/config/load.ts';
import { createConfigProviders } from '../../../src/agent/config/views.ts';
import { ConfigRecord, ProvidersRecord, toAgentModels } from '../../../src/bridge/agent/models.ts';

import { describe } from '../../check.ts';

const modelsOf = (providers: unknown, config: unknown = {}) =>
  toAgentModels(v.parse(ProvidersRecord, providers), v.parse(ConfigRecord, config));

/** What OpenCode 1.18 shows of a model, shortened. */
const opencodeModel = (id: string, changes: Readonly<Record<string, unknown>> = {}) => ({
  id,
  providerID: 'bench',
  api: { id, url: '', npm: '@ai-sdk/openai-compatible' },
  name: 'Main',
  family: '',
  capabilities: {
    ...{ temperature: false, reasoning: false, toolcall: true, interleaved: false },
    input: { text: true, audio: false, image: true, video: false, pdf: false },
  },
  cost: { input: 0, output: 0, cache: { read: 0, write: 0 } },
  limit: { context: 100_000, output: 8000 },
  status: 'active',
  options: {},
  headers: {},
  variants: { low: { reasoningEffort: 'low' }, high: { reasoningEffort: 'high' } },
  ...changes,
});
const opencodeProvider = (id: string, models: unknown) => ({
  id,
  name: 'Bench',
  source: 'config',
  env: [],
  options: { apiKey: 'sk-canary' },
  models,
});
const BENCH = opencodeProvider('bench', {
  main: opencodeModel('main'),
  'deep/er': opencodeModel('deep/er', { name: 'Deep', variants: {}, limit: { context: 0, output: 0 } }),
});
const OF_MAIN = { adapter: '@ai-sdk/openai-compatible', media: ['text', 'image'] };
const MAIN = {
  providerID: 'bench',
  modelID: 'main',
  name: 'Main',
  variants: ['low', 'high'],
  contextTokens: 100_000,
  ...OF_MAIN,
};

const OURS = { adapter: '@ai-sdk/openai-compatible', media: ['text'] };
/** An agent that does not say how it asks a model, or what that takes. */
const SILENT = { adapter: undefined, media: [] };

describe('the models of an agent', (check) => {
  check('are read out of what OpenCode shows', () => {
    const reported = modelsOf(
      { providers: [BENCH], default: { bench: 'deep/er' } },
      { model: 'bench/main', small_model: 'bench/deep/er', provider: { bench: {} }, username: 'x' },
    );
    assert.equal(reported, {
      models: [
        MAIN,
        { providerID: 'bench', modelID: 'deep/er', name: 'Deep', variants: [], contextTokens: 0, ...OF_MAIN },
      ],
      defaultModel: 'bench/main',
      smallModel: 'bench/deep/er',
    });
    assert.not.match(JSON.stringify(reported), 'canary');
  });

  check('are read out of what our server shows', () => {
    const content = {
      model: 'cloud/large',
      provider: {
        cloud: {
          options: { baseURL: 'http://model.test/v1', apiKey: 'sk-canary' },
          models: { large: { name: 'Large', limit: { context: 131_072 }, variants: { high: {} } }, 'a/b': {} },
        },
        local: { options: { baseURL: 'http://local.test/v1' }, models: { tiny: { reasoning: true } } },
      },
      small_model: 'local/tiny',
    };
    const config = readAgentConfig({ AGENT_CONFIG_CONTENT: JSON.stringify(content) }, () => undefined);
    const onTheWire: unknown[] = JSON.parse(JSON.stringify([createConfigProviders(config), config.redacted]));
    assert.equal(modelsOf(onTheWire[0], onTheWire[1]), {
      models: [
        { providerID: 'cloud', modelID: 'large', name: 'Large', variants: ['high'], contextTokens: 131_072, ...OURS },
        { providerID: 'cloud', modelID: 'a/b', name: 'a/b', variants: [], contextTokens: 0, ...OURS },
        {
          providerID: 'local',
          modelID: 'tiny',
          name: 'tiny',
          variants: ['low', 'medium', 'high'],
          contextTokens: 0,
          ...OURS,
        },
      ],
      defaultModel: 'cloud/large',
      smallModel: 'local/tiny',
    });
  });

  check('are all that is understood of the list, and the rest is passed over', () => {
    const strange = {
      bare: {},
      odd: { name: 5, limit: { context: -1 }, variants: 'none' },
      none: null,
      text: 'a model',
      list: [],
    };
    const providers = [
      null,
      'a provider',
      { id: 'no-models' },
      { id: 'a/b', models: { c: {} } },
      { id: '', models: { c: {} } },
    ];
    const reported = modelsOf({ providers: [...providers, { id: 'p', models: strange }] });
    assert.equal(
      reported.models.filter(({ modelID }) => modelID !== 'list'),
      ['bare', 'odd'].map((modelID) => ({
        providerID: 'p',
        modelID,
        name: modelID,
        variants: [],
        contextTokens: 0,
        ...SILENT,
      })),
    );
    assert.equal(modelsOf({ providers: [] }), { models: [], defaultModel: undefined, smallModel: undefined });
    for (const wrong of [{}, { providers: {} }, [], null, 'x']) assert.throws(() => modelsOf(wrong));
  });

  check('have no default that is none of them', () => {
    const other = opencodeProvider('other', { one: opencodeModel('one') });
    const providers = { providers: [BENCH, other], default: { bench: 'main', other: 'one' } };
    for (const model of ['[redacted]', 'main', 'bench/gone', '', 5, null]) {
      const { defaultModel, smallModel } = modelsOf(providers, { model, small_model: model });
      assert.equal([defaultModel, smallModel], [undefined, undefined]);
    }
  });

  check("have a single provider's first choice for a default, where none is named", () => {
    const providers = { providers: [BENCH], default: { bench: 'deep/er' } };
    assert.is(modelsOf(providers).defaultModel, 'bench/deep/er');
    assert.is(modelsOf(providers, { model: '[redacted]' }).defaultModel, 'bench/deep/er');
    assert.is(modelsOf({ providers: [BENCH], default: { bench: 'gone' } }).defaultModel, undefined);
    assert.is(modelsOf({ providers: [BENCH] }).defaultModel, undefined);
  });
});
