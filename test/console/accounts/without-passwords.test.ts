import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { codeOf, createConsoleWorld } from '../harness/world.ts';

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
