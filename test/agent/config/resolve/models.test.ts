import * as assert from 'uvu/assert';
import { type ModelConfig, modelConfigFor } from '../../../../src/agent/config/types.ts';
import { describe } from '../../../check.ts';
import { configOf, type Json, LEAST } from '../world.ts';

const smallOf = (more: Json, options: Json = {}): ModelConfig | undefined =>
  modelConfigFor(
    configOf({
      provider: { home: { options: { ...LEAST.provider.home.options, ...options }, models: { small: more } } },
    }),
    { providerID: 'home', modelID: 'small' },
  );

const variantsOf = (more: Json) => Object.fromEntries(smallOf(more)?.variants ?? []);

describe('a model', (check) => {
  check('needs no more than its key', () => {
    assert.equal(smallOf({}), {
      providerID: 'home',
      modelID: 'small',
      upstreamID: 'small',
      name: 'small',
      limit: { context: 0, input: undefined, output: 0 },
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      reasoning: false,
      takesTemperature: true,
      takesTools: true,
      takesAttachments: false,
      input: ['text'],
      output: ['text'],
      options: {},
      variants: new Map(),
      headers: {},
    });
  });

  check('has everything that is configured for it', () => {
    const outputText = smallOf(
      {
        id: 'vendor/small:1',
        name: 'Small',
        limit: { context: 1000, input: 900, output: 100 },
        cost: { input: 1, output: 2.5, cache_read: 0.1, cache_write: 0.2 },
        reasoning: 'split',
        temperature: true,
        tool_call: false,
        attachment: true,
        modalities: { input: ['text', 'image'], output: ['text', 'audio'] },
        options: { store: false },
        variants: { quick: { a: 1 } },
        headers: { 'x-b': 'model' },
      },
      { headers: { 'x-a': 'provider', 'x-b': 'provider' } },
    );
    assert.equal(outputText, {
      providerID: 'home',
      modelID: 'small',
      upstreamID: 'vendor/small:1',
      name: 'Small',
      limit: { context: 1000, input: 900, output: 100 },
      cost: { input: 1, output: 2.5, cacheRead: 0.1, cacheWrite: 0.2 },
      reasoning: 'split',
      takesTemperature: true,
      takesTools: false,
      takesAttachments: true,
      input: ['text', 'image'],
      output: ['text', 'audio'],
      options: { store: false },
      variants: new Map([['quick', { a: 1 }]]),
      headers: { 'x-a': 'provider', 'x-b': 'model' },
    });
  });

  check('takes an empty variant for the reasoning effort of its name', () => {
    assert.equal(variantsOf({ variants: { low: {}, xhigh: {}, odd: { top_k: 1 } } }), {
      low: { reasoningEffort: 'low' },
      xhigh: { reasoningEffort: 'xhigh' },
      odd: { top_k: 1 },
    });
  });

  check('that reasons has three efforts, unless its variants are written', () => {
    const three = {
      low: { reasoningEffort: 'low' },
      medium: { reasoningEffort: 'medium' },
      high: { reasoningEffort: 'high' },
    };
    assert.equal(variantsOf({ reasoning: true }), three);
    assert.equal(variantsOf({ reasoning: 'split' }), three);
    assert.equal(variantsOf({ reasoning: false }), {});
    assert.equal(variantsOf({ reasoning: true, variants: {} }), {});
    assert.equal(variantsOf({ reasoning: true, variants: { high: {}, low: { disabled: true } } }), {
      high: three.high,
    });
  });

  check('may have slashes in its key', () => {
    const config = configOf({
      provider: { hub: { ...LEAST.provider.home, models: { 'vendor/small': {}, 'vendor/large': {} } } },
      model: 'hub/vendor/large',
      agent: { a: { model: 'hub/vendor/small' } },
    });
    assert.equal(config.defaultModel, { providerID: 'hub', modelID: 'vendor/large' });
    assert.is(modelConfigFor(config, config.defaultModel)?.modelID, 'vendor/large');
    assert.equal(config.agents.get('a')?.model, { providerID: 'hub', modelID: 'vendor/small' });
  });

  check('that is gone is nothing', () => {
    const config = configOf({});
    for (const ref of [
      { providerID: 'home', modelID: 'x' },
      { providerID: 'x', modelID: 'small' },
      { providerID: '__proto__', modelID: 'toString' },
    ])
      assert.is(modelConfigFor(config, ref), undefined);
  });

  check('is the default when it is the only one', () => {
    assert.equal(configOf({}).defaultModel, { providerID: 'home', modelID: 'small' });
    assert.is(configOf({}).smallModel, undefined);
    assert.equal(configOf({ small_model: 'home/small' }).smallModel, { providerID: 'home', modelID: 'small' });
  });
});

describe('a provider', (check) => {
  check('is used with its own adapter, the one it names, or the one for all', () => {
    const models = { m: {} };
    const options = { baseURL: 'http://127.0.0.1:1', apiKey: 'k' };
    const { providers } = configOf({
      model: 'openai/m',
      provider: {
        openai: { options, models },
        anthropic: { options, models },
        other: { options, models },
        named: { npm: '@ai-sdk/anthropic', options, models },
        // An adapter with an address of its own needs only a key.
        official: { npm: '@ai-sdk/openai', options: { apiKey: 'k' }, models },
      },
    });
    assert.equal(
      [...providers.values()].map(({ id, npm, baseURL }) => [id, npm, baseURL]),
      [
        ['openai', '@ai-sdk/openai', options.baseURL],
        ['anthropic', '@ai-sdk/anthropic', options.baseURL],
        ['other', '@ai-sdk/openai-compatible', options.baseURL],
        ['named', '@ai-sdk/anthropic', options.baseURL],
        ['official', '@ai-sdk/openai', undefined],
      ],
    );
  });

  check('has its time limits, or none where it says so', () => {
    const limitsOf = (more: Json) => {
      const home = configOf({
        provider: { home: { ...LEAST.provider.home, options: { ...LEAST.provider.home.options, ...more } } },
      }).providers.get('home');
      return home?.limits;
    };
    assert.equal(limitsOf({}), { headerMs: 300_000, gapMs: 300_000, wholeMs: 0 });
    const given = { timeout: 1, headerTimeout: 2, chunkTimeout: 3 };
    assert.equal(limitsOf(given), { headerMs: 2, gapMs: 3, wholeMs: 1 });
    const none = { timeout: false, headerTimeout: false, chunkTimeout: false };
    assert.equal(limitsOf(none), { headerMs: 0, gapMs: 0, wholeMs: 0 });
  });

  check('may have its address under api', () => {
    const { providers } = configOf({ provider: { home: { api: 'https://home.test/v1', models: { small: {} } } } });
    assert.is(providers.get('home')?.baseURL, 'https://home.test/v1');
  });
});
