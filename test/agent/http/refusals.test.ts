import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { ask, messagesOf } from '../harness/permission-requests.ts';
import { createAgentWorld, prompt, replying } from '../harness/world.ts';

type Body = { readonly name: string; readonly data: Readonly<Record<string, unknown>> };
type World = Awaited<ReturnType<typeof createAgentWorld>>;
const bodyOf = async (response: Response): Promise<Body> => (await response.json()) as Body;
const raw = (world: World, path: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
  world.server.handler(new Request(`http://agent.test${path}`, { method: 'POST', body, headers }));

describe('a request that goes wrong', (check) => {
  check('is informed that there is no such thing', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const none = 'msg_000000000000aaaaaaaaaaaaaa';
    for (const [method, path, message] of [
      ['GET', '/nowhere', 'No such path. GET /doc lists all'],
      ['GET', '/session/ses_000000000000aaaaaaaaaaaaaa', 'session "ses_000000000000aaaaaaaaaaaaaa" was not found'],
      ['GET', `/session/${id}/message/br-key-1`, 'this message was not found'],
      ['GET', '/session/nope', 'this session was not found'],
      ['PATCH', '/session/nope', 'this session was not found'],
      ['DELETE', '/session/nope', 'this session was not found'],
      ['GET', '/session/nope/children', 'this session was not found'],
      ['POST', '/session/nope/abort', 'this session was not found'],
      ['GET', '/session/nope/message', 'this session was not found'],
      ['GET', `/session/nope/message/${none}`, 'this session was not found'],
      ['POST', '/session//message', 'A part of the path is empty (//): an id in it was not filled in'],
      ['GET', `/session/${id}/message/${none}`, `message "${none}" was not found`],
      ['GET', `/session/nope/message/${none}/part/prt_x/output`, 'this session was not found'],
      ['GET', `/session/${id}/message/${none}/part/prt_x/output`, `message "${none}" was not found`],
      ['POST', '/mcp/nobody/connect', 'this tool server is not configured'],
      ['POST', '/mcp/nobody/disconnect', 'this tool server is not configured'],
    ] as const) {
      const response = await world.call(method, path, method === 'PATCH' ? {} : undefined);
      assert.is(response.status, 404, `${method} ${path}`);
      assert.equal(await bodyOf(response), { name: 'NotFoundError', data: { message } });
    }
  });

  check('of a client of OpenAI is sent to the bridge, in words that its errors show', async () => {
    const world = await createAgentWorld();
    const message =
      "This server answers OpenCode's API, not OpenAI's: give this client the address of the bridge, such as http://127.0.0.1:4100/v1";
    for (const [method, path] of [
      ['POST', '/v1/chat/completions'],
      ['POST', '/chat/completions'],
      ['POST', '/v1/v1/chat/completions'],
      ['GET', '/v1/models'],
      ['GET', '/models/gpt-4o'],
      ['POST', '/v1/responses'],
    ] as const) {
      const response = await world.call(method, path, method === 'POST' ? {} : undefined);
      const error = { message, type: 'invalid_request_error', param: null, code: null };
      assert.is(response.status, 404, path);
      assert.equal(await response.json(), { name: 'NotFoundError', data: { message }, error }, path);
    }
    const other = await world.call('GET', '/v1/modelsx');
    assert.equal(await bodyOf(other), {
      name: 'NotFoundError',
      data: { message: 'No such path. GET /doc lists all' },
    });
  });

  check('is informed which methods a path has', async () => {
    const world = await createAgentWorld();
    for (const [method, path, allow] of [
      ['PUT', '/session', 'GET, HEAD, POST'],
      ['POST', '/event', 'GET, HEAD'],
      ['GET', '/session/x/abort', 'POST'],
      ['DELETE', '/session/x/message', 'GET, HEAD, POST'],
    ] as const) {
      const response = await world.call(method, path);
      assert.is(response.status, 405);
      assert.is(response.headers.get('allow'), allow);
      assert.equal(await bodyOf(response), {
        name: 'MethodNotAllowed',
        data: { message: `This path answers ${allow}` },
      });
    }
  });

  check('is informed that its body is no JSON, not of its kind, or too large', async () => {
    const world = await createAgentWorld();
    const path = `/session/${await world.session()}/message`;
    for (const body of ['{"parts":', '', 'hello', '\xff']) {
      const response = await raw(world, path, body, { 'content-type': 'application/json' });
      assert.is(response.status, 400);
      const { name, data } = await bodyOf(response);
      const { message, ...rest } = data as Record<string, unknown>;
      assert.equal([name, rest], ['BadRequest', { kind: 'Payload', code: 'invalid_json', path: null }]);
      assert.match(String(message), /^The request body is not JSON(?: in UTF-8|: it is empty|; at line 1, column \d)/);
    }
    const form = await raw(world, path, 'a=b', { 'content-type': 'application/x-www-form-urlencoded' });
    assert.equal([form.status, (await bodyOf(form)).name], [415, 'UnsupportedMediaType']);
    const large = await raw(world, path, '{}', {
      'content-type': 'application/json',
      'content-length': String(33 * 1024 * 1024),
    });
    assert.equal([large.status, (await bodyOf(large)).name], [413, 'PayloadTooLarge']);
    const streamed = await raw(world, path, JSON.stringify(prompt('x'.repeat(33 * 1024 * 1024))));
    assert.is(streamed.status, 415);
    const long = await raw(world, path, JSON.stringify(prompt('x'.repeat(33 * 1024 * 1024))), {
      'content-type': 'application/json',
    });
    assert.is(long.status, 413);
  });

  check('takes a prompt of three million bytes, and none of more', async () => {
    const world = await createAgentWorld();
    const text = 'x'.repeat(3 * 1024 * 1024);
    await ask(world, await world.session(), text);
    const [outputText] = world.asked[0]?.messages ?? [];
    assert.is(
      outputText?.role === 'user' && outputText.content[0]?.kind === 'text' && outputText.content[0].text.length,
      text.length,
    );
    const id = await world.session();
    const chinese = '漢'.repeat(1024 * 1024 + 1);
    const file = (url: string) => ({ parts: [{ type: 'file', mime: 'text/plain', url }] });
    const files = [file(`data:text/plain,${text}x`), file(`data:text/plain;base64,${'AAAA'.repeat(1024 * 1024)}AAAA`)];
    for (const body of [prompt(`${text}x`), prompt(text, { system: 'y' }), prompt(chinese), ...files]) {
      const refused = await world.call('POST', `/session/${id}/message`, body);
      assert.is(refused.status, 413);
      assert.match(await refused.text(), 'The texts of a prompt, and of its files, may have 3145728 bytes together');
    }
  });

  check('is informed which part of its query is wrong', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    for (const [path, where] of [
      ['/session?limit=ten', 'limit'],
      ['/session?limit=-1', 'limit'],
      ['/session?limit=10001', 'limit'],
      ['/session?limit=1.5', 'limit'],
      ['/session?limit=1e3', 'limit'],
      ['/session?start=yesterday', 'start'],
      ['/session?start=99999999999999999', 'start'],
      [`/session/${id}/message?limit=x`, 'limit'],
      [`/session/${id}/message?before=msg_000000000000aaaaaaaaaaaaaa`, 'before'],
      [`/session/${id}/message?before=nonsense`, 'before'],
      [`/event?directory=${'x'.repeat(5000)}`, 'directory'],
      [`/path?directory=${'x'.repeat(5000)}`, 'directory'],
    ] as const) {
      const response = await world.call('GET', path);
      assert.is(response.status, 400, path.slice(0, 60));
      const { name, data } = await bodyOf(response);
      assert.equal([name, data.code, data.path], ['BadRequest', 'invalid_query', where]);
    }
    const escaped = await world.call('GET', '/event', undefined, { 'x-opencode-directory': '%ZZ' });
    assert.is(escaped.status, 400);
    assert.is((await bodyOf(escaped)).data.path, 'x-opencode-directory');
  });
});

describe('the list of messages', (check) => {
  check('is cut to the newest, and leafed through backwards', async () => {
    const world = await createAgentWorld({ scripts: [replying('a'), replying('b'), replying('c')] });
    const id = await world.session();
    for (const text of ['1', '2', '3']) await ask(world, id, text);
    const all = (await messagesOf(world, id)).map(({ info }) => info.id);
    assert.is(all.length, 6);
    const idsAt = async (query: string) =>
      ((await world.get(`/session/${id}/message${query}`)) as readonly { info: { id: string } }[]).map(
        ({ info }) => info.id,
      );
    assert.equal(await idsAt('?limit=2'), all.slice(4));
    assert.equal(await idsAt(`?limit=2&before=${all[4]}`), all.slice(2, 4));
    assert.equal(await idsAt(`?before=${all[0]}`), []);
    assert.equal(await idsAt('?limit=0'), []);
    assert.equal(await idsAt('?limit='), all);
  });

  check('knows a message by its own session only', async () => {
    const world = await createAgentWorld();
    const [id, other] = [await world.session(), await world.session()];
    const { info } = await ask(world, id);
    assert.is((await world.call('GET', `/session/${other}/message/${info.id}`)).status, 404);
    assert.is((await world.call('GET', `/session/${other}/message?before=${info.id}`)).status, 400);
  });
});

describe('what the other routes show', (check) => {
  check('is what they were given', async () => {
    const shown = {
      config: { a: 1 },
      provider: { b: 2 },
      configProviders: { c: 3 },
      agent: [{ d: 4 }],
      command: [{ e: 5 }],
    };
    const world = await createAgentWorld({ changes: { configViews: shown } });
    assert.equal(await world.get('/config'), shown.config);
    assert.equal(await world.get('/provider'), shown.provider);
    assert.equal(await world.get('/config/providers'), shown.configProviders);
    assert.equal(await world.get('/command'), shown.command);
    assert.equal(await world.get('/agent'), shown.agent);
    assert.equal(await world.get('/global/health'), {
      healthy: true,
      version: '0.0.0-test',
      features: ['client-tools', 'turns'],
    });
    assert.equal(await world.get('/health'), { status: 'ok', service: 'agent', version: '0.0.0-test' });
    assert.equal(await world.get('/mcp'), {});
    const path = (await world.get('/path?directory=/elsewhere')) as Readonly<Record<string, string>>;
    assert.equal([path.directory, path.worktree], ['/elsewhere', '/elsewhere']);
  });

  check('is also answered to HEAD, without a body and without leaving a stream open', async () => {
    const world = await createAgentWorld();
    for (const path of ['/session', '/event', '/global/event', '/config']) {
      const response = await world.call('HEAD', path);
      assert.is(response.status, 200);
      assert.is(await response.text(), '');
    }
    await world.clock.advance(30_000);
    assert.not.ok(world.logged.some((line) => line.includes('"bug"')));
    assert.is(world.clock.pending(), 1);
  });
});
