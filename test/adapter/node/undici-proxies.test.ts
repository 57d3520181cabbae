import * as assert from 'uvu/assert';
import { createUndiciClient, readProxySettings } from '../../../src/adapter/node/undici-client.ts';
import { describe, rejection } from '../../check.ts';
import { codeOf, post } from '../../core/http/client-contract.ts';
import { closedPort, soon } from '../../core/http/local-server.ts';
import { withProxy } from './local-proxy.ts';
import { using, withBackend } from './undici-world.ts';

const withVariables = async (variables: Readonly<Record<string, string>>, body: () => Promise<void>): Promise<void> => {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  try {
    await body();
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
    Object.assign(process.env, before);
  }
};

describe('an exchange through a proxy', (check) => {
  check('reaches a backend without TLS through the tunnel of HTTP_PROXY, which does not see the key', () =>
    withBackend(({ url, port, seen }) =>
      withProxy((proxy) =>
        using({ httpProxy: proxy.url }, async (httpClient) => {
          for (let index = 0; index < 5; index++) assert.is((await httpClient(post(url))).text, '{"ok":true}');
          assert.is(seen.length, 5);
          assert.match(seen[0]?.authorization ?? '', /^Bearer sk-/);
          assert.is(seen[0]!['proxy-authorization'], undefined);
          assert.ok(proxy.detours.length >= 1 && proxy.detours.length <= 2);
          for (const detour of proxy.detours) {
            assert.equal(detour, { target: `127.0.0.1:${port}`, credentials: undefined, bearer: undefined });
          }
        }),
      ),
    ),
  );

  check('shows its credentials to the proxy, and to no one else', () =>
    withBackend(({ url, seen }) =>
      withProxy((proxy) =>
        using({ httpProxy: `http://user:p%40ss@127.0.0.1:${proxy.port}` }, async (httpClient) => {
          await httpClient(post(url));
          assert.is(proxy.detours[0]?.credentials, `Basic ${Buffer.from('user:p@ss').toString('base64')}`);
          assert.is(seen[0]!['proxy-authorization'], undefined);
        }),
      ),
    ),
  );

  check('leads to a backend with TLS through HTTPS_PROXY, and to one without past it', () =>
    withBackend(({ url, seen }) =>
      withProxy(
        (proxy) =>
          using({ httpsProxy: proxy.url }, async (httpClient) => {
            await codeOf(httpClient(post('https://backend.invalid/api/chat')));
            assert.equal(
              proxy.detours.map(({ target }) => target),
              ['backend.invalid:443'],
            );
            await httpClient(post(url));
            assert.is(seen.length, 1);
            assert.is(proxy.detours.length, 1);
          }),
        502,
      ),
    ),
  );

  check('goes past the proxy to the hosts of NO_PROXY, and to those alone', () =>
    withBackend(({ url, port, seen }) =>
      withProxy(async (proxy) => {
        const past = ['127.0.0.1', `127.0.0.1:${port}`, 'other.test, 127.0.0.1', '*'];
        for (const noProxy of past) {
          await using({ httpProxy: proxy.url, noProxy }, async (httpClient) => void (await httpClient(post(url))));
        }
        assert.equal(proxy.detours, []);
        const through = ['other.test', '127.0.0.1:1', '27.0.0.1', '127.0.0'];
        for (const noProxy of through) {
          await using({ httpProxy: proxy.url, noProxy }, async (httpClient) => void (await httpClient(post(url))));
        }
        assert.is(proxy.detours.length, through.length);
        assert.is(seen.length, past.length + through.length);
      }),
    ),
  );

  check('never goes past a proxy that refuses or is not there', () =>
    withBackend(async ({ url, seen }) => {
      for (const status of [200, 403, 407, 502].slice(1)) {
        await withProxy(
          (proxy) => using({ httpProxy: proxy.url }, async (httpClient) => void (await codeOf(httpClient(post(url))))),
          status,
        );
      }
      await using({ httpProxy: `http://127.0.0.1:${await closedPort()}` }, async (httpClient) => {
        assert.is(await codeOf(httpClient(post(url))), 'ECONNREFUSED');
      });
      assert.equal(seen, []);
    }),
  );

  check('lets a caller go whose proxy is silent', () =>
    withBackend(({ url }) =>
      withProxy(async (proxy) => {
        const { httpClient } = createUndiciClient({ httpProxy: proxy.url });
        const controller = new AbortController();
        const rejected = rejection(httpClient(post(url, { signal: controller.signal })));
        while (proxy.detours.length === 0) await new Promise(setImmediate);
        const reason = new Error('gone');
        controller.abort(reason);
        assert.is(await soon(rejected, 'a rejection'), reason);
      }, 'silence'),
    ),
  );

  check('leaves the headers that it was given as they are', () =>
    withBackend(({ url }) =>
      withProxy((proxy) =>
        using({ httpProxy: proxy.url }, async (httpClient) => {
          const headers = Object.freeze({ accept: 'application/json' });
          assert.is((await httpClient(post(url, { headers }))).status, 200);
        }),
      ),
    ),
  );

  check('follows its settings, not what the process finds in its surroundings', () =>
    withBackend(async ({ url, seen }) => {
      const dead = `http://127.0.0.1:${await closedPort()}`;
      await withVariables({ HTTP_PROXY: dead, http_proxy: dead, NO_PROXY: '*', no_proxy: '*' }, async () => {
        await using({}, async (httpClient) => void (await httpClient(post(url))));
        await using({ httpsProxy: dead }, async (httpClient) => void (await httpClient(post(url))));
        assert.is(seen.length, 2);
        await withProxy((proxy) =>
          using({ httpProxy: proxy.url }, async (httpClient) => {
            await httpClient(post(url));
            assert.is(proxy.detours.length, 1);
          }),
        );
      });
    }),
  );
});

describe('the proxy variables', (check) => {
  check('are read in either case', () => {
    const settings = { httpProxy: 'http://a', httpsProxy: 'http://b', noProxy: 'c' };
    assert.equal(readProxySettings({ HTTP_PROXY: 'http://a', HTTPS_PROXY: 'http://b', NO_PROXY: 'c' }), settings);
    assert.equal(readProxySettings({ http_proxy: 'http://a', https_proxy: 'http://b', no_proxy: 'c' }), settings);
  });

  check('mean no proxy when they are empty or absent', () => {
    assert.equal(readProxySettings({}), {});
    assert.equal(
      readProxySettings({ HTTP_PROXY: '', HTTPS_PROXY: '', NO_PROXY: '', http_proxy: '', no_proxy: '' }),
      {},
    );
    assert.equal(readProxySettings({ HTTP_PROXY: '', http_proxy: 'http://a' }), { httpProxy: 'http://a' });
    assert.equal(readProxySettings({ ALL_PROXY: 'http://a', Http_Proxy: 'http://a' }), {});
  });
  check('are taken as HTTP without a scheme, and refused by name without their value otherwise', () => {
    assert.equal(readProxySettings({ HTTPS_PROXY: ' proxy.test:3128 ' }), { httpsProxy: 'http://proxy.test:3128' });
    for (const address of ['socks5://user:canary@a:1', 'http://user:canary@', 'http://a:canary']) {
      assert.throws(
        () => readProxySettings({ HTTPS_PROXY: address }),
        (error: Error) => error.message.startsWith('HTTPS_PROXY: expected') && !error.message.includes('canary'),
      );
    }
  });
});
