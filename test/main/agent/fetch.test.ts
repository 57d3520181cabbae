import * as assert from 'uvu/assert';
import type { Variables } from '../../../src/core/config.ts';
import { createAgentFetch } from '../../../src/main/agent/fetch.ts';
import { configOf, type Json } from '../../agent/config/world.ts';
import { describe } from '../../check.ts';

const baseURL = 'http://127.0.0.1:1/v1';
/** Whether models and tool servers are asked with the fetch of Node, and what is wrong. */
const chosen = async (variables: Variables, options: Json = {}) => {
  const problems: string[] = [];
  const { providers } = configOf({ provider: { home: { options: { baseURL, ...options }, models: { small: {} } } } });
  const { models, tools, close } = await createAgentFetch(variables, providers.values(), problems);
  await close();
  return { models: models === fetch, tools: tools === fetch, problems };
};
const NODE = { models: true, tools: true, problems: [] };
const OWN = { models: false, tools: false, problems: [] };
const PATIENT = { models: false, tools: true, problems: [] };

describe('the way out of the agent server', (check) => {
  check('is the fetch of Node where that will do', async () => {
    for (const variables of [{}, { HTTP_PROXY: '', https_proxy: ' ' }, { NO_PROXY: '*' }, { ALL_PROXY: 'x' }]) {
      assert.equal(await chosen(variables), NODE);
    }
    const short = { timeout: 900_000, headerTimeout: 1, chunkTimeout: 300_000 };
    assert.equal(await chosen({}, short), NODE);
  });

  check('leads through proxies, of which the variables are written in either case', async () => {
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'])
      assert.equal(await chosen({ [name]: 'http://127.0.0.1:1' }), OWN);
  });

  check('waits longer for models than the fetch of Node does, where the configuration does', async () => {
    for (const options of [{ headerTimeout: false }, { chunkTimeout: false }, { headerTimeout: 300_001 }])
      assert.equal(await chosen({}, options), PATIENT);
  });

  check('is refused with a proxy that is no address, without its value', async () => {
    const { problems } = await chosen({ HTTPS_PROXY: 'socks5://user:canary@127.0.0.1' });
    assert.equal(problems, ['HTTPS_PROXY: expected an address such as http://proxy.example:3128']);
  });
});
