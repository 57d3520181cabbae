import { connect } from 'node:net';
import * as assert from 'uvu/assert';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { describe, rejection } from '../../check.ts';
import { type RunningRelay, startRelay } from './relay-server.ts';

const within = async (use: (relay: RunningRelay) => Promise<void>): Promise<void> => {
  const relay = await startRelay();
  try {
    await use(relay);
  } finally {
    await relay.stop();
  }
};
const headers = { 'x-api-key': DEMO_ADMIN_KEY };
const credit = ({ origin }: RunningRelay, signal?: AbortSignal): Promise<Response> =>
  fetch(`${origin}/api/v1/admin/users/2/balance`, {
    method: 'POST',
    headers: { ...headers, 'idempotency-key': 'key-0000000000000001' },
    body: JSON.stringify({ balance: 1, operation: 'add', notes: 'ref-1' }),
    redirect: 'manual',
    ...(signal === undefined ? {} : { signal }),
  });
const users = ({ origin }: RunningRelay, signal?: AbortSignal): Promise<Response> =>
  fetch(`${origin}/api/v1/admin/users`, { headers, ...(signal === undefined ? {} : { signal }) });

/** Sends bytes that no decent client would, and gives the status line. */
const raw = ({ origin }: RunningRelay, target: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', reject).on('close', () => resolve(text.split('\r\n')[0] ?? ''));
    socket.write(`GET ${target} HTTP/1.1\r\nHost: relay\r\nConnection: close\r\nX-Api-Key: ${DEMO_ADMIN_KEY}\r\n\r\n`);
  });

describe('demo relay on a port', (check) => {
  check('answers over HTTP and reports where it is', () =>
    within(async (relay) => {
      assert.is(relay.origin, `http://${relay.host}`);
      assert.equal(await (await fetch(`${relay.origin}/health`)).json(), { status: 'ok' });
      assert.is((await credit(relay)).status, 200);
      assert.is(relay.control.credits().length, 1);
    }),
  );
  check('sees a target as it stood on the wire, and routes by that', () =>
    within(async (relay) => {
      assert.match(await raw(relay, '/api/v1/admin/users/1/../2?a=%41'), /404/);
      assert.match(await raw(relay, '/api/v1/admin/users/1%2Fapi-keys'), /200/);
      assert.match(await raw(relay, '//elsewhere.example/health'), /404/);
      assert.match(await raw(relay, 'http://elsewhere.example/health'), /200/);
      assert.match(await raw(relay, '*'), /404/);
      assert.equal(
        relay.control.requests().map(({ target }) => target),
        [
          '/api/v1/admin/users/1/../2?a=%41',
          '/api/v1/admin/users/1%2Fapi-keys',
          '//elsewhere.example/health',
          'http://elsewhere.example/health',
          '*',
        ],
      );
    }),
  );
  check('drops a connection before or after the credit, which looks the same from outside', () =>
    within(async (relay) => {
      for (const fault of ['drop-before', 'drop-after'] as const) {
        relay.control.useFault(fault);
        assert.instance(await rejection(credit(relay)), TypeError);
      }
      assert.is(relay.control.credits().length, 1);
      relay.control.useRouteFault('drop');
      assert.instance(await rejection(users(relay)), TypeError);
      assert.is((await users(relay)).status, 200);
    }),
  );
  check('keeps a status, a reason phrase and a redirect as they are', () =>
    within(async (relay) => {
      relay.control.useFault('echo-key-500');
      assert.match((await credit(relay)).statusText, DEMO_ADMIN_KEY);
      relay.control.setLocation('http://127.0.0.1:9/');
      relay.control.useFault('redirect');
      const away = await credit(relay);
      assert.equal([away.status, away.headers.get('location')], [307, 'http://127.0.0.1:9/']);
    }),
  );
  check('answers 421 to a client that sends such a request again by itself', () =>
    within(async (relay) => {
      relay.control.useFault('misdirected-after', Infinity);
      assert.is((await credit(relay)).status, 421);
      assert.equal([relay.control.requests().length, relay.control.credits().length], [2, 1]);
    }),
  );
  check('streams what is huge, squeezed or not, and stops for who leaves', () =>
    within(async (relay) => {
      for (const fault of ['huge', 'bomb'] as const) {
        relay.control.useRouteFault(fault);
        let bytes = 0;
        for await (const chunk of (await users(relay)).body ?? []) bytes += chunk.byteLength;
        assert.ok(bytes > 50 * 1024 * 1024, fault);
      }
      relay.control.useFault('huge-after');
      await (await credit(relay)).body?.cancel();
      assert.is(relay.control.credits().length, 1);
    }),
  );
  check('is stuck until the caller leaves, whose key is then in progress for good', () =>
    within(async (relay) => {
      relay.control.useFault('stuck');
      const caller = new AbortController();
      const pending = rejection(credit(relay, caller.signal));
      while (relay.control.credits().length === 0) await new Promise((resolve) => setImmediate(resolve));
      caller.abort();
      await pending;
      assert.is((await credit(relay)).status, 409);
    }),
  );
  check('stops while somebody hangs on to it', async () => {
    const relay = await startRelay();
    relay.control.useRouteFault('stuck', 1);
    relay.control.useRouteFault('drip', 1);
    const stuck = rejection(users(relay));
    while (relay.control.requests().length === 0) await new Promise((resolve) => setImmediate(resolve));
    const dripping = await users(relay);
    await relay.stop();
    assert.instance(await stuck, TypeError);
    assert.instance(await rejection(dripping.text()), TypeError);
  });
});
