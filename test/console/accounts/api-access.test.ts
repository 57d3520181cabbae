import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { codeOf, createConsoleWorld } from '../harness/world.ts';

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
