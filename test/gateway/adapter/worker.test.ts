import * as assert from 'uvu/assert';
import { ConfigError } from '../../../src/core/config.ts';
import { createWorkerModule } from '../../../src/gateway/adapter/worker.ts';
import { describe, rejection } from '../../check.ts';

const nothingUnknown = () => new Map<string, string>();
const asking = () => new Request('http://gateway.test/');

describe('a Worker module', (check) => {
  check('builds its handler once, from the texts among its bindings', async () => {
    const seen: unknown[] = [];
    const { fetch } = createWorkerModule(async ({ MODERATION_API_KEYS, ASSETS }) => {
      seen.push([MODERATION_API_KEYS, ASSETS]);
      return async () => new Response('fine');
    }, nothingUnknown);
    const bindings = { MODERATION_API_KEYS: 'k', ASSETS: {} } as unknown as Record<string, string>;
    for (let index = 0; index < 3; index++) assert.is(await (await fetch(asking(), bindings)).text(), 'fine');
    assert.equal(seen, [['k', undefined]]);
  });

  check('builds anew after a build that failed: what was missing may be there by now', async () => {
    const failures: Error[] = [new ConfigError(['BACKEND_BASE_URL: expected a backend']), new Error('bug')];
    const { fetch } = createWorkerModule(async () => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return async () => new Response('fine');
    }, nothingUnknown);
    const refused = await fetch(asking());
    assert.is(refused.status, 500);
    assert.match(await refused.text(), 'BACKEND_BASE_URL');
    assert.instance(await rejection(fetch(asking())), Error);
    assert.is((await fetch(asking())).status, 200);
  });

  check('that is not configured names the variables without effect as well', async () => {
    const { fetch } = createWorkerModule(
      async () => {
        throw new ConfigError(['MODERATION_API_KEYS: expected at least one gateway key']);
      },
      ({ MODERATION_APIKEYS }) =>
        new Map(MODERATION_APIKEYS === undefined ? [] : [['MODERATION_APIKEYS', 'MODERATION_API_KEYS']]),
    );
    assert.match(
      await (await fetch(asking(), { MODERATION_APIKEYS: 'canary' })).text(),
      'not configured: MODERATION_API_KEYS, MODERATION_APIKEYS"',
    );
  });
});
