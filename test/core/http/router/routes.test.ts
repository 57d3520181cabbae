import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { createRoutes } from '../../../../src/core/http/router.ts';
import { describe, rejection } from '../../../check.ts';
import { asking, faultOf, handler, raw } from './world.ts';

const textAt = async (path: string): Promise<string> => (await handler(asking(path))).text();

describe('a route', (check) => {
  check('is chosen by path and method', async () => {
    assert.is(await textAt('/v1/models'), 'list');
    assert.is(await textAt('/v1/models/moderation-fast'), 'moderation-fast');
    assert.is((await handler(asking('/things/a/b', 'DELETE'))).status, 204);
  });

  check('hands its request on with the body untouched', async () => {
    const request = new Request('http://gateway.test/v1/moderations', { method: 'POST', body: 'text' });
    const response = await handler(request);
    assert.is(response.status, 201);
    assert.is(await response.text(), 'text');
  });

  check('does not mind a query string or a fragment', async () => {
    assert.is(await textAt('/v1/models?a=/b&a=c#/d'), 'list');
    assert.is(await textAt('/v1/models/x?id=y'), 'x');
  });

  check('does not mind slashes at the end', async () => {
    assert.is(await textAt('/v1/models/'), 'list');
    assert.is(await textAt('/v1/models///'), 'list');
    assert.is(await textAt('/v1/models/x/'), 'x');
  });

  for (const path of [
    '//v1/models',
    '/v1//models',
    '/V1/models',
    '/v1/models/a/b',
    '/v1',
    '/%761/models',
    '/v1/models%2F',
    '/x/v1/models',
    '/',
    '/things/a',
  ]) {
    check(`is not found at ${path}, and the hint gets the path`, async () => {
      assert.equal(await faultOf(asking(path)), { kind: 'not-found', hint: `No path ${path}` });
    });
  }

  check('hints at a path without its query', async () => {
    assert.equal(await faultOf(asking('/v1/v1/models?key=secret#x')), {
      kind: 'not-found',
      hint: 'No path /v1/v1/models',
    });
  });

  check('refuses a request whose Host makes no address, and takes it for no bug', async () => {
    const { handler } = createRoutes({ '/': { GET: () => new Response() } }, () => 'no such path');
    const request = { method: 'GET', url: 'http://[/', headers: new Headers() } as Request;
    const thrown = await rejection(handler(request));
    assert.equal(thrown instanceof Fault && [thrown.detail.kind, 'code' in thrown.detail && thrown.detail.code], [
      'bad-input',
      'invalid_address',
    ]);
  });

  check('is not led to another path by a Host with a path in it', async () => {
    const { handler } = createRoutes({ '/metrics': { GET: () => new Response() } }, () => 'no such path');
    for (const host of ['x/metrics?', 'x#', 'user@x', 'x\\y', 'x y']) {
      const request = {
        method: 'GET',
        url: `http://${host}/health`,
        headers: { get: () => host },
      } as unknown as Request;
      const thrown = await rejection(handler(request));
      assert.is(thrown instanceof Fault && 'code' in thrown.detail && thrown.detail.code, 'invalid_address', host);
    }
  });

  check('takes no time over a query, however long', async () => {
    const { handler } = createRoutes({ '/health': { GET: () => new Response() } }, () => 'no such path');
    const request = new Request(`http://x.test/health?${'a=1&'.repeat(50_000)}`);
    const startedAt = performance.now();
    assert.is((await handler(request)).status, 200);
    assert.ok(performance.now() - startedAt < 200);
  });

  check('lets what its handler throws through as it is', async () => {
    assert.match(String(await rejection(handler(asking('/broken')))), /Error: sync/);
    assert.equal(await faultOf(asking('/broken', 'POST')), { kind: 'backend-timeout' });
    assert.match(String(await rejection(handler(asking('/broken', 'HEAD')))), /Error: sync/);
  });
});

describe('a parameter of a path', (check) => {
  const decoded: Readonly<Record<string, string>> = {
    'a%2Fb%20c': 'a/b c',
    'gpt-oss:20b': 'gpt-oss:20b',
    'a.b': 'a.b',
    '%E5%A4%9A': '多',
    多: '多',
    '%2e%2e%2fetc': '../etc',
    'a+b': 'a+b',
    '%2561': '%61',
    '%00': '\0',
    '%3F%23': '?#',
  };
  for (const [sent, read] of Object.entries(decoded)) {
    check(`${sent} is read as ${JSON.stringify(read)}, decoded once`, async () => {
      assert.is(await textAt(`/v1/models/${sent}`), read);
    });
  }

  check('keeps its name among several', async () => {
    const response = await handler(asking('/things/k%31/i%2F2', 'PUT'));
    assert.equal(await response.json(), { kind: 'k1', id: 'i/2' });
  });

  for (const malformed of ['%', '%zz', '%e5%a4', '%ff', 'a%', '%C0%AF']) {
    check(`${malformed} is not found, and is not repeated to the caller`, async () => {
      assert.equal(await faultOf(asking(`/v1/models/${malformed}`)), {
        kind: 'not-found',
        hint: 'The path holds a malformed percent escape',
      });
    });
  }
});

describe('the method', (check) => {
  check('HEAD is answered like GET, with its headers and without its body', async () => {
    let cancelled = 0;
    const body = () =>
      new ReadableStream({
        cancel() {
          cancelled += 1;
        },
      });
    const { handler: over } = createRoutes(
      { '/a': { GET: () => new Response(body(), { status: 203, headers: { 'x-a': 'b' } }) } },
      () => '',
    );
    const response = await over(asking('/a', 'HEAD'));
    assert.is(response.status, 203);
    assert.is(response.headers.get('x-a'), 'b');
    assert.is(response.body, null);
    assert.is(cancelled, 1);
  });

  check('HEAD is not answered where GET is not', async () => {
    assert.equal(await faultOf(asking('/v1/moderations', 'HEAD')), { kind: 'method-not-allowed', allow: ['POST'] });
  });

  check('is refused with all that the path answers', async () => {
    assert.equal(await faultOf(asking('/v1/models', 'POST')), { kind: 'method-not-allowed', allow: ['GET', 'HEAD'] });
    assert.equal(await faultOf(asking('/v1/models/x', 'DELETE')), {
      kind: 'method-not-allowed',
      allow: ['GET', 'HEAD'],
    });
    assert.equal(await faultOf(asking('/things/a/b', 'OPTIONS')), {
      kind: 'method-not-allowed',
      allow: ['PUT', 'DELETE'],
    });
    assert.equal(await faultOf(asking('/broken/', 'PATCH')), {
      kind: 'method-not-allowed',
      allow: ['GET', 'HEAD', 'POST'],
    });
  });

  check('is looked at only where there is a path', async () => {
    assert.is((await faultOf(asking('/nowhere', 'POST'))).kind, 'not-found');
    assert.is((await faultOf(asking('/things/%zz/a', 'POST'))).kind, 'method-not-allowed');
  });

  for (const method of ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'get', 'ALL', 'all', '']) {
    check(`"${method}" is refused like any other that the table does not hold`, async () => {
      assert.equal(await faultOf(raw('http://gateway.test/v1/models', method)), {
        kind: 'method-not-allowed',
        allow: ['GET', 'HEAD'],
      });
    });
  }
});
