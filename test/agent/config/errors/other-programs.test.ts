import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { configOf, LEAST } from '../world.ts';
import { options, remote } from './wrong.ts';

const INERT = 'read for compatibility, without effect';

describe('a setting of other programs', (check) => {
  check('is accepted with a warning, whatever stands there', () => {
    const { warnings } = configOf({
      theme: 'dark',
      username: {},
      share: { any: ['thing'] },
      experimental: { continue_loop_on_deny: true },
      compaction: { prune: true },
      provider: {
        home: { ...LEAST.provider.home, env: ['A'], models: { small: { release_date: '2026', status: 'beta' } } },
      },
    });
    assert.equal(warnings.toSorted(), [
      `agent.json: compaction.prune: ${INERT}: outputs of tools stay in the conversation`,
      `agent.json: experimental: ${INERT}: nothing of it is built`,
      `agent.json: provider.home.env: ${INERT}: a key is what options.apiKey says`,
      `agent.json: provider.home.models.small.release_date: ${INERT}: nothing here depends on it`,
      `agent.json: provider.home.models.small.status: ${INERT}: nothing here depends on it`,
      `agent.json: share: ${INERT}: sessions are not shared`,
      `agent.json: theme: ${INERT}: the server has no terminal interface`,
      `agent.json: username: ${INERT}: users have no names here`,
    ]);
  });

  check('is every option of a provider that is not nearly one of ours', () => {
    const given = { setCacheKey: true, organization: 'canary', project: 'x', timeout: 5 };
    assert.equal(configOf(options(given)).warnings, [
      `agent.json: provider.home.options.setCacheKey: ${INERT}: no cache key is made, but requests carry x-session-id`,
      ...['organization', 'project'].map(
        (name) =>
          `agent.json: provider.home.options.${name}: ${INERT}: there is no such option of a provider here; options for a model go under the model`,
      ),
    ]);
  });

  check('is OAuth, unless it is switched off, as it is anyway', () => {
    const line = `agent.json: mcp.tools.oauth: ${INERT}: there is no OAuth here, credentials go under headers`;
    for (const oauth of [true, {}, { clientId: 'canary', clientSecret: 'canary' }]) {
      assert.equal(configOf(remote({ oauth })).warnings, [line]);
    }
    assert.equal(configOf(remote({ oauth: false })).warnings, []);
  });

  check('is not what passes through to an adapter or a backend', () => {
    const { warnings, providers, agents } = configOf({
      provider: {
        home: {
          options: { baseURL: 'http://127.0.0.1:1' },
          models: { small: { options: { store: false, made: { up: 1 } } } },
        },
      },
      agent: { build: { options: { store: false } } },
    });
    assert.equal(warnings, []);
    assert.equal(providers.get('home')?.models.get('small')?.options, { store: false, made: { up: 1 } });
    assert.equal(agents.get('build')?.options, { store: false });
  });
});
