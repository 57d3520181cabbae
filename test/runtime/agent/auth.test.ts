import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { type AgentProcess, basic, PASSWORD, USER } from './process.ts';
import { inAgentWorld, newSession } from './world.ts';

type Doc = { readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> };

const OPEN = new Set(['/health', '/ready']);
const FORGED: Readonly<Record<string, string | undefined>> = {
  'no credentials': undefined,
  'a wrong password': basic(USER, 'wrong'),
  'a wrong user': basic('nobody', PASSWORD),
  'an empty password': basic(USER, ''),
  'the beginning of the password': basic(USER, PASSWORD.slice(0, -1)),
  'the password and more': basic(USER, `${PASSWORD}x`),
  'the password as a bearer token': `Bearer ${PASSWORD}`,
  'no base64': 'Basic ???',
};

const documented = async ({ ask }: AgentProcess): Promise<readonly (readonly [string, string])[]> => {
  const { json } = await ask<Doc>('GET', '/doc');
  return Object.entries(json.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method): readonly [string, string] => [method.toUpperCase(), path]),
  );
};

const knock = async (url: string, method: string, authorization: string | undefined) => {
  const headers = {
    'content-type': 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  };
  const hasBody = method === 'POST' || method === 'PATCH';
  // An event stream that opens would never end.
  const signal = AbortSignal.timeout(10_000);
  const response = await fetch(url, { method, headers, signal, ...(hasBody ? { body: '{}' } : {}) });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

describe('the password of the agent bundle', (check) => {
  check(
    'guards every route that is documented, events among them, and those that are not',
    inAgentWorld(async ({ start }) => {
      const agent = await start();
      const { id } = await newSession(agent);
      const routes = await documented(agent);
      assert.ok(routes.length > 20 && routes.some(([, path]) => path === '/event'));
      const all = [...routes, ['GET', '/nowhere'], ['HEAD', '/session'], ['PUT', '/session'], ['GET', '/health/x']];
      for (const [method = '', path = ''] of all) {
        const url = agent.address + path.replace('{id}', id).replace(/\{\w+\}/g, 'x');
        for (const [what, authorization] of Object.entries(FORGED)) {
          const { status, headers, text } = await knock(url, method, authorization);
          if (OPEN.has(path)) assert.is(status, 200, `${path} with ${what}`);
          else {
            assert.is(status, 401, `${method} ${path} with ${what}`);
            assert.match(headers.get('www-authenticate') ?? '', /^Basic realm=/);
            assert.not.match(text, id);
          }
        }
      }
      assert.is((await agent.ask('GET', `/session/${id}`)).status, 200, 'and nothing was done meanwhile');
    }),
  );

  check(
    'cannot be walked around by odd forms of an open path',
    inAgentWorld(async ({ start }) => {
      const { address, ask } = await start();
      for (const path of [
        '/session?x=/health',
        '/session#/health',
        '//health/../session',
        '/health/../session',
        '/health%2f..%2fsession',
        '/session;/ready',
        '/%68ealth/../config',
        '/ready/session',
        '/config/health',
      ]) {
        const { status } = await knock(address + path, 'GET', undefined);
        assert.ok(status === 401 || status === 404, `${path}: ${status}`);
        assert.is.not(status, 200, path);
      }
      for (const name of ['auth_token', 'authorization', 'token']) {
        const token = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');
        assert.is((await knock(`${address}/session?${name}=${token}`, 'GET', undefined)).status, 401, name);
      }
      assert.is((await ask('GET', '/session')).status, 200);
    }),
  );

  check(
    'may hold any sign that a header can carry, and the user is opencode unless there is another',
    inAgentWorld(async ({ start }) => {
      const password = 'pä:ss wörd 🔑 "quoted"';
      const variables = { AGENT_SERVER_PASSWORD: password, AGENT_SERVER_USERNAME: undefined };
      const { address } = await start({ variables });
      assert.is((await knock(`${address}/session`, 'GET', basic('opencode', password))).status, 200);
      assert.is((await knock(`${address}/session`, 'GET', basic(USER, password))).status, 401);
    }),
  );
});
