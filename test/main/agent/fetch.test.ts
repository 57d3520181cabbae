import * as assert from 'uvu/assert';
import type { Variables } from '../../../src/core/config.ts';
import { createAgentFetch } from '../../../src/main/agent/fetch.ts';
import { withProxy } from '../../adapter/node/local-proxy.ts';
import { describe, rejection } from '../../check.ts';
import { withTcpServer } from '../../core/http/local-server.ts';

const QUESTION = { method: 'POST', headers: {}, body: '{}', redirect: 'manual' } as const;

/** Whether tool servers are asked with the fetch of Node, and what is wrong. */
const chosen = async (variables: Variables) => {
  const problems: string[] = [];
  const { tools, close } = await createAgentFetch(variables, problems);
  await close();
  return { isNode: tools === fetch, problems };
};

describe('the way out of the agent server', (check) => {
  check('to tool servers is the fetch of Node where that will do', async () => {
    for (const variables of [{}, { HTTP_PROXY: '', https_proxy: ' ' }, { NO_PROXY: '*' }, { ALL_PROXY: 'x' }])
      assert.equal(await chosen(variables), { isNode: true, problems: [] });
  });

  check('leads through proxies, of which the variables are written in either case', async () => {
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'])
      assert.equal(await chosen({ [name]: 'http://127.0.0.1:1' }), { isNode: false, problems: [] });
  });

  check('to models leads through the proxy too', () =>
    withProxy(async (proxy) => {
      const { models, close } = await createAgentFetch({ HTTP_PROXY: proxy.url }, []);
      const asking = (await models())('http://model.invalid/', { ...QUESTION, signal: new AbortController().signal });
      await rejection(asking);
      await close();
      assert.is(proxy.detours[0]?.target, 'model.invalid:80');
    }, 502),
  );

  check('to models is closed with all that still waits', () =>
    withTcpServer(
      () => {},
      async ({ url, sockets }) => {
        const { models, close } = await createAgentFetch({}, []);
        const asking = (await models())(url, { ...QUESTION, signal: new AbortController().signal });
        const failing = rejection(asking);
        while (sockets.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
        await close();
        assert.instance(await failing, Error);
      },
    ),
  );

  check('is refused with a proxy that is no address, without its value', async () => {
    const { problems } = await chosen({ HTTPS_PROXY: 'socks5://user:canary@127.0.0.1' });
    assert.equal(problems, ['HTTPS_PROXY: expected an address such as http://proxy.example:3128']);
  });
});
