import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { BRIDGE_KEY, codeOf, createConsoleWorld } from './harness/world.ts';

const session = (id: string, updated: number, title = id) => ({
  ...{ id, title, time: { created: 1, updated }, cost: 0.5, tokens: { input: 10, output: 5, reasoning: 0 } },
});

describe('the sessions of all agent servers', (check) => {
  check('are listed once each, the latest first, with what they cost and which of them work', async () => {
    const world = await createConsoleWorld();
    world.agents[0].others['/session'] = [session('ses_2', 20), session('ses_1', 10)];
    world.agents[1].others['/session'] = [session('ses_3', 30), session('ses_2', 20)];
    world.agents[0].others['/session/status'] = { ses_2: { type: 'busy' } };
    const vera = await world.as('vera');
    const { sessions, next } = (await (await vera('GET', '/api/sessions?limit=2&search=a%26b')).json()) as {
      sessions: Record<string, unknown>[];
      next?: string;
    };
    assert.equal(
      sessions.map(({ id, agent, status, cost }) => [id, agent, status, cost]),
      [
        ['ses_3', 1, 'idle', 0.5],
        ['ses_2', 0, 'busy', 0.5],
      ],
    );
    assert.is(next, '20,ses_2');
    await vera('GET', `/api/sessions?limit=2&before=${next}`);
    const asked = world.services.sent.map(({ path }) => path);
    assert.ok(asked.includes('/session?roots=true&limit=2&search=a%26b'));
    assert.ok(asked.includes('/session?roots=true&limit=2&before=20%2Cses_2'));
    world.stop();
  });

  check('are still listed when one server is away, and an error when none answers', async () => {
    const world = await createConsoleWorld();
    world.agents[1].others['/session'] = [session('ses_3', 30)];
    const vera = await world.as('vera');
    world.services.away.add('http://agent-1');
    const list = (await (await vera('GET', '/api/sessions')).json()) as { sessions: unknown[]; unread: unknown };
    assert.equal([list.sessions.length, list.unread], [1, [0]]);
    const ofOne = (await (await vera('GET', '/api/sessions?agent=1')).json()) as { unread: unknown };
    assert.equal(ofOne.unread, []);
    world.services.away.add('http://agent-2');
    const answer = await vera('GET', '/api/sessions');
    assert.equal([answer.status, await codeOf(answer)], [502, 'service_down']);
    world.stop();
  });

  check('are read, aborted and deleted by ids alone: no other path can be reached', async () => {
    const world = await createConsoleWorld();
    const ann = await world.as('ann');
    world.agents[0].others['/session/ses_1/abort'] = [];
    assert.is((await ann('POST', '/api/sessions/0/ses_1/abort')).status, 204);
    const before = world.services.sent.length;
    for (const id of ['..%2fconfig', '..%252f', 'a%3fb', 'a%23b', 'x'.repeat(300)]) {
      assert.is((await ann('DELETE', `/api/sessions/0/${id}`)).status, 404, id);
      assert.is((await ann('POST', `/api/keys/${id}`, { action: 'release' })).status, 404, id);
    }
    for (const agent of ['2', '-1', '01e', 'x'])
      assert.is((await ann('GET', `/api/sessions/${agent}/ses_1`)).status, 404);
    assert.equal(
      world.services.sent.slice(before).filter(({ path }) => !/^\/(?:permission|health)/.test(path)),
      [],
    );
    world.stop();
  });

  check('are passed on page by page, and exported as they come', async () => {
    const world = await createConsoleWorld();
    const messages = [
      { info: { id: 'msg_1' }, parts: [] },
      { info: { id: 'msg_2' }, parts: [] },
    ];
    world.agents[0].others['/session/ses_1/message'] = messages;
    const vera = await world.as('vera');
    const page = await (await vera('GET', '/api/sessions/0/ses_1/messages?limit=2')).json();
    assert.equal(page, { messages, next: 'msg_1' });
    assert.is((await vera('GET', '/api/sessions/0/ses_1/messages?limit=x')).status, 400);
    const answer = await vera('GET', '/api/sessions/0/ses_1/export');
    assert.match(answer.headers.get('content-disposition') ?? '', 'attachment; filename="ses_1.jsonl"');
    const [stream] = world.services.streams.filter(({ url }) => url.endsWith('/export'));
    stream?.send('{"kind":"session"}\n');
    stream?.end();
    assert.is(await answer.text(), '{"kind":"session"}\n');
    world.stop();
  });
});

describe('a request of the API that cannot be answered', (check) => {
  const messageOf = async (answer: Response): Promise<string> =>
    ((await answer.json()) as { error: { message: string } }).error.message;

  check('says what is missing in its body', async () => {
    const world = await createConsoleWorld();
    const ann = await world.as('ann');
    for (const [path, body, message] of [
      ['/api/check', { input: 'text' }, 'model: is required'],
      ['/api/check', { model: 5, input: 'text' }, 'model: expected string'],
      ['/api/check', { model: 'm' }, 'input: is required'],
      ['/api/chat', { messages: [{ content: 'text' }] }, 'messages[0].role: is required'],
      ['/api/chat', [], 'body: expected text, or messages'],
      ['/api/chat', null, 'body: expected Object'],
    ] as const)
      assert.is(await messageOf(await ann('POST', path, body)), message);
    world.stop();
  });

  check('says which agent servers there are, wherever one is named', async () => {
    const urls = ['http://agent-1', 'http://agent-1,http://agent-2'];
    for (const [CONSOLE_AGENT_URLS = '', known] of urls.map((url, index) => [url, ['0', '0 to 1'][index]])) {
      const world = await createConsoleWorld({ variables: { CONSOLE_AGENT_URLS } });
      const ann = await world.as('ann');
      for (const [method, path] of [
        ['POST', '/api/approvals/9/per_1'],
        ['GET', '/api/approvals/9/per_1/outcome'],
        ['GET', '/api/sessions/9/ses_1'],
      ] as const) {
        const answer = await ann(method, path, method === 'GET' ? undefined : { reply: 'once', argumentsHash: 'x' });
        assert.is(answer.status, 404, path);
        assert.is(await messageOf(answer), `No such agent server: expected ${known}`, path);
      }
      world.stop();
    }
  });

  check("names a route of the console where the gateway's error names one of the gateway", async () => {
    const message = 'No backend key has this fingerprint; GET /admin/state lists those that there are';
    const refused = { status: 404, value: { error: { message } } };
    const world = await createConsoleWorld({
      gateway: ({ method }: { method: string }) => (method === 'POST' ? refused : { value: {} }),
    });
    const ann = await world.as('ann');
    const answer = await ann('POST', '/api/keys/abc', { action: 'release' });
    assert.is(answer.status, 404);
    assert.is(
      await messageOf(answer),
      'No backend key has this fingerprint; GET /api/moderation lists those that there are',
    );
    world.stop();
  });
});

describe('tool servers and configurations', (check) => {
  check('name the agent servers that are away, whose own are missing, and are an error when none answers', async () => {
    const world = await createConsoleWorld();
    for (const { others } of world.agents) {
      others['/mcp'] = { relay: { status: 'connected' } };
      others['/config'] = { model: 'demo/main' };
    }
    const vera = await world.as('vera');
    const ask = async (path: string) => (await vera('GET', path)).json();
    const relay = (agent: number) => ({ agent, name: 'relay', state: 'connected' });
    assert.equal(await ask('/api/tools'), { servers: [relay(0), relay(1)], unread: [] });
    world.services.away.add('http://agent-1');
    assert.equal(await ask('/api/tools'), { servers: [relay(1)], unread: [0] });
    const config = { model: 'demo/main' };
    assert.equal(await ask('/api/config'), { agents: [{ agent: 'http://agent-2', config }], unread: [0] });
    world.services.away.add('http://agent-2');
    for (const path of ['/api/tools', '/api/config']) {
      const answer = await vera('GET', path);
      assert.equal([answer.status, await codeOf(answer)], [502, 'service_down'], path);
    }
    world.stop();
  });
});

describe('a chat', (check) => {
  check('goes through the bridge with its key, in the conversation that it names', async () => {
    const world = await createConsoleWorld();
    const bob = await world.as('bob');
    const answer = await bob('POST', '/api/chat', {
      text: 'hello',
      conversation: 'c-1',
      model: 'demo/main',
      tools: [],
    });
    assert.equal([answer.status, answer.headers.get('x-session-id')], [200, 'c-1']);
    const [{ url, headers, body, send, end } = { url: '' }] = world.services.streams.filter(
      ({ body }) => body !== undefined,
    );
    assert.is(url, '/v1/chat/completions');
    assert.is(headers?.authorization, `Bearer ${BRIDGE_KEY}`);
    assert.match(headers?.['x-session-id'] ?? '', /^console-[\w-]{22}-c-1$/);
    assert.equal(JSON.parse(body ?? ''), {
      model: 'demo/main',
      messages: [{ role: 'user', content: 'hello' }],
      stream: true,
    });
    send?.('data: {"a":"ü');
    send?.('"}\n\n');
    end?.();
    assert.is(await answer.text(), 'data: {"a":"ü"}\n\n');
    world.stop();
  });

  check('without a text is refused', async () => {
    const world = await createConsoleWorld();
    const bob = await world.as('bob');
    for (const body of [{}, { text: ' ' }, { messages: [] }, { text: 'x', conversation: 'a b' }])
      assert.is((await bob('POST', '/api/chat', body)).status, 400);
    world.stop();
  });
});

describe('a service', (check) => {
  check('that sends too much or no JSON is an error, and not passed on', async () => {
    for (const text of [`{"x":"${'y'.repeat(17_000_000)}"}`, '<script>alert(1)</script>', '']) {
      const world = await createConsoleWorld({ gateway: () => ({ text }) });
      const vera = await world.as('vera');
      const answer = await vera('GET', '/api/moderation');
      assert.equal([answer.status, await codeOf(answer)], [502, 'service_down']);
      world.stop();
    }
  });

  check('that refuses the key of the console names the setting, and its other errors say what it said', async () => {
    for (const [status, expected, code, text] of [
      [401, 502, 'service_refused', 'GATEWAY_ADMIN_KEY'],
      [404, 404, 'refused', 'No such key'],
      [400, 400, 'refused', 'No such key'],
      [429, 503, 'service_failed', 'No such key'],
      [500, 502, 'service_failed', 'No such key'],
    ] as const) {
      const world = await createConsoleWorld({
        gateway: () => ({ status, value: { error: { message: 'No such key' } } }),
      });
      const ann = await world.as('ann');
      const answer = await ann('POST', '/api/keys/abc', { action: 'rest', seconds: 60 });
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      assert.equal([answer.status, error.code], [expected, code]);
      assert.match(error.message, text);
      world.stop();
    }
  });

  check('that is not set is named with its settings, by the page and by its part', async () => {
    const none = { CONSOLE_GATEWAY_URL: '', CONSOLE_BRIDGE_URL: '', CONSOLE_AGENT_URLS: '' };
    const world = await createConsoleWorld({ variables: none });
    const ann = await world.as('ann');
    const { parts } = (await (await ann('GET', '/api/me')).json()) as { parts: Record<string, unknown> };
    for (const [part, setting, path] of [
      ['approvals', 'CONSOLE_AGENT_URLS', '/api/sessions'],
      ['moderation', 'CONSOLE_GATEWAY_URL', '/api/moderation'],
      ['chat', 'CONSOLE_BRIDGE_URL', '/api/chat/models'],
      ['sessions', 'CONSOLE_AGENT_URLS', '/api/config'],
      ['recharges', 'RELAY_JOURNAL', '/api/recharges'],
    ] as const) {
      assert.match(String(parts[part]), setting);
      const answer = await ann('GET', path);
      assert.equal([answer.status, await codeOf(answer)], [404, 'not_configured'], path);
    }
    assert.equal(await (await ann('GET', '/api/approvals')).json(), {
      open: [],
      away: [],
      standing: [],
      decided: [],
      unread: [],
    });
    world.stop();
  });
});
