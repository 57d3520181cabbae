import * as assert from 'uvu/assert';
import { createModelCatalog, modelNameOf } from '../../../src/bridge/agent/models.ts';
import type { AgentClient, AgentModels } from '../../../src/bridge/agent/types.ts';
import { bridgeErrorResponse } from '../../../src/bridge/errors.ts';
import { createModelsRoutes } from '../../../src/bridge/http/models.ts';
import { Fault } from '../../../src/core/fault.ts';
import { createRoutes } from '../../../src/core/http/router.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createFakeClient, UNREACHED } from '../harness/fake-client.ts';

const model = (providerID: string, modelID: string, contextTokens = 0) => ({
  ...{ providerID, modelID, contextTokens, name: modelID.toUpperCase() },
  variants: [],
  adapter: undefined,
  media: [],
});
const MODELS: AgentModels = {
  models: [model('acme', 'small'), model('acme', 'large', 1000), model('other', 'small'), model('router', 'x/large')],
  defaultModel: 'acme/large',
  smallModel: 'other/small',
};

const catalogOf = (defaultModel?: string, changes: Partial<AgentModels> = {}) => {
  const clock = createFakeClock();
  const fake = createFakeClient();
  fake.state.models = { ...MODELS, ...changes };
  const catalog = createModelCatalog(fake.agent, clock, defaultModel);
  const found = async (name?: string): Promise<string> => {
    try {
      return modelNameOf(await catalog.find(name));
    } catch (error) {
      const { detail } = error as Fault;
      return detail.kind === 'model-not-found' ? `none of ${detail.valid.join(' ')}` : detail.kind;
    }
  };
  return { clock, fake, catalog, found, names: async () => (await catalog.list()).map(modelNameOf).join(' ') };
};

describe('the models', (check) => {
  check('are listed with the default first', async () => {
    assert.is(await catalogOf().names(), 'acme/large acme/small other/small router/x/large');
    assert.is(await catalogOf('other/small').names(), 'other/small acme/small acme/large router/x/large');
    const order = 'acme/small acme/large other/small router/x/large';
    assert.is(await catalogOf(undefined, { defaultModel: undefined }).names(), order);
    assert.is(await catalogOf('acme/unknown').names(), order);
  });

  check('are found by their names, and by a key that only one provider has', async () => {
    const { found } = catalogOf();
    assert.is(await found('acme/small'), 'acme/small');
    assert.is(await found('large'), 'acme/large');
    assert.is(await found('x/large'), 'router/x/large');
    assert.is(await found('router/x/large'), 'router/x/large');
    for (const name of ['small', 'unknown', 'acme', 'acme/', 'ACME/small', ''])
      assert.is(await found(name), 'none of acme/small acme/large other/small router/x/large', name);
  });

  check('have a default for who names none', async () => {
    assert.is(await catalogOf().found(), 'acme/large');
    assert.is(await catalogOf('other/small').found(), 'other/small');
    assert.is(await catalogOf('x/large').found(), 'router/x/large');
    assert.is(await catalogOf(undefined, { defaultModel: 'gone/model' }).found(), 'acme/small');
    assert.match(await catalogOf('acme/unknown').found(), /^none of/);
    assert.is(await catalogOf(undefined, { models: [], defaultModel: undefined }).found(), 'none of ');
  });

  check('have a small one for small work, or none', async () => {
    const otherwise = model('a', 'b');
    assert.is(modelNameOf(await catalogOf().catalog.findSmall(otherwise)), 'other/small');
    for (const smallModel of [undefined, 'gone/model'])
      assert.is(modelNameOf(await catalogOf(undefined, { smallModel }).catalog.findSmall(otherwise)), 'a/b');
  });

  check('are asked for once in half a minute, however many want to know', async () => {
    const { clock, fake, found, catalog } = catalogOf();
    await Promise.all([found(), found('large'), catalog.list()]);
    await clock.advance(29_999);
    await found();
    assert.is(fake.calls('models'), 1);
    await clock.advance(1);
    await found();
    assert.is(fake.calls('models'), 2);
  });

  check('are asked for again after a failure, which all learn of who wait', async () => {
    const { fake, found } = catalogOf();
    fake.failNext('models', UNREACHED);
    assert.equal(await Promise.all([found(), found('large')]), ['backend-error', 'backend-error']);
    assert.is(await found(), 'acme/large');
    assert.is(fake.calls('models'), 2);
  });

  check('are not forgotten because an older question fails late', async () => {
    const clock = createFakeClock();
    const answers: PromiseWithResolvers<AgentModels>[] = [];
    const models: AgentClient['models'] = () => {
      const answer = Promise.withResolvers<AgentModels>();
      answers.push(answer);
      return answer.promise;
    };
    const catalog = createModelCatalog({ ...createFakeClient().agent, models }, clock, undefined);
    const late = rejection(catalog.list());
    await clock.advance(30_000);
    const second = catalog.list();
    answers[1]?.resolve(MODELS);
    await second;
    answers[0]?.reject(new Fault(UNREACHED));
    await late;
    await catalog.list();
    assert.is(answers.length, 2);
  });

  check('are all compared with a name that is not found', async () => {
    const models = [...Array.from({ length: 30 }, (_, index) => model('many', `m${index}`)), model('last', 'large')];
    const { catalog } = catalogOf(undefined, { models });
    const thrown = await rejection(catalog.find('last/larg3'));
    assert.ok(thrown instanceof Fault);
    const text = await bridgeErrorResponse(thrown.detail).text();
    assert.match(text, 'the nearest is \\"last/large\\"');
    assert.ok(text.length <= 512, 'the list of all names is cut');
  });
});

describe('the routes of the models', (check) => {
  const routesOf = (enter: () => string = () => 'me') => {
    const { handler } = createRoutes(createModelsRoutes(catalogOf().catalog, enter), () => 'No such path');
    return async (path: string) => handler(new Request(`http://bridge.test${path}`));
  };

  check('list them as the official API does', async () => {
    const response = await routesOf()('/v1/models');
    const { object, data } = (await response.json()) as { object: string; data: object[] };
    assert.equal([object, data.length], ['list', 4]);
    const shown = { id: 'acme/large', object: 'model', created: 1_767_225_600, owned_by: 'acme', name: 'LARGE' };
    assert.equal(data[0], { ...shown, context_length: 1000 });
    assert.not.ok('context_length' in (data[1] ?? {}));
  });

  check('show one of them, with its slash as it is or escaped', async () => {
    for (const id of ['acme/large', 'acme%2Flarge', 'large', 'router/x/large', 'router%2Fx%2Flarge']) {
      const response = await routesOf()(`/v1/models/${id}`);
      assert.match(((await response.json()) as { id: string }).id, /large$/);
    }
    const thrown = (await rejection(routesOf()('/v1/models/none'))) as Fault;
    assert.is(thrown.detail.kind, 'model-not-found');
  });

  check('are for those alone who may come in', async () => {
    const refused = new Fault({ kind: 'unauthorized' });
    const route = routesOf(() => {
      throw refused;
    });
    for (const path of ['/v1/models', '/v1/models/acme/large']) assert.is(await rejection(route(path)), refused);
  });
});
