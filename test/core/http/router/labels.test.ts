import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { createRoutes } from '../../../../src/core/http/router.ts';
import { describe } from '../../../check.ts';
import { asking, faultOf, handler, raw, routeOf, TABLE } from './world.ts';

describe('the label of a request', (check) => {
  const labels: Readonly<Record<string, string>> = {
    '/v1/models': '/v1/models',
    '/v1/models/': '/v1/models',
    '/v1/models?x=1': '/v1/models',
    '/v1/models/secret': '/v1/models/:id',
    '/v1/models/secret/?x#y': '/v1/models/:id',
    '/v1/models/%zz': '/v1/models/:id',
    '/v1/models/a/b': 'other',
    '/things/a/b': '/things/:kind/:id',
    '/things/a': 'other',
    '/v1/modelsecret': 'other',
    '//v1/models': 'other',
    '/': 'other',
    '/secret?/v1/models': 'other',
    '/constructor': 'other',
  };
  for (const [path, label] of Object.entries(labels)) {
    check(`is ${label} for ${path}, whatever the method`, () => {
      assert.is(routeOf(asking(path)), label);
      assert.is(routeOf(asking(path, 'DELETE')), label);
    });
  }

  check('can be made of a URL that no runtime should pass on', () => {
    for (const url of [
      'http://gateway.test',
      'http://gateway.test?a=/v1/models',
      '/v1/models',
      '',
      'secret',
      'http://',
    ]) {
      assert.ok(['other', '/v1/models'].includes(routeOf(raw(url))), url);
    }
  });

  check(
    'is a pattern or "other" and never a caller\'s text, and says of any path what the handler does with it',
    async () => {
      const part = fc.oneof(
        fc.constantFrom('v1', 'models', 'things', 'moderations', '', '%zz', '..'),
        fc.string({ maxLength: 6 }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(part, { maxLength: 5 }), async (parts) => {
          const request = asking(`/${parts.join('/')}`, 'TEAPOT');
          const label = routeOf(request);
          assert.ok(label === 'other' || label in TABLE, label);
          assert.is((await faultOf(request)).kind, label === 'other' ? 'not-found' : 'method-not-allowed');
        }),
        { numRuns: 500 },
      );
    },
  );

  check('and the answer are the same however often a URL is asked for, whatever its spelling', async () => {
    const urls = [
      'http://a.test/v1/models',
      'http://a.test/v1/models/',
      'http://a.test/v1/models?x=/broken',
      'http://b.test:8080/v1/models#/broken',
      'http://a.test/x/../v1/models',
      'http://user@a.test/v1/models',
      'http://a.test\\x/v1/models',
      'http://a.test/v1/models/id',
      'http://[/v1/models',
      `http://a.test/v1/models?${'x'.repeat(500)}`,
    ];
    const outcome = (url: string, method: string) =>
      handler(raw(url, method)).then(
        async (response) => response.text(),
        (error: unknown) => (error instanceof Fault ? error.detail.kind : String(error)),
      );
    for (const url of urls) {
      const fresh = createRoutes(TABLE, (path) => `No path ${path}`);
      const label = fresh.routeOf(raw(url));
      const first = await fresh.handler(raw(url)).then(
        async (response) => response.text(),
        (error: unknown) => (error instanceof Fault ? error.detail.kind : String(error)),
      );
      for (let time = 0; time < 3; time++) {
        assert.is(await outcome(url, 'GET'), first, url);
        assert.is(await outcome(url, 'DELETE'), first === 'list' || first === 'id' ? 'method-not-allowed' : first, url);
        assert.is(routeOf(raw(url)), label, url);
      }
    }
  });

  check('knows the root when the table has one', () => {
    const { routeOf: label } = createRoutes({ '/': { GET: () => new Response() } }, () => '');
    assert.is(label(asking('/')), '/');
    assert.is(label(asking('/x')), 'other');
  });

  check('of a very long path of slashes is found at once', () => {
    const startedAt = performance.now();
    assert.is(routeOf(asking(`/v1/models/${'/'.repeat(60_000)}x`)), 'other');
    assert.ok(performance.now() - startedAt < 500);
  });
});
