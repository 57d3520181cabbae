import * as assert from 'uvu/assert';
import { createEndedSessions, type LogoutFile } from '../../src/console/accounts/ended-sessions.ts';
import { describe } from '../check.ts';
import { createFakeClock } from '../fake-clock.ts';
import { codeOf, createConsoleWorld, createLogoutLines, hashText } from './harness/world.ts';

/** Every route of the API, who may use it, and a body that it takes. */
const ROUTES: readonly (readonly [
  method: string,
  path: string,
  role: 'viewer' | 'approver' | 'admin',
  body?: unknown,
])[] = [
  ['GET', '/api/approvals', 'viewer'],
  ['GET', '/api/events', 'viewer'],
  ['POST', '/api/approvals/0/per_1', 'approver', { reply: 'once', argumentsHash: 'x' }],
  ['GET', '/api/moderation', 'viewer'],
  ['POST', '/api/check', 'approver', { model: 'moderation-fast', input: 'text' }],
  ['POST', '/api/keys/abc', 'admin', { action: 'release' }],
  ['POST', '/api/chat', 'approver', { text: 'hello' }],
  ['GET', '/api/chat/models', 'viewer'],
  ['GET', '/api/chat/conversations/c-1', 'approver'],
  ['POST', '/api/chat/conversations/c-1/stop', 'approver'],
  ['GET', '/api/sessions', 'viewer'],
  ['GET', '/api/sessions/0/ses_1', 'viewer'],
  ['GET', '/api/sessions/0/ses_1/messages', 'viewer'],
  ['GET', '/api/sessions/0/ses_1/export', 'viewer'],
  ['POST', '/api/sessions/0/ses_1/abort', 'admin'],
  ['DELETE', '/api/sessions/0/ses_1', 'admin'],
  ['GET', '/api/tools', 'viewer'],
  ['GET', '/api/config', 'viewer'],
  ['GET', '/api/recharges', 'viewer'],
];
const RANK = { viewer: 0, approver: 1, admin: 2 } as const;
const NAMES = { viewer: 'vera', approver: 'bob', admin: 'ann' } as const;
const ROLES = ['viewer', 'approver', 'admin'] as const;

describe('the API of the console', (check) => {
  check('lets each role do what is its own and no more', async () => {
    const world = await createConsoleWorld();
    for (const role of ROLES) {
      const { headers } = await world.login(NAMES[role]);
      for (const [method, path, needed, body] of ROUTES) {
        const { status, body: stream } = await world.send(method, path, {
          headers,
          ...(body === undefined ? {} : { body }),
        });
        await stream?.cancel();
        assert.is(status === 403, RANK[role] < RANK[needed], `${role}: ${method} ${path} is ${status}`);
        assert.is.not(status, 401);
      }
    }
    world.stop();
  });

  check('answers nobody who has not logged in', async () => {
    const world = await createConsoleWorld();
    for (const [method, path, , body] of ROUTES) {
      const answer = await world.send(method, path, body === undefined ? {} : { body });
      assert.equal([answer.status, await codeOf(answer)], [401, 'login_required'], path);
    }
    assert.equal(
      world.services.sent.filter(({ method }) => method !== 'GET'),
      [],
    );
    world.stop();
  });

  check('is kept by no cache of a browser', async () => {
    const world = await createConsoleWorld();
    const ann = await world.as('ann');
    for (const [method, path, , body] of ROUTES) {
      const answer = await ann(method, path, body);
      await answer.body?.cancel();
      assert.match(answer.headers.get('cache-control') ?? '', /^no-store\b/, `${method} ${path}`);
    }
    world.stop();
  });

  check('changes nothing without the CSRF token of the session', async () => {
    const world = await createConsoleWorld();
    const ann = await world.login('ann');
    const bob = await world.login('bob');
    for (const [method, path, , body] of ROUTES.filter(([method]) => method !== 'GET')) {
      for (const csrf of ['', bob.csrf, `${ann.csrf}x`]) {
        const headers = { cookie: ann.cookie, ...(csrf === '' ? {} : { 'x-csrf': csrf }) };
        const answer = await world.send(method, path, { headers, ...(body === undefined ? {} : { body }) });
        assert.equal([answer.status, await codeOf(answer)], [403, 'forbidden'], `${method} ${path}`);
      }
    }
    assert.is((await world.send('POST', '/api/login', { body: { name: 'ann', password: 'x' } })).status, 403);
    assert.is((await world.send('POST', '/api/logout', { headers: { cookie: ann.cookie } })).status, 403);
    world.stop();
  });

  check('says what is wrong with a body, and never quotes it', async () => {
    const world = await createConsoleWorld();
    const ann = await world.as('ann');
    const answer = await ann('POST', '/api/approvals/0/per_1', { reply: 'canary-reply', argumentsHash: 'x' });
    const text = await answer.text();
    assert.is(answer.status, 400);
    assert.match(text, 'reply: expected once, always or reject');
    assert.not.match(text, 'canary');
    world.stop();
  });
});

describe('a login', (check) => {
  check('gives a cookie that scripts and other sites do not get, for this host alone where it is https', async () => {
    const world = await createConsoleWorld();
    const { answer } = await world.login('ann');
    assert.is(answer.status, 204);
    assert.match(
      answer.headers.getSetCookie()[0] ?? '',
      /^gatehouse=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    const secure = await createConsoleWorld({ variables: { CONSOLE_PUBLIC_URL: 'https://console.example' } });
    const [cookie = '', device = ''] = (await secure.login('ann')).answer.headers.getSetCookie();
    assert.match(cookie, /^__Host-gatehouse=[\w.-]+; Path=\/; .*HttpOnly; SameSite=Strict; Secure$/);
    assert.match(device, /^__Host-gatehouse-device=[\w.-]+; Path=\/; .*HttpOnly; SameSite=Strict; Secure$/);
    for (const one of [world, secure]) one.stop();
  });

  check('is not taken over by a cookie that another host of the same site has set, where it is https', async () => {
    const world = await createConsoleWorld({ variables: { CONSOLE_PUBLIC_URL: 'https://console.example' } });
    const { cookie } = await world.login('vera');
    const statusOf = async (value: string) =>
      (await world.send('GET', '/api/approvals', { headers: { cookie: value } })).status;
    assert.equal([await statusOf(cookie), await statusOf(cookie.replace('__Host-', ''))], [200, 401]);
    world.stop();
  });

  check('is over after twelve hours, and at the logout also for a copy of its cookie', async () => {
    const world = await createConsoleWorld();
    const first = await world.login('ann');
    const second = await world.login('ann');
    const statusOf = async (cookie: string) =>
      (await world.send('GET', '/api/approvals', { headers: { cookie } })).status;
    assert.is(await statusOf(first.cookie), 200);
    const out = await world.send('POST', '/api/logout', { headers: first.headers });
    assert.match(out.headers.get('set-cookie') ?? '', 'Max-Age=0');
    assert.equal([await statusOf(first.cookie), await statusOf(second.cookie)], [401, 200]);
    await world.clock.advance(12 * 3_600_000);
    assert.is(await statusOf(second.cookie), 401);
    world.stop();
  });

  check('survives a restart with the same secret, and not another password, role or secret', async () => {
    const world = await createConsoleWorld();
    const { cookie } = await world.login('bob');
    world.stop();
    const others = [
      [{}, 200],
      [{ CONSOLE_SECRET: 'another-secret-of-thirty-two-characters' }, 401],
      [{ CONSOLE_USERS: `bob:approver:${await hashText('new')}` }, 401],
      [{ CONSOLE_USERS: `bob:admin:${await hashText('bob-password')}` }, 401],
      [{ CONSOLE_USERS: `ann:approver:${await hashText('bob-password')}` }, 401],
    ] as const;
    for (const [variables, status] of others) {
      const next = await createConsoleWorld({ variables });
      assert.is(
        (await next.send('GET', '/api/approvals', { headers: { cookie } })).status,
        status,
        JSON.stringify(variables),
      );
      next.stop();
    }
  });

  check('that has ended is over after a restart too, and at a console beside, for its copies alone', async () => {
    const file = createLogoutLines();
    const [world, beside] = [await createConsoleWorld({ logouts: file }), await createConsoleWorld({ logouts: file })];
    const [ended, other] = [await world.login('bob'), await world.login('bob')];
    const statusAt = async ({ send }: typeof world, { cookie }: typeof ended) =>
      (await send('GET', '/api/approvals', { headers: { cookie } })).status;
    assert.is(await statusAt(beside, ended), 200);
    assert.is((await world.send('POST', '/api/logout', { headers: ended.headers })).status, 204);
    const restarted = await createConsoleWorld({ logouts: file });
    for (const one of [world, beside, restarted])
      assert.equal([await statusAt(one, ended), await statusAt(one, other)], [401, 200]);
    for (const one of [world, beside, restarted]) one.stop();
  });

  check(
    'that has ended at another console is over for every request, also where one reads of it for the next',
    async () => {
      const read = Promise.withResolvers<void>();
      let calls = 0;
      const file: LogoutFile = {
        append: async () => {},
        // A file gives each line once. The first reader has it, and is not through.
        async readNew() {
          if (++calls > 1) return [];
          await read.promise;
          return ['{"id":"one","ends":1e15}'];
        },
      };
      const { has } = createEndedSessions({ clock: createFakeClock(), file, log: () => {} });
      const found = [has('one'), has('one')];
      await Promise.race([found[1], new Promise((resolve) => setImmediate(resolve))]);
      read.resolve();
      assert.equal(await Promise.all(found), [true, true]);
    },
  );

  check('ends where its file fails, and the log says what that means', async () => {
    const file = createLogoutLines();
    const world = await createConsoleWorld({ logouts: file });
    const { headers } = await world.login('bob');
    file.fail('ENOSPC: no space left on device');
    assert.is((await world.send('GET', '/api/approvals', { headers })).status, 200);
    assert.is((await world.send('POST', '/api/logout', { headers })).status, 204);
    for (let each = 0; each < 2; each += 1)
      assert.is((await world.send('GET', '/api/approvals', { headers })).status, 401);
    const told = world.lines.map((line) => JSON.parse(line) as { event: string; reason?: string });
    assert.equal(
      told.flatMap(({ event, reason }) => (event.startsWith('logout') ? [[event, reason]] : [])),
      ['logouts-not-read', 'logout-not-kept'].map((event) => [event, 'ENOSPC: no space left on device']),
    );
    world.stop();
  });

  check('is not had by a cookie that was changed', async () => {
    const world = await createConsoleWorld();
    const { cookie } = await world.login('vera');
    const [, payload = '', mac = ''] = /^gatehouse=([^.]*)\.(.*)$/.exec(cookie) ?? [];
    const given = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = [
      `${encode({ ...given, name: 'ann' })}.${mac}`,
      `${encode({ ...given, ends: 9e15 })}.${mac}`,
      `${payload}.${mac.slice(0, -1)}`,
      `${payload}.`,
      `${payload}.${mac}x`,
      payload,
      `.${mac}`,
      encode(null),
      'x'.repeat(5000),
    ];
    for (const value of forged)
      assert.is(
        (await world.send('GET', '/api/approvals', { headers: { cookie: `gatehouse=${value}` } })).status,
        401,
        value,
      );
    assert.is((await world.send('GET', '/api/approvals', { headers: { cookie } })).status, 200);
    world.stop();
  });

  check('costs one key whether the name is known or not, and says the same', async () => {
    const world = await createConsoleWorld();
    const answers = [await world.login('ann', 'wrong'), await world.login('nobody', 'wrong')];
    assert.equal(
      answers.map(({ answer }) => answer.status),
      [401, 401],
    );
    assert.is(await answers[0]?.answer.text(), await answers[1]?.answer.text());
    assert.equal(world.scrypt.asked, ['16384 8 5', '16384 8 5']);
    // What stands in for the hash of an unknown name is nobody's password.
    assert.is((await world.login('*', '')).answer.status, 401);
    world.stop();
  });
});

describe('guessing passwords', (check) => {
  const wrong = async (world: Awaited<ReturnType<typeof createConsoleWorld>>, name: string, peer: string) => {
    const { csrf } = (await (await world.send('GET', '/api/me')).json()) as { csrf: string };
    const headers = { 'x-csrf': csrf };
    return world.send('POST', '/api/login', { body: { name, password: 'wrong' }, headers, peer });
  };

  check('is slowed down for a name from everywhere, ever longer up to a minute', async () => {
    const world = await createConsoleWorld();
    for (let each = 0; each < 5; each++) assert.is((await wrong(world, 'ann', `192.0.2.${each}`)).status, 401);
    const waits: number[] = [];
    for (let each = 0; each < 8; each++) {
      const answer = await wrong(world, 'ann', `192.0.2.${100 + each}`);
      assert.is(answer.status, 429);
      const seconds = Number(answer.headers.get('retry-after'));
      waits.push(seconds);
      await world.clock.advance(seconds * 1000);
      assert.is((await wrong(world, 'ann', `192.0.2.${100 + each}`)).status, 401);
    }
    assert.equal(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    // Another name is not held up by it.
    assert.is((await world.login('bob')).answer.status, 204);
    world.stop();
  });

  check('is slowed down for an address with many names, also for the right password', async () => {
    const world = await createConsoleWorld();
    for (let each = 0; each < 20; each++) assert.is((await wrong(world, `name${each}`, '192.0.2.1')).status, 401);
    const asked = world.scrypt.asked.length;
    assert.is((await wrong(world, 'name99', '192.0.2.1')).status, 429);
    assert.is((await wrong(world, 'name99', '192.0.2.2')).status, 401);
    assert.is(world.scrypt.asked.length, asked + 1);
    world.stop();
  });

  check('is slowed down for a whole network of IPv6 addresses, which one machine may have', async () => {
    const world = await createConsoleWorld();
    const statuses: number[] = [];
    for (let each = 0; each < 21; each++)
      statuses.push((await wrong(world, `name${each}`, `2001:db8::${each.toString(16)}:1`)).status);
    assert.equal([statuses.lastIndexOf(401), statuses.at(-1)], [19, 429]);
    assert.is((await wrong(world, 'name99', '2001:db8:0:1::1')).status, 401);
    world.stop();
  });

  check('is not made quicker by trying at the same time', async () => {
    const world = await createConsoleWorld();
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async (_, each) => (await wrong(world, 'ann', `192.0.2.${each}`)).status),
    );
    assert.is(statuses.filter((status) => status === 401).length, 5);
    world.stop();
  });

  check(
    'from elsewhere does not keep users out of browsers in which they have logged in, behind a proxy either',
    async () => {
      const proxy = '192.0.2.1';
      const world = await createConsoleWorld();
      const deviceOf = async (name: string) =>
        (await world.login(name)).answer.headers.getSetCookie()[1]?.split(';')[0] ?? '';
      const [ann, bob] = [await deviceOf('ann'), await deviceOf('bob')];
      const tryAs = async (name: string, password: string, cookie: string) => {
        const { csrf } = (await (await world.send('GET', '/api/me')).json()) as { csrf: string };
        const headers = { 'x-csrf': csrf, cookie };
        return (await world.send('POST', '/api/login', { body: { name, password }, headers, peer: proxy })).status;
      };
      for (let each = 0; each < 20; each++) await wrong(world, each < 5 ? 'ann' : `name${each}`, proxy);
      for (const cookie of ['', bob, `${ann}x`, 'gatehouse-device=', 'gatehouse-device=.'])
        assert.is(await tryAs('ann', 'ann-password', cookie), 429, cookie);
      assert.is(await tryAs('ann', 'ann-password', ann), 204);
      // It opens nothing, and whoever has it guesses no faster.
      assert.is((await world.send('GET', '/api/approvals', { headers: { cookie: ann } })).status, 401);
      for (let each = 0; each < 5; each++) assert.is(await tryAs('ann', 'wrong', ann), 401);
      assert.is(await tryAs('ann', 'ann-password', ann), 429);
      world.stop();
    },
  );

  check('is forgotten after the right password, and after 15 quiet minutes', async () => {
    const world = await createConsoleWorld();
    for (let each = 0; each < 4; each++) await wrong(world, 'ann', `192.0.2.${each}`);
    assert.is((await world.login('ann')).answer.status, 204);
    for (let each = 0; each < 5; each++) assert.is((await wrong(world, 'ann', `192.0.2.${each}`)).status, 401);
    assert.is((await wrong(world, 'ann', '192.0.2.9')).status, 429);
    await world.clock.advance(900_000);
    for (let each = 0; each < 5; each++) assert.is((await wrong(world, 'ann', `192.0.2.${each}`)).status, 401);
    world.stop();
  });
});

describe('a console without accounts', (check) => {
  const bare = { CONSOLE_USERS: '', HOST: '127.0.0.1' };

  check('takes everyone on this machine for its admin, and still wants the CSRF token', async () => {
    const world = await createConsoleWorld({ variables: bare });
    const me = (await (await world.send('GET', '/api/me')).json()) as { user: unknown; csrf: string };
    assert.equal(me.user, { name: 'local', role: 'admin' });
    assert.is((await world.send('GET', '/api/approvals')).status, 200);
    assert.is((await world.send('POST', '/api/keys/abc', { body: { action: 'release' } })).status, 403);
    const headers = { 'x-csrf': me.csrf };
    assert.is((await world.send('POST', '/api/keys/abc', { body: { action: 'release' }, headers })).status, 200);
    assert.is((await world.send('POST', '/api/login', { body: { name: 'ann', password: 'x' }, headers })).status, 409);
    world.stop();
  });

  check('answers no page whose name was made to lead to this machine', async () => {
    const world = await createConsoleWorld({ variables: bare });
    for (const headers of [
      { host: 'evil.example' },
      { host: '127.0.0.1.evil.example' },
      { origin: 'https://evil.example' },
    ]) {
      for (const path of ['/api/me', '/api/approvals', '/api/events']) {
        const answer = await world.send('GET', path, { headers });
        assert.equal([answer.status, await codeOf(answer)], [400, 'invalid_host']);
      }
    }
    world.stop();
  });
});

describe('a console behind a proxy that authenticates', (check) => {
  const behind = (users: string) => ({
    variables: {
      CONSOLE_TRUST_HEADER: 'X-Forwarded-User',
      CONSOLE_USERS: users,
      CONSOLE_PUBLIC_URL: 'https://console.example',
    },
  });

  check('takes the name from the header, and the role from its own list', async () => {
    const world = await createConsoleWorld(behind('ann:admin,*:viewer'));
    const roleOf = async (name: string) => {
      const answer = await world.send('GET', '/api/me', {
        headers: { 'x-forwarded-user': name, host: 'console.example' },
      });
      return ((await answer.json()) as { user: { role: string } | null }).user?.role;
    };
    assert.equal([await roleOf('ann'), await roleOf('zoe'), await roleOf('')], ['admin', 'viewer', undefined]);
    const strict = await createConsoleWorld(behind('ann:admin'));
    assert.is((await strict.send('GET', '/api/approvals', { headers: { 'x-forwarded-user': 'zoe' } })).status, 403);
    assert.is((await strict.send('GET', '/api/approvals')).status, 401);
    for (const one of [world, strict]) one.stop();
  });

  check('believes no page that reaches it under another name, and no token of another name', async () => {
    const world = await createConsoleWorld(behind('ann:admin,bob:admin'));
    const headers = { 'x-forwarded-user': 'ann', host: 'evil.example' };
    assert.is((await world.send('GET', '/api/approvals', { headers })).status, 400);
    const me = await world.send('GET', '/api/me', { headers: { 'x-forwarded-user': 'bob' } });
    const { csrf } = (await me.json()) as { csrf: string };
    const mixed = { 'x-forwarded-user': 'ann', 'x-csrf': csrf };
    assert.is((await world.send('POST', '/api/keys/abc', { body: { action: 'release' }, headers: mixed })).status, 403);
    world.stop();
  });

  check('is off unless it is set: the header alone lets nobody in', async () => {
    const world = await createConsoleWorld();
    assert.is((await world.send('GET', '/api/approvals', { headers: { 'x-forwarded-user': 'ann' } })).status, 401);
    world.stop();
  });
});
