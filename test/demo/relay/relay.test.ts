import * as assert from 'uvu/assert';
import { DEMO_ADMIN_KEY, PLANTED_SECRETS } from '../../../src/demo/relay/records/secrets.ts';
import { describe } from '../../check.ts';
import { words } from '../../words.ts';
import { relayWorld } from './caller.ts';

describe('authentication at the demo relay', (check) => {
  check('is well without a key, and says so in the four ways a platform and its proxies have', async () => {
    const { call, control } = relayWorld();
    const seen = async () => {
      const response = await call('/health', { headers: { 'x-api-key': '' } });
      return [response.status, response.headers.get('content-type')?.split(';')[0], await response.text()] as const;
    };
    assert.equal(await seen(), [200, 'application/json', '{"status":"ok"}']);
    control.setHealthAnswer('json-200-not-ok');
    assert.equal(await seen(), [200, 'application/json', '{"status":"starting"}']);
    control.setHealthAnswer('html');
    assert.equal((await seen()).slice(0, 2), [200, 'text/html']);
    control.setHealthAnswer('down-404');
    assert.equal((await seen()).slice(0, 2), [404, 'text/plain']);
  });
  check('says whether it is set up', async () => {
    const { data } = relayWorld();
    assert.equal(await data('/setup/status'), { needs_setup: false, step: 'completed' });
  });
  check('looks at nothing but the admin key where there is one, and takes it as no bearer token', async () => {
    const { answer } = relayWorld();
    const bearer = { authorization: `Bearer ${DEMO_ADMIN_KEY}` };
    assert.equal(await answer('users', { headers: { 'x-api-key': 'admin-wrong', ...bearer } }), [
      401,
      { code: 'INVALID_ADMIN_KEY', message: 'Invalid admin API key' },
    ]);
    assert.equal(await answer('users', { headers: { 'x-api-key': '', ...bearer } }), [
      401,
      { code: 'INVALID_TOKEN', message: 'Invalid token' },
    ]);
    assert.equal(await answer('users', { headers: { 'x-api-key': '' } }), [
      401,
      { code: 'UNAUTHORIZED', message: 'Authorization required' },
    ]);
  });
  check('forgets the old key as soon as there is a new one', async () => {
    const { answer, control } = relayWorld();
    control.setKey('admin-new');
    assert.is((await answer('users'))[0], 401);
    assert.is((await answer('users', { headers: { 'x-api-key': 'admin-new' } }))[0], 200);
  });
  check('asks for the terms before there is any key, and for the key once they are accepted', async () => {
    const { answer, control } = relayWorld();
    control.setKey('');
    control.setTermsAccepted(false);
    assert.is((await answer('users'))[0], 423);
    control.setTermsAccepted(true);
    assert.equal([(await answer('users'))[0], (await answer('users'))[1].code], [401, 'INVALID_ADMIN_KEY']);
  });
  check('is well while its database is down, and fails everything else', async () => {
    const { answer, control } = relayWorld();
    control.setDatabaseDown(true);
    assert.is((await answer('/health'))[0], 200);
    for (const path of ['users', '/api/v1/settings/public']) assert.is((await answer(path))[0], 500, path);
  });
  check('locks everything but the terms themselves until they are accepted, yet asks for the key first', async () => {
    const { answer, control } = relayWorld();
    control.setTermsAccepted(false);
    const [status, body] = await answer('users');
    assert.equal([status, body.code, 'data' in body], [423, 'ADMIN_COMPLIANCE_ACK_REQUIRED', false]);
    assert.is(body.metadata.version, 'v2026.06.10');
    assert.is((await answer('users', { headers: { 'x-api-key': 'x' } }))[0], 401);
    assert.is((await answer('compliance'))[0], 200);
  });
  check('needs an admin for its key to act as', async () => {
    const { answer, control } = relayWorld();
    control.user(1).status = 'disabled';
    assert.equal((await answer('users'))[1].code, 'INTERNAL_ERROR');
  });
  check('finds a route by its decoded path, literal paths first', async () => {
    const { data, control } = relayWorld();
    assert.is((await data('users/1%2Fapi-keys')).items[0].name, 'laptop');
    assert.ok((await data('accounts/data')).proxies);
    assert.equal(control.traps(), ['GET users/:id/api-keys', 'GET accounts/data']);
  });
  check('sends a trailing slash away, and knows no other path or method', async () => {
    const { call } = relayWorld();
    const slashed = await call('users/?page=2');
    assert.equal([slashed.status, slashed.headers.get('location')], [301, '/api/v1/admin/users?page=2']);
    assert.is((await call('users/2/balance/', { method: 'POST' })).status, 307);
    for (const path of ['nothing', 'users//2', '/api/v1/users']) assert.is((await call(path)).status, 404, path);
    assert.is((await call('users', { method: 'PATCH' })).status, 404);
    assert.is((await call('users/%zz')).status, 400);
  });
  check('keeps what it was asked, as it was asked, until asked to forget', async () => {
    const { call, control, clock } = relayWorld();
    await call('users?search=a%20b', { headers: { accept: 'text/x' } });
    await call('users/2', { method: 'PUT', body: '{"rpm_limit": 7}' });
    const [first, second] = control.requests();
    assert.is(first?.target, '/api/v1/admin/users?search=a%20b');
    assert.equal([first?.method, first?.headers.accept, first?.at], ['GET', 'text/x', clock.now()]);
    assert.is(second?.body, '{"rpm_limit": 7}');
    control.clearRequests();
    assert.equal(control.requests(), []);
  });
  check('rotates its key when the trap for that is sprung', async () => {
    const { data, answer } = relayWorld();
    const { key } = await data('settings/admin-api-key/regenerate', { method: 'POST' });
    assert.match(key, /^admin-[0-9a-f]{64}$/);
    assert.is((await answer('users'))[0], 401);
    assert.is((await answer('users', { headers: { 'x-api-key': key } }))[0], 200);
  });
});

const SHOWING = words(`
  users users/2 users/2/balance-history groups/1/api-keys accounts accounts/1 accounts/4 channels dashboard/stats
  ops/account-availability risk-control/config settings proxies redeem-codes data-management/config
  backups/1/download-url
`);

describe('demo relay and its secrets', (check) => {
  const shown = async ({ call }: ReturnType<typeof relayWorld>) =>
    (await Promise.all(SHOWING.map(async (path) => (await call(path)).text()))).join('\n');

  check('lays out every secret on its list somewhere', async () => {
    const text = await shown(relayWorld());
    const unseen = PLANTED_SECRETS.filter((secret) => !text.includes(secret));
    assert.equal(unseen, []);
    assert.is(new Set(PLANTED_SECRETS).size, PLANTED_SECRETS.length);
  });
  check('has its key and others in what a tool may well read', async () => {
    const { call } = relayWorld();
    assert.match(await (await call('accounts/4')).text(), DEMO_ADMIN_KEY);
    assert.match(await (await call('dashboard/stats')).text(), DEMO_ADMIN_KEY);
  });
  check('shows none of them once asked to', async () => {
    const world = relayWorld();
    world.control.plantSecrets(false);
    const text = (await shown(world)) + (await (await world.credit(1)).text());
    assert.equal(
      PLANTED_SECRETS.filter((secret) => text.includes(secret)),
      [],
    );
    assert.is((await world.data('accounts/1')).name, 'openai-main');
  });
});
