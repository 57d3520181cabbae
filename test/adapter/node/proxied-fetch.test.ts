import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { createProxiedFetch, type ProxySettings } from '../../../src/adapter/node/undici-client.ts';
import { createStreamingFetch } from '../../../src/agent/adapter/streaming-fetch.ts';
import { createAiModel } from '../../../src/agent/model/ai-sdk.ts';
import { ModelError } from '../../../src/agent/model/types.ts';
import { answer, text } from '../../../src/demo/model/reply.ts';
import { withModelServer } from '../../agent/harness/model-server.ts';
import { CANARY, collected, question, target, textIn, until } from '../../agent/harness/model-world.ts';
import { describe, rejection } from '../../check.ts';
import { withHttpServer, withTcpServer } from '../../core/http/local-server.ts';
import { createControlledModel } from '../../demo/model/control.ts';
import { withProxy } from './local-proxy.ts';

const LEFT = new Error('The caller left');

/** Asks the scripted model over real connections, through whatever these settings lead to. */
const askThrough = async (proxies: ProxySettings, baseURL: string, signal = new AbortController().signal) => {
  const { dispatcher, close } = createProxiedFetch(proxies);
  try {
    const model = createAiModel({ fetcher: createStreamingFetch(dispatcher), clock: systemClock, version: '1' });
    return await collected(model(question({ target: target({ baseURL }) }), signal));
  } finally {
    await close();
  }
};
const problemOf = async (asked: Promise<unknown>): Promise<ModelError> => {
  const error = await rejection(asked);
  if (error instanceof ModelError) return error;
  throw error;
};

describe('a model behind a proxy', (check) => {
  check('answers in pieces through a tunnel, and the proxy sees no key', () => {
    const { handler, control } = createControlledModel({ clock: systemClock });
    control.addReply(answer(text('one ', 'two')));
    return withModelServer(handler, ({ url, port }) =>
      withProxy(async (proxy) => {
        assert.is(textIn(await askThrough({ httpProxy: proxy.url }, `${url}/v1`), 'text'), 'one two');
        assert.equal(proxy.detours, [{ target: `127.0.0.1:${port}`, credentials: undefined, bearer: undefined }]);
        assert.is(control.requests()[0]?.headers.authorization, `Bearer ${CANARY}`);
      }),
    );
  });

  check('with TLS is looked for through the proxy for that', () =>
    withProxy(async (proxy) => {
      const problem = await problemOf(askThrough({ httpsProxy: proxy.url }, 'https://model.invalid/v1'));
      assert.equal([problem.kind, problem.isRetryable], ['network', true]);
      assert.is(proxy.detours[0]?.target, 'model.invalid:443');
    }, 502),
  );

  check('is asked past the proxy where NO_PROXY names it', () => {
    const { handler, control } = createControlledModel({ clock: systemClock });
    control.addReply('near');
    return withModelServer(handler, ({ url }) =>
      withProxy(async (proxy) => {
        const proxies = { httpProxy: proxy.url, noProxy: '127.0.0.1' };
        assert.is(textIn(await askThrough(proxies, `${url}/v1`), 'text'), 'near');
        assert.equal(proxy.detours, []);
      }),
    );
  });

  check('lets its caller go while the proxy is silent', () =>
    withProxy(async (proxy) => {
      const leaving = new AbortController();
      const asked = rejection(askThrough({ httpProxy: proxy.url }, 'http://model.invalid/v1', leaving.signal));
      await until(() => proxy.detours.length === 1, 'the proxy to be asked');
      leaving.abort(LEFT);
      assert.is(await asked, LEFT);
    }, 'silence'),
  );

  check('fails once, and is not asked for without end, when the proxy hangs up', async () => {
    let hangUps = 0;
    await withTcpServer(
      (socket) =>
        socket.once('data', () => {
          hangUps += 1;
          socket.destroy();
        }),
      async ({ url }) => {
        const problem = await problemOf(askThrough({ httpProxy: url }, 'http://model.invalid/v1'));
        assert.equal([problem.kind, problem.isRetryable], ['network', true]);
        assert.match(problem.message, 'PROXY_HUNG_UP');
      },
    );
    assert.is(hangUps, 1);
  });

  check('is asked as ever where there is none', () => {
    const { handler, control } = createControlledModel({ clock: systemClock });
    control.addReply('plain');
    return withModelServer(handler, async ({ url }) =>
      assert.is(textIn(await askThrough({}, `${url}/v1`), 'text'), 'plain'),
    );
  });
});

describe('a fetch of its own', (check) => {
  check('breaks off what still runs when it is closed', () =>
    withHttpServer(
      () => {},
      async ({ url, sockets }) => {
        const { fetch: ask, close } = createProxiedFetch({});
        const asked = rejection(ask(url));
        await until(() => sockets.length === 1, 'the connection');
        await close();
        assert.instance(await asked, TypeError);
      },
    ),
  );
});
