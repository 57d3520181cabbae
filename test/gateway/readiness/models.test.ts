import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { ABLE_MODEL, received } from '../harness/world.ts';
import { ALL, readyOver, tags } from './world.ts';

describe('readiness', (check) => {
  check('knows the cloud names of a local daemon', async () => {
    assert.is((await readyOver(() => tags(ALL.map((name) => `${name}-cloud`))).ready()).status, 'ready');
  });

  check('names the aliases whose model is missing', async () => {
    const answer = await readyOver(() => tags(['gpt-oss:20b'])).ready();
    assert.equal(answer.missing_models_for, ['moderation-standard', 'moderation-accurate']);
    assert.is(answer.status, 'ready');
  });

  check('names the models that none of them is, and their aliases', async () => {
    const answer = await readyOver(() => tags([])).ready();
    assert.match(answer.reasons?.[0] ?? '', 'gpt-oss:20b, gemma4:31b, gpt-oss:120b');
    assert.is(answer.missing_models_for?.length, 7);
  });

  const IMPORTED = { capabilities: ['completion'], template: '{{ .Prompt }}' };

  const toldBy = (show: (model: string) => object, MODERATION_MODELS = '{}') =>
    readyOver(() => tags(ALL), {
      show: ({ body = '' }) => received(200, JSON.stringify(show((JSON.parse(body) as { model: string }).model))),
      variables: { MODERATION_MODELS },
    });

  check('is refused when no model has a place for the policy, and each alias says why', async () => {
    const { ready, logged } = toldBy(() => ({ ...IMPORTED, capabilities: ['thinking'] }));
    const { status, reasons, warnings } = await ready();
    assert.equal([status, reasons], ['not ready', ['no alias can be judged for by its model']]);
    assert.is(warnings?.length, 7);
    assert.match(warnings?.[0] ?? '', /^moderation-fast: its chat template drops the system message/);
    assert.match(logged.join(), /"not-ready".*drops the system message/);
  });

  check('is refused when the only model with a place for its instructions has a second one without', async () => {
    const guarded = JSON.stringify({
      mine: { model: 'gemma4:31b', judge: 'qwen3guard', second: 'moderation-accurate' },
    });
    const { status, reasons } = await toldBy(() => ({ ...IMPORTED, capabilities: ['thinking'] }), guarded).ready();
    assert.equal([status, reasons], ['not ready', ['no alias can be judged for by its model']]);
  });

  check('is given with a warning while one alias has another model', async () => {
    const { ready, logged } = toldBy((model) => (model === 'gemma4:31b' ? IMPORTED : ABLE_MODEL));
    const { status, warnings } = await ready();
    assert.is(status, 'ready');
    assert.is(warnings?.length, 1);
    assert.match(warnings?.[0] ?? '', /^moderation-standard: its chat template drops/);
    assert.match(logged.join(), /"warn".*"ready".*moderation-standard: its chat template/);
  });

  check('warns of an alias that thinks, with a model that does not', async () => {
    const { ready } = toldBy(() => ({ ...ABLE_MODEL, capabilities: ['completion'] }));
    const { status, warnings = [] } = await ready();
    assert.is(status, 'ready');
    assert.equal(
      warnings.map((warning) => warning.split(':')[0]),
      [
        ...['moderation-fast', 'moderation-accurate', 'omni-moderation-latest', 'qwen3guard', 'sileader/qwen3guard'],
        'guard-json',
      ],
    );
    assert.ok(warnings.every((warning) => warning.includes('"think"')));
  });

  check('warns of an alias for images whose model sees none, or may see none, unless it is forced', async () => {
    const models = (vision: unknown) => JSON.stringify({ mine: { model: 'gemma4:31b', vision } });
    const blind = { ...ABLE_MODEL, capabilities: ['thinking'] };
    assert.match((await toldBy(() => blind, models(true)).ready()).warnings?.join() ?? '', /^mine: .* sees no images/);
    const unknown = await toldBy(() => ({}), models(true)).ready();
    assert.match(unknown.warnings?.join() ?? '', /^mine: .*"vision": "force"/);
    for (const show of [blind, {}]) assert.is((await toldBy(() => show, models('force')).ready()).warnings, undefined);
  });

  check('warns of an alias whose model has the name of another kind of judge, and of no other', async () => {
    const kinds = {
      'llama-guard3:8b': 'qwen3guard',
      'meta-llama/Llama-Guard-4-12B': 'prompt',
      'ibm/granite3.3-guardian:8b': 'llama-guard',
      'gpt-oss-safeguard:20b': 'shieldgemma',
      'shieldgemma:2b': 'shieldgemma',
      'Qwen/Qwen3Guard-Gen-4B': 'qwen3guard',
      'gemma4:31b': 'granite-guardian',
    };
    const entries = Object.entries(kinds).map(([model, judge], index) => {
      const second = judge === 'prompt' ? {} : { second: 'moderation-fast' };
      return [`kind-${index}`, { model, judge, ...second }];
    });
    const { ready, logged } = readyOver(() => tags([...ALL, ...Object.keys(kinds)]), {
      variables: { MODERATION_MODELS: JSON.stringify(Object.fromEntries(entries)) },
    });
    const { status, warnings = [] } = await ready();
    assert.is(status, 'ready');
    assert.equal(
      warnings.map((warning) => warning.slice(0, warning.indexOf(','))),
      ['llama-guard', 'llama-guard', 'granite-guardian', 'prompt'].map(
        (judge, index) => `kind-${index}: by its name the model is for "judge": "${judge}"`,
      ),
    );
    assert.match(logged.join(), /"warn".*"ready".*kind-0: by its name .*qwen3guard/);
  });

  check('does not depend on a server that tells nothing about its models', async () => {
    for (const show of [() => received(404, ''), () => received(500, ''), () => received(200, 'no JSON')]) {
      assert.equal(await readyOver(() => tags(ALL), { show }).ready(), { status: 'ready' });
    }
  });
});
