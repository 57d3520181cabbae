import * as assert from 'uvu/assert';
import { requireModel } from '../../../src/agent/agents/catalog.ts';
import { createAgentCatalog, TITLE_PROMPT } from '../../../src/agent/agents/from-config.ts';
import type { ResolvedModel } from '../../../src/agent/agents/types.ts';
import type { ModelRef } from '../../../src/agent/protocol/types.ts';
import { Fault } from '../../../src/core/fault.ts';
import { describe } from '../../check.ts';
import { configOf, type Json } from './world.ts';

const LARGE = { providerID: 'home', modelID: 'large' };
const SMALL = { providerID: 'home', modelID: 'small' };
const HOME = {
  model: 'home/large',
  provider: {
    home: {
      options: { baseURL: 'http://127.0.0.1:1/v1' },
      models: {
        large: { variants: { low: {}, high: {} }, options: { store: false } },
        small: { variants: { low: {} } },
        cold: { temperature: false },
      },
    },
  },
};
const agentsOf = (more: Json = {}) => createAgentCatalog(configOf({ ...HOME, ...more }));
const outputText = (resolvedModel: ResolvedModel | undefined) => {
  const { target, ref } = resolvedModel ?? {};
  return { ref, options: target?.options, temperature: target?.temperature, topP: target?.topP };
};

describe('the temperature of an agent', (check) => {
  const agent = { build: { temperature: 0.2, top_p: 0.9 } };

  check('goes to every model but one that says that it takes none', () => {
    const { modelFor } = agentsOf({ agent });
    const asked = ['large', 'cold'].map((modelID) => outputText(modelFor({ providerID: 'home', modelID }, 'build')));
    assert.equal(
      asked.map(({ temperature, topP }) => [temperature, topP]),
      [
        [0.2, 0.9],
        [undefined, 0.9],
      ],
    );
  });
});

describe('the agent that names sessions', (check) => {
  check("is the small model, else the one that answers, with our prompt and no other agent's settings", () => {
    const agent = { build: { temperature: 1, options: { top_k: 1 }, variant: 'high' } };
    const usual = agentsOf({ agent }).titlerFor({ ...LARGE, variant: 'high' });
    assert.is(usual?.prompt, TITLE_PROMPT);
    assert.equal(outputText(usual?.model), {
      ref: LARGE,
      options: { store: false },
      temperature: undefined,
      topP: undefined,
    });
    assert.equal(agentsOf({ agent }).titlerFor(SMALL)?.model.ref, SMALL);
    assert.equal(agentsOf({ small_model: 'home/small' }).titlerFor(LARGE)?.model.ref, SMALL);
  });

  check('is as its agent is configured', () => {
    const title = {
      model: 'home/small',
      variant: 'low',
      temperature: 0,
      top_p: 0.5,
      prompt: 'Name it.',
      options: { top_k: 2 },
    };
    const titler = agentsOf({ small_model: 'home/large', agent: { title } }).titlerFor(LARGE);
    assert.is(titler?.prompt, 'Name it.');
    assert.equal(outputText(titler?.model), {
      ref: { ...SMALL, variant: 'low' },
      options: { reasoningEffort: 'low', top_k: 2 },
      temperature: 0,
      topP: 0.5,
    });
  });

  check('is none where its agent is disabled', () => {
    assert.is(agentsOf({ agent: { title: { disable: true } } }).titlerFor(LARGE), undefined);
  });
});

describe('the agent that summarises a conversation', (check) => {
  const build = { temperature: 1, top_p: 0.1, options: { top_k: 1, seed: 1 } };
  const chosen = { ...LARGE, variant: 'high' };

  check('is the agent at work, with the model and the variant that it works with', () => {
    const { summariserFor, modelFor } = agentsOf({ agent: { build } });
    assert.equal(summariserFor(chosen, 'build'), { prompt: undefined, model: modelFor(chosen, 'build') });
  });

  check('has the manner of the agent at work, and its own over it', () => {
    const compaction = { temperature: 0, variant: 'low', prompt: 'Be short.', options: { top_k: 2 } };
    const summariser = agentsOf({ agent: { build, compaction } }).summariserFor(chosen, 'build');
    assert.is(summariser?.prompt, 'Be short.');
    assert.equal(outputText(summariser?.model), {
      ref: { ...LARGE, variant: 'low' },
      options: { store: false, reasoningEffort: 'low', top_k: 2, seed: 1 },
      temperature: 0,
      topP: 0.1,
    });
  });

  check('has a model of its own, and then its own manner alone', () => {
    const compaction = { model: 'home/small', options: { top_k: 2 } };
    const { summariserFor } = agentsOf({ agent: { build, compaction } });
    assert.equal(outputText(summariserFor(chosen, 'build')?.model), {
      ref: SMALL,
      options: { top_k: 2 },
      temperature: undefined,
      topP: undefined,
    });
  });

  check('is none for a model that is gone', () => {
    assert.is(agentsOf().summariserFor({ providerID: 'home', modelID: 'gone' }, 'build'), undefined);
  });
});

describe('a model that a prompt names', (check) => {
  const errorText = (ref: ModelRef, catalog = agentsOf()): string => {
    try {
      requireModel(catalog, ref);
    } catch (error) {
      if (error instanceof Fault && error.detail.kind === 'bad-input') return error.detail.message;
    }
    return 'taken';
  };

  check('is refused by its variant when only that is wrong, with those that there are', () => {
    assert.is(
      errorText({ ...LARGE, variant: 'hgih' }),
      'variant: home/large has no such variant. Its variants are: low, high',
    );
    assert.match(errorText({ providerID: 'home', modelID: 'cold', variant: 'high' }), /Its variants are: none$/);
    assert.is(errorText({ ...LARGE, variant: 'high' }), 'taken');
  });

  check('is not repeated when it is a secret of the server', () => {
    const config = configOf({
      provider: {
        home: {
          options: { baseURL: 'http://127.0.0.1:1/v1', apiKey: 'key-one', headers: { 'x-team': 'team-two' } },
          models: { small: { headers: { 'x-own': 'own-three' } } },
        },
      },
      mcp: {
        files: { type: 'local', command: ['files'], environment: { FILES_KEY: 'files-four' } },
        web: { type: 'remote', url: 'http://127.0.0.1:1/mcp', headers: { 'x-key': 'web-five' } },
      },
    });
    for (const modelID of ['key-one', 'team-two', 'own-three', 'files-four', 'web-five', 'pass-six']) {
      for (const [catalog, says] of [
        [createAgentCatalog(config, ['pass-six']), 'this model is not configured'],
        [agentsOf(), `model "home/${modelID}" is not configured`],
      ] as const)
        assert.ok(errorText({ providerID: 'home', modelID }, catalog).startsWith(says), modelID);
    }
  });

  check('is refused by its name when that is wrong, with the nearest', () => {
    assert.match(
      errorText({ providerID: 'home', modelID: 'lrage' }),
      /^model "[\w/-]+" is not configured; the nearest is "home\/large"\./,
    );
  });
});
