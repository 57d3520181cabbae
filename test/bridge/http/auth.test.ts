import * as assert from 'uvu/assert';
import { nodeDigest } from '../../../src/adapter/node/crypto.ts';
import { BRIDGE_ERROR_RESPONSES } from '../../../src/bridge/errors.ts';
import { createAuthentication, withCors } from '../../../src/bridge/http/auth.ts';
import type { Fault } from '../../../src/core/fault.ts';
import { createHandler } from '../../../src/core/http/handler.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const KEYS = ['key-of-one', 'key-of-two', 'a'];
const from = (headers: Record<string, string> = {}, method = 'GET') =>
  new Request('http://127.0.0.1:4100/v1/models', { method, headers: { host: '127.0.0.1:4100', ...headers } });
const entering = (enter: (request: Request) => string, headers: Record<string, string> = {}): string => {
  try {
    return enter(from(headers));
  } catch (error) {
    const { detail } = error as Fault;
    return detail.kind === 'bad-input' ? detail.code : detail.kind;
  }
};

describe('authentication', (check) => {
  check('knows a key whichever others there are', () => {
    const owner = (keys: string[]) =>
      entering(createAuthentication({ keys, isForThisMachine: false, digest: nodeDigest }), {
        authorization: 'Bearer key-of-two',
      });
    assert.is(owner(KEYS), owner(['key-of-two']));
  });

  check('lets no one else in', () => {
    for (const isForThisMachine of [true, false]) {
      const enter = createAuthentication({ keys: KEYS, isForThisMachine, digest: nodeDigest });
      for (const authorization of [
        'Bearer wrong',
        'Bearer key-of-on',
        'Bearer key-of-one2',
        'Basic a2V5',
        'key-of-one',
        'Bearer aa',
        'Bearer ',
      ])
        assert.is(entering(enter, { authorization }), 'unauthorized', authorization);
      assert.is(entering(enter), 'unauthorized');
    }
  });

  check('takes as long for a wrong key as for a right one', () => {
    // Every key is read to its end: what was offered alone says how much work there is.
    const seen: string[] = [];
    const watched = (key: string): string => {
      const get = (target: object, name: string | symbol): unknown => {
        const value: unknown = Reflect.get(target, name);
        if (name === 'charCodeAt') seen.push(key);
        return typeof value === 'function' ? value.bind(key) : value;
      };
      return new Proxy<object>(Object(key), { get }) as unknown as string;
    };
    const enter = createAuthentication({
      keys: KEYS.map(watched),
      isForThisMachine: false,
      digest: () => '0123456789abcdefgh',
    });
    for (const offered of ['key-of-one', 'xxxxxxxxxx']) {
      seen.length = 0;
      entering(enter, { authorization: `Bearer ${offered}` });
      assert.equal(
        seen,
        KEYS.flatMap((key) => Array(10).fill(key)),
      );
    }
  });

  check('needs no key where there are none, of programs of this machine', () => {
    const enter = createAuthentication({ keys: [], isForThisMachine: true, digest: nodeDigest });
    assert.is(entering(enter), 'anyone');
    assert.is(entering(enter, { authorization: 'Bearer whatever' }), 'anyone');
    assert.is(entering(enter, { origin: 'http://localhost:3000' }), 'anyone');
    assert.is(entering(enter, { host: 'evil.example' }), 'invalid_host');
    assert.is(entering(enter, { origin: 'https://evil.example' }), 'invalid_host');
  });

  check('needs none of pages that are let in either, as long as they come to this machine', () => {
    const corsOrigins = ['https://chat.example'];
    const enter = createAuthentication({ keys: [], isForThisMachine: true, digest: nodeDigest, corsOrigins });
    assert.is(entering(enter, { origin: 'https://chat.example' }), 'anyone');
    assert.is(entering(enter, { origin: 'https://chat.example', host: 'evil.example' }), 'invalid_host');
    assert.is(entering(enter, { origin: 'https://evil.example' }), 'invalid_host');
  });
});

const PAGE = 'https://chat.example';

const pageOf = (...origins: readonly string[]) => {
  let calls = 0;
  const enter = createAuthentication({ keys: KEYS, isForThisMachine: false, digest: nodeDigest });
  const inner = createHandler(
    async (request) => {
      calls += 1;
      enter(request);
      return new Response('{}', { headers: { 'x-session-id': 's', vary: 'accept' } });
    },
    {
      clock: createFakeClock(),
      log: () => {},
      newId: () => 'r',
      routeOf: () => '/',
      errors: BRIDGE_ERROR_RESPONSES,
    },
  );
  const handler = withCors(inner, origins);
  const preflight = (headers: Record<string, string> = {}) =>
    handler(from({ origin: PAGE, 'access-control-request-method': 'POST', ...headers }, 'OPTIONS'));
  return { handler, preflight, calls: () => calls };
};
const corsIn = ({ headers }: Response): readonly string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));
const AUTHORIZED = { authorization: 'Bearer key-of-one' };

describe('a page in a browser', (check) => {
  check('is let in from an origin that was given, without a key for the question whether it is', async () => {
    const { preflight, calls } = pageOf('https://other.example', PAGE);
    const response = await preflight({ 'access-control-request-headers': 'authorization,x-stainless-os' });
    assert.equal([response.status, calls(), await response.text()], [204, 0, '']);
    assert.is(response.headers.get('access-control-allow-origin'), PAGE);
    assert.is(response.headers.get('access-control-allow-methods'), 'GET, POST, DELETE');
    assert.is(response.headers.get('access-control-allow-headers'), 'authorization,x-stainless-os');
    assert.is(response.headers.get('access-control-max-age'), '600');
    assert.is(response.headers.get('vary'), 'origin');
    const plain = await preflight();
    for (const name of ['authorization', 'content-type', 'x-session-id', 'x-approval', 'idempotency-key'])
      assert.match(plain.headers.get('access-control-allow-headers') ?? '', name);
  });

  check('may read what is answered, and the headers that matter', async () => {
    const { handler } = pageOf(PAGE);
    const response = await handler(from({ origin: PAGE, ...AUTHORIZED }));
    assert.equal([response.status, await response.text()], [200, '{}']);
    assert.is(response.headers.get('access-control-allow-origin'), PAGE);
    assert.is(response.headers.get('vary'), 'accept, origin');
    const exposed = response.headers.get('access-control-expose-headers') ?? '';
    for (const name of [
      'x-session-id',
      'x-request-id',
      'x-approval-id',
      'x-gatehouse-ignored',
      'x-should-retry',
      'retry-after',
    ])
      assert.match(exposed, name);
    assert.not.ok(response.headers.has('access-control-allow-methods'));
  });

  check('may read why it was refused', async () => {
    const { handler } = pageOf(PAGE);
    const response = await handler(from({ origin: PAGE }));
    assert.equal([response.status, response.headers.get('access-control-allow-origin')], [401, PAGE]);
    assert.ok(response.headers.has('access-control-expose-headers'));
  });

  check('is no program: that sends no origin', async () => {
    const { handler } = pageOf('*');
    const response = await handler(from(AUTHORIZED));
    assert.equal([response.status, corsIn(response)], [200, []]);
  });

  check('that asks for the options of a path, and not whether it may, is answered like anybody', async () => {
    const { handler, calls } = pageOf(PAGE);
    const response = await handler(from({ origin: PAGE, ...AUTHORIZED }, 'OPTIONS'));
    assert.equal([response.status, calls()], [200, 1]);
    assert.not.ok(response.headers.has('access-control-allow-methods'));
  });
});
