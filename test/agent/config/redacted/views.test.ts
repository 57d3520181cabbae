import type { Agent, Provider } from '@opencode-ai/sdk/v2';
import * as assert from 'uvu/assert';
import { createAgentList, createConfigProviders, createProviderList } from '../../../../src/agent/config/views.ts';
import { describe } from '../../../check.ts';
import { configOf, LEAST } from '../world.ts';
import { config, writable } from './world.ts';

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
