import * as assert from 'uvu/assert';
import { createEndedSessions, type LogoutFile } from '../../../src/console/accounts/ended-sessions.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createConsoleWorld, createLogoutLines, hashText } from '../harness/world.ts';

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
      const { has } = createEndedSessions(file, { clock: createFakeClock(), log: () => {} });
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
