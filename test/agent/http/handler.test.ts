import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { ask, until } from '../harness/permission-requests.ts';
import { createAgentWorld, hanging, prompt } from '../harness/world.ts';

type World = Awaited<ReturnType<typeof createAgentWorld>>;
const basic = (words: string): string => `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(words)))}`;

const locked = (username = 'ann', password = 'pässwörd: ∞') =>
  createAgentWorld({ changes: { credentials: { username, password } } });

/** Every method of every route, with something in the place of its parameters. */
const callsOf = ({ server }: World): readonly (readonly [method: string, path: string])[] =>
  Object.entries(server.table).flatMap(([pattern, methods]) =>
    Object.keys(methods).map((method) => [method, pattern.replace(/:\w+/g, 'x')] as const),
  );

const isOpen = (path: string): boolean => path === '/health' || path === '/ready';

describe('authentication with a password', (check) => {
  check('refuses requests without it on every route, and says how to authenticate', async () => {
    const world = await locked();
    assert.ok(callsOf(world).length > 25);
    for (const [method, path] of [
      ...callsOf(world),
      ['GET', '/nowhere'],
      ['PUT', '/session'],
      ['HEAD', '/event'],
    ] as const) {
      if (isOpen(path)) continue;
      const response = await world.call(method, path);
      assert.is(response.status, 401, `${method} ${path}`);
      assert.match(response.headers.get('www-authenticate') ?? '', /^Basic realm="[^"]+", charset="UTF-8"$/);
      assert.is(((await response.json()) as { name: string }).name, 'UnauthorizedError');
    }
  });

  check('keeps only health and readiness open', async () => {
    const world = await locked();
    for (const path of ['/health', '/ready', '/health/', '/ready?x=1']) {
      assert.is((await world.call('GET', path)).status, 200, path);
    }
    for (const path of [
      '/session/../health/../session',
      '/healthy',
      '/x/health',
      '//health',
      '/health/x',
      '/global/health',
    ]) {
      assert.is((await world.call('GET', path)).status, 401, path);
    }
  });

  check('opens for the right words, whatever alphabet they are in', async () => {
    const world = await locked();
    const authorization = basic('ann:pässwörd: ∞');
    assert.is((await world.call('GET', '/session', undefined, { authorization })).status, 200);
    const stream = await world.call('GET', '/event', undefined, { authorization });
    assert.is(stream.status, 200);
    await stream.body?.cancel();
  });

  check('stays shut for wrong ones', async () => {
    const world = await locked();
    for (const authorization of [
      basic('ann:passwoerd'),
      basic('bob:pässwörd: ∞'),
      basic('ann'),
      basic(':'),
      basic(''),
      basic('ann:pässwörd: ∞ '),
      basic('\ufeffann:pässwörd: ∞'),
      `Bearer ${basic('ann:pässwörd: ∞').slice(6)}`,
      'Basic',
      'Basic !!!!',
      `Basic ${btoa('ann:p\xe4ssw\xf6rd')}`,
      `Basic ${'A'.repeat(100_000)}`,
    ]) {
      assert.is(
        (await world.call('GET', '/session', undefined, { authorization })).status,
        401,
        authorization.slice(0, 40),
      );
    }
    assert.not.ok(world.logged.some((line) => line.includes('pässwörd')));
  });
});

describe('authentication and browser pages', (check) => {
  const authorization = basic('ann:pässwörd: ∞');
  const from = async (origin: string | undefined, host = 'agent.test:4000') => {
    const world = await locked();
    const headers = { host, authorization, ...(origin === undefined ? {} : { origin }) };
    const { status } = await world.call('POST', '/session', undefined, headers);
    assert.is((await world.store.sessions({})).length, status === 200 ? 1 : 0);
    return status;
  };

  check('lets no page of another origin use the password that the browser remembers', async () => {
    for (const origin of [
      'https://evil.test',
      'null',
      '',
      'http://agent.test.evil.test:4000',
      'http://agent.test:4001',
      'http://agent.test',
      'http://localhost:4000',
      'vscode-webview://agent.test:4000',
    ])
      assert.is(await from(origin), 400, origin);
    const world = await locked();
    const response = await world.call('POST', '/mcp/any/connect', undefined, { authorization, origin: 'null' });
    assert.is(((await response.json()) as { data: { code: string } }).data.code, 'invalid_origin');
  });

  check('admits programs, and pages of this server', async () => {
    assert.is(await from(undefined), 200);
    assert.is(await from('http://agent.test:4000'), 200);
    assert.is(await from('https://Agent.Test', 'agent.test'), 200);
    assert.is(await from('https://agent.test', 'agent.test:443'), 200);
    assert.is(await from('http://127.0.0.1:3000', 'localhost:4000'), 200);
  });

  check('asks for no password before it refuses a page, and refuses where none is set', async () => {
    const world = await locked();
    assert.is((await world.call('POST', '/session', undefined, { origin: 'https://evil.test' })).status, 400);
    const open = await createAgentWorld();
    assert.is((await open.call('POST', '/session', undefined, { origin: 'https://evil.test' })).status, 400);
  });
});

describe('requests before the start and after the stop', (check) => {
  /** A server that is asked while its start has not settled. */
  const starting = async () => {
    const gate = Promise.withResolvers<void>();
    const { store } = await createAgentWorld();
    const unfinished = async () => {
      await gate.promise;
      return [];
    };
    const seen = Promise.withResolvers<World>();
    const started = createAgentWorld({ store: { ...store, unfinished }, onBuilt: seen.resolve });
    return { world: await seen.promise, settle: gate.resolve, started };
  };

  check('answers 503 and when to come back until the start has settled', async () => {
    const { world, settle, started } = await starting();
    for (const [method, path] of callsOf(world)) {
      if (isOpen(path)) continue;
      const response = await world.call(method, path);
      assert.is(response.status, 503, `${method} ${path}`);
      assert.is(response.headers.get('retry-after'), '1');
      assert.equal(await response.json(), {
        name: 'ServiceUnavailable',
        data: { message: 'The server is starting' },
      });
    }
    assert.is((await world.call('GET', '/health')).status, 200);
    const ready = await world.call('GET', '/ready');
    assert.is(ready.status, 503);
    assert.is(ready.headers.get('retry-after'), '1');
    assert.equal(await ready.json(), { status: 'not ready', reasons: ['starting'] });
    settle();
    await started;
    const open = await world.call('GET', '/ready');
    assert.equal([open.status, open.headers.get('retry-after')], [200, null]);
    assert.is((await world.call('GET', '/session')).status, 200);
  });

  check('stays shut when it is asked to stop while it starts', async () => {
    const { world, settle, started } = await starting();
    await world.server.stop();
    settle();
    await started;
    assert.is((await world.call('GET', '/session')).status, 503);
    assert.is(world.clock.pending(), 0);
  });

  check('answers 503 once it is asked to stop, and anyone who waits gets an answer', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 1);
    const stopped = world.server.stop();
    const response = await world.call('POST', `/session/${id}/message`, prompt('late'));
    assert.is(response.status, 503);
    assert.is(response.headers.get('retry-after'), '1');
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    await stopped;
    assert.is((await world.call('GET', '/health')).status, 200);
    const ready = await world.call('GET', '/ready');
    assert.equal([ready.status, ready.headers.get('retry-after')], [503, '1']);
    assert.is(world.clock.pending(), 0);
  });
});

describe('a server without a password that only this machine reaches', (check) => {
  const asked = async (headers: Readonly<Record<string, string>>) => {
    const world = await createAgentWorld({ changes: { isForThisMachine: true } });
    return (await world.call('GET', '/session', undefined, headers)).status;
  };
  check('answers programs of this machine', async () => {
    for (const host of ['127.0.0.1:4000', 'localhost:4000', '[::1]:4000', 'localhost'])
      assert.is(await asked({ host }), 200);
    assert.is(await asked({ host: 'localhost:4000', origin: 'http://localhost:3000' }), 200);
  });
  check('answers no web page, under whatever name it leads here', async () => {
    for (const host of ['evil.test', 'localhost.evil.test', '127.0.0.1.evil.test', '192.168.0.1:4000'])
      assert.is(await asked({ host }), 400);
    for (const origin of ['http://evil.test', 'null', 'http://localhost.evil.test'])
      assert.is(await asked({ host: '127.0.0.1:4000', origin }), 400);
  });
  check('with a password answers under every name', async () => {
    const credentials = { username: 'a', password: 'b' };
    const world = await createAgentWorld({ changes: { isForThisMachine: true, credentials } });
    const headers = { host: 'agent.test', authorization: `Basic ${btoa('a:b')}` };
    assert.is((await world.call('GET', '/session', undefined, headers)).status, 200);
  });
});
