import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { HttpClientError, type HttpResponse } from '../../src/core/http/client.ts';
import { describe } from '../check.ts';
import { ABLE_MODEL, gatewayOver, received, type WorldSettings } from './harness/world.ts';

const Ready = v.strictObject({
  status: v.picklist(['ready', 'not ready']),
  reasons: v.optional(v.array(v.string())),
  missing_models_for: v.optional(v.array(v.string())),
  warnings: v.optional(v.array(v.string())),
});
const ALL = ['gpt-oss:20b', 'gpt-oss:120b', 'gemma4:31b'];
const tags = (names: readonly string[]) => received(200, JSON.stringify({ models: names.map((name) => ({ name })) }));

/** A gateway whose backend lists models by `listing` and answers every chat by `chat`. */
const readyOver = (
  listing: () => HttpResponse | Promise<HttpResponse>,
  settings: WorldSettings = {},
  chat = received(500, ''),
) => {
  let asked = 0;
  const world = gatewayOver((sent) => {
    if (sent.method === 'POST') return chat;
    asked += 1;
    return listing();
  }, settings);
  const ready = async () => {
    const response = await world.visit('/ready', 'GET', { authorization: '' });
    return v.parse(Ready, await response.json());
  };
  return { ...world, ready, asked: () => asked };
};

describe('health', (check) => {
  check('is reported without a key and without asking the backend', async () => {
    const { visit, calls } = gatewayOver(() => received(500, ''));
    const response = await visit('/health', 'GET', { authorization: '' });
    assert.equal(await response.json(), { status: 'ok', service: 'gateway', version: '0.1.0' });
    assert.is(calls.length, 0);
  });
});

describe('readiness', (check) => {
  check('is given while the backend lists every model', async () => {
    const { ready } = readyOver(() => tags(ALL));
    assert.equal(await ready(), { status: 'ready' });
  });
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
  check('ends while the breaker is open, without asking', async () => {
    const { ready, ask, asked } = readyOver(() => tags(ALL));
    for (let index = 0; index < 5; index++) await ask({ input: 'a' });
    assert.equal(await ready(), { status: 'not ready', reasons: ['the backend failed several times in a row'] });
    assert.is(asked(), 0);
  });
  check('is logged when it changes, and not each time it is asked for', async () => {
    let listed = ['gpt-oss:20b'];
    const { ready, clock, logged } = readyOver(() => tags(listed));
    const reported = () => logged.map((line) => JSON.parse(line)).filter(({ event }) => /ready$/.test(event));
    await ready();
    await ready();
    assert.equal(
      reported().map(({ level, event }) => [level, event]),
      [['warn', 'ready']],
    );
    assert.match(reported()[0].reason, 'no model for moderation-accurate');
    listed = [];
    await clock.advance(5000);
    await ready();
    listed = ALL;
    await clock.advance(5000);
    await ready();
    assert.equal(
      reported().map(({ level, event }) => `${level} ${event}`),
      ['warn ready', 'warn not-ready', 'info ready'],
    );
  });

  const REASONS: Readonly<Record<string, readonly [listing: () => HttpResponse, reason: RegExp]>> = {
    'no model is there': [() => tags(['llama3:8b']), /none of the models that the aliases need: .*MODERATION_MODELS$/],
    'the list is empty': [() => tags([]), /none of the models/],
    'the key is refused by 401': [() => received(401, 'unauthorized'), /refuses its key \(HTTP 401\)/],
    'the key is refused by 403': [() => received(403, ''), /refuses its key \(HTTP 403\)/],
    'the backend is in trouble': [() => received(503, ''), /answers HTTP 503/],
    'a portal answers': [() => received(200, '<html>log in</html>'), /lists no models/],
    'nobody answers': [
      () => {
        throw new HttpClientError('ECONNREFUSED');
      },
      /is not reached \(ECONNREFUSED\)/,
    ],
  };
  for (const [name, [listing, reason]] of Object.entries(REASONS)) {
    check(`is refused with the reason when ${name}`, async () => {
      const { visit } = readyOver(listing);
      const response = await visit('/ready');
      assert.is(response.status, 503);
      const { status, reasons = [] } = v.parse(Ready, await response.json());
      assert.is(status, 'not ready');
      assert.is(reasons.length, 1);
      assert.match(reasons[0] ?? '', reason);
    });
  }
  check('is refused when the backend does not answer within 3 s', async () => {
    const { ready, clock } = readyOver(() => new Promise<never>(() => {}));
    const answer = ready();
    await clock.advance(3000);
    assert.match((await answer).reasons?.[0] ?? '', /does not answer in time/);
    assert.is(clock.pending(), 0);
  });
  check('is refused while every key cools down, without asking', async () => {
    const { ready, ask, clock, asked } = readyOver(() => tags(ALL), {}, received(401, 'unauthorized'));
    await ask({ input: 'a' });
    assert.match(
      (await ready()).reasons?.[0] ?? '',
      /^every backend key is cooling down: the backend has refused it; check BACKEND_API_KEYS/,
    );
    assert.is(asked(), 0);
    await clock.advance(600_000);
    assert.is((await ready()).status, 'ready');
  });
  check('asks with a key that is not cooling down', async () => {
    const keys: string[] = [];
    const { ask, visit } = gatewayOver((sent) => {
      if (sent.method === 'GET') keys.push(sent.headers.authorization ?? '');
      return sent.method === 'GET'
        ? tags(ALL)
        : sent.headers.authorization?.endsWith('1')
          ? received(401, '')
          : received(500, '');
    });
    await ask({ input: 'a' });
    await visit('/ready');
    assert.equal(keys, ['Bearer backend-key-2']);
  });
  check('is refused while the service stops', async () => {
    const { ready, asked } = readyOver(() => tags(ALL), { needs: { isStopping: () => true } });
    assert.match((await ready()).reasons?.[0] ?? '', /is stopping/);
    assert.is(asked(), 0);
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
  check('asks the backend at most once in 5 s', async () => {
    const { ready, clock, asked } = readyOver(() => tags(ALL));
    await Promise.all([ready(), ready(), ready()]);
    await clock.advance(4999);
    await ready();
    assert.is(asked(), 1);
    await clock.advance(1);
    await ready();
    assert.is(asked(), 2);
  });
  check('asks again after a bad answer, as seldom', async () => {
    let isUp = false;
    const { ready, clock, asked } = readyOver(() => (isUp ? tags(ALL) : received(500, '')));
    assert.is((await ready()).status, 'not ready');
    isUp = true;
    assert.is((await ready()).status, 'not ready');
    await clock.advance(5000);
    assert.is((await ready()).status, 'ready');
    assert.is(asked(), 2);
  });
});
