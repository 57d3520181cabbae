import * as assert from 'uvu/assert';
import { withProxy } from '../../adapter/node/local-proxy.ts';
import { describe } from '../../check.ts';
import { moderate, refusalOf } from '../client.ts';
import { freePort, type Variables } from '../processes.ts';
import { type GatewayWorld, withGateway } from './world.ts';

const within = (variables: Variables, body: (world: GatewayWorld) => Promise<void>): Promise<void> =>
  withGateway({ variables }, body);

describe('the Node bundle behind a proxy', (check) => {
  for (const name of ['HTTP_PROXY', 'http_proxy']) {
    check(`calls its backend through ${name}, and shows the proxy no backend key`, () =>
      withProxy(({ port, detours }) =>
        within(
          { [name]: `http://canary-user:canary-password@127.0.0.1:${port}`, BACKEND_API_KEYS: 'backend-key' },
          async ({ gateway, backend }) => {
            assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 200);
            assert.is(backend.calls[0]?.authorization, 'Bearer backend-key');
            assert.ok(detours.length > 0);
            for (const { target, bearer, credentials } of detours) {
              assert.equal([target, bearer], [`127.0.0.1:${backend.port}`, undefined]);
              assert.match(credentials ?? '', /^Basic /);
            }
            assert.not.match(gateway.stderr(), /canary/);
          },
        ),
      ),
    );
  }

  check.thorough('calls what NO_PROXY names itself', () =>
    withProxy(({ url, detours }) =>
      within({ HTTP_PROXY: url, NO_PROXY: 'other.example,127.0.0.1' }, async ({ gateway }) => {
        assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 200);
        assert.equal(detours, []);
      }),
    ),
  );

  check.thorough('leaves HTTPS_PROXY alone for a backend without TLS', () =>
    withProxy(({ url, detours }) =>
      within({ HTTPS_PROXY: url }, async ({ gateway }) => {
        assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 200);
        assert.equal(detours, []);
      }),
    ),
  );

  check.thorough('has an error and no verdict when the proxy refuses', () =>
    withProxy(
      ({ url }) =>
        within({ HTTP_PROXY: url, BACKEND_DIALECT: 'ollama' }, async ({ gateway, backend }) => {
          const answer = await moderate(gateway.address, { input: 'good morning' });
          assert.equal([answer.status, refusalOf(answer).code], [502, 'backend_error']);
          assert.is(backend.calls.length, 0);
        }),
      403,
    ),
  );
});

describe('the Node bundle without the Redis of its settings', (check) => {
  check('serves on from its own memory, says so once, and shows no password', async () => {
    const REDIS_URL = `redis://:canary-password@127.0.0.1:${await freePort()}`;
    await within({ REDIS_URL, RATE_LIMIT_RPM: '4' }, async ({ gateway }) => {
      await gateway.outputMatching(/"event":"shared-state-lost"/);
      const seen: number[] = [];
      for (const input of ['one', 'two', 'one', 'three', 'four']) {
        seen.push((await moderate(gateway.address, { input })).status);
      }
      assert.equal(seen, [200, 200, 200, 200, 429]);
      await new Promise((resolve) => setTimeout(resolve, 1200));
      assert.is(gateway.stderr().split('shared-state-lost').length, 2);
      assert.not.match(gateway.stderr(), /canary/);
      gateway.signal('SIGTERM');
      assert.equal(await gateway.ended, { code: 0, signal: null });
    });
  });
});
