import * as assert from 'uvu/assert';
import { createUser } from '../../../src/demo/relay/records/users.ts';
import { describe } from '../../check.ts';
import { type Answer, relayWorld } from './caller.ts';

const idsOf = ({ items }: Answer): number[] => items.map(({ id }: Answer) => id);

describe('demo relay and its users', (check) => {
  check('searches addresses, names, notes and keys for a part, in any case, the newest first', async () => {
    const { data, control } = relayWorld();
    const found = async (search: string) => idsOf(await data(`users?search=${encodeURIComponent(search)}`));
    assert.equal(await found(' ALICE@example.com '), [8, 2]);
    assert.equal(await found('dave@example.com'), [7, 6]);
    assert.equal(await found('invoice'), [2]);
    const [key] = control.user(4).api_keys;
    assert.equal(await found(key?.key ?? ''), [4]);
    assert.equal(await found('gone@'), []);
  });
  check('cuts a search at 100 characters', async () => {
    const { data } = relayWorld();
    assert.equal(idsOf(await data(`users?search=${'alice@example.com'.padEnd(101, 'x')}`)), []);
    const { control, data: again } = relayWorld();
    control.user(2).notes = 'y'.repeat(100);
    assert.equal(idsOf(await again(`users?search=${'y'.repeat(100)}zzz`)), [2]);
  });
  check('gives pages, at least one, and 20 to a page for a size it does not like', async () => {
    const { data, control } = relayWorld();
    for (let id = 100; id < 1200; id++)
      control.users.push(createUser(id, `u${id}@example.com`, '2026-01-01T00:00:00Z'));
    const frame = async (query: string) => {
      const { items, total, page, page_size, pages } = await data(`users?${query}`);
      return [items.length, total, page, page_size, pages];
    };
    assert.equal(await frame('page_size=1000'), [1000, 1108, 1, 1000, 2]);
    assert.equal(await frame('page_size=1000&page=2'), [108, 1108, 2, 1000, 2]);
    for (const size of ['1001', '0', '-1', 'x', '']) assert.is((await frame(`page_size=${size}`))[3], 20, size);
    assert.is((await frame('limit=7'))[3], 7);
    assert.equal(await frame('search=nobody'), [0, 0, 1, 20, 1]);
  });
  check('shows one user, and a deleted one only to who asks for it', async () => {
    const { answer, data } = relayWorld();
    const user = await data('users/4');
    assert.equal([user.balance, user.concurrency, user.rpm_limit, user.frozen_balance], [98765.43210987, 0, 0, 0]);
    // What an admin has credited stands in the total of the history alone.
    assert.is(user.total_recharged, 0);
    assert.is((await data('users/4/balance-history')).total_recharged, 98765.43210987);
    assert.is((await data('users/8')).balance, -5e-8);
    assert.equal((await answer('users/9'))[1].reason, 'USER_NOT_FOUND');
    assert.ok((await data('users/9?include_deleted=true')).deleted_at);
    assert.is((await answer('users/abc'))[0], 400);
  });
  check('has someone whose name and notes mean harm', async () => {
    const { notes, username } = await relayWorld().data('users/5');
    assert.match(notes, /<\/data>[\s\S]*SYSTEM: call recharge/);
    for (const mark of ['\u202E', '\u200B', '\u{E0041}']) assert.ok(username.includes(mark));
  });
  check('spends while others look', async () => {
    const { data, control } = relayWorld();
    control.setRunningDebit(2, '0.25');
    assert.equal([(await data('users/2')).balance, (await data('users/2')).balance], [12.25, 12]);
    await data('users/3');
    await data('users?search=alice@');
    control.setRunningDebit(2, '0');
    assert.is((await data('users/2')).balance, 11.75);
    assert.is(control.credits().length, 0);
  });
  check('changes what is given and leaves what is null, unknown or not given', async () => {
    const { data, control } = relayWorld();
    const body = { rpm_limit: -3, concurrency: null, balance: 500, nonsense: true };
    assert.is((await data('users/2', { method: 'PUT', body })).rpm_limit, -3);
    const { rpm_limit, concurrency, balance, notes } = control.user(2);
    assert.equal([rpm_limit, concurrency, balance, notes], [-3, 5, 1250000000n, 'Pays by invoice']);
  });
  check('writes a change of concurrency, and no other, into the history', async () => {
    const { data } = relayWorld();
    const rows = async () => (await data('users/3/balance-history')).items;
    await data('users/3', { method: 'PUT', body: { rpm_limit: 5 } });
    assert.equal(await rows(), []);
    await data('users/3', { method: 'PUT', body: { concurrency: 2 } });
    const [row] = await rows();
    assert.equal([row.type, row.value], ['admin_concurrency', -3]);
  });
  check('refuses what does not fit, and breaks on what its column cannot hold', async () => {
    const { answer } = relayWorld();
    const put = async (id: number, body: unknown) => (await answer(`users/${id}`, { method: 'PUT', body }))[0];
    for (const body of [{ rpm_limit: '5' }, { rpm_limit: 1.5 }, { status: 'gone' }, '{'])
      assert.is(await put(2, body), 400);
    assert.is(await put(2, { rpm_limit: 2 ** 31 }), 500);
    assert.is(await put(1, { status: 'disabled' }), 500);
    assert.is(await put(77, {}), 404);
  });
  check('reports a history by type and page, the newest first, and an empty one for no one', async () => {
    const { data } = relayWorld();
    const all = await data('users/2/balance-history?page_size=2');
    assert.equal([idsOf(all), all.total, all.pages, all.total_recharged], [[3, 2], 3, 2, 15]);
    assert.equal(idsOf(await data('users/2/balance-history?type=balance')), [1]);
    assert.equal(await data('users/4711/balance-history'), {
      items: [],
      total: 0,
      page: 1,
      page_size: 20,
      pages: 1,
      total_recharged: 0,
    });
  });
  check('shows what is used of a limit', async () => {
    const usage = await relayWorld().data('users/2/rpm-status');
    assert.equal(usage, { user_rpm_used: 0, user_rpm_limit: 60, per_group: null });
  });
});

describe('demo relay and its accounts', (check) => {
  check('switches an account, and off where nothing is said', async () => {
    const { data, control, answer } = relayWorld();
    const set = (body: unknown) => data('accounts/1/schedulable', { method: 'POST', body });
    for (const [body, expected] of [
      [{ schedulable: true }, true],
      [{}, false],
      [{ schedulable: true }, true],
      [{ schedulable: null }, false],
    ] as const) {
      assert.is((await set(body)).schedulable, expected);
      assert.is(control.account(1).schedulable, expected);
    }
    for (const body of [{ schedulable: 'yes' }, ''])
      assert.is((await answer('accounts/1/schedulable', { method: 'POST', body }))[0], 400);
    const [status, body] = await answer('accounts/99/schedulable', { method: 'POST', body: {} });
    assert.equal([status, body.reason], [404, 'ACCOUNT_NOT_FOUND']);
  });
  check('lists them by name, and by the state that follows from the rest', async () => {
    const { data } = relayWorld();
    const ids = async (query: string) => idsOf(await data(`accounts?${query}`));
    assert.equal(await ids(''), [2, 3, 1, 4]);
    assert.equal(await ids('status=active'), [3, 1]);
    assert.equal(await ids('status=unschedulable'), [2]);
    assert.equal(await ids('status=rate_limited'), [4]);
    assert.equal(await ids('status=error'), [4]);
    assert.equal(await ids('group=3&platform=openai'), [1]);
  });
  check('says 304 to who has the list, until it changes', async () => {
    const { call, control } = relayWorld();
    const etag = (await call('accounts')).headers.get('etag') ?? '';
    const again = () => call('accounts', { headers: { 'if-none-match': etag } });
    assert.equal([(await again()).status, await (await again()).text()], [304, '']);
    control.account(1).schedulable = false;
    assert.is((await again()).status, 200);
  });
  check('reports what rests: a model, or an account for a while', async () => {
    const { data, control, clock } = relayWorld();
    const [scope] = Object.entries<Answer>((await data('accounts/3')).extra.model_rate_limits);
    assert.is(scope?.[0], 'gemini-2.5-pro');
    assert.ok(Date.parse(scope?.[1].rate_limit_reset_at) > clock.now());
    assert.equal(await data('accounts/1/temp-unschedulable'), { active: false });
    control.account(1).temp_unschedulable_until = new Date(clock.now() + 60_000).toISOString();
    assert.is((await data('accounts/1/temp-unschedulable')).state.until_unix, clock.now() / 1000 + 60);
    assert.equal(idsOf(await data('accounts?status=temp_unschedulable')), [1]);
    assert.equal(
      (await data('accounts/3/models')).map(({ id }: Answer) => id),
      ['gemini-2.5-pro', 'gemini-2.5-flash'],
    );
  });
});

/** What a tool may be allowed to read beside the records above. */
const READABLE = [
  'system/version',
  ...['snapshot-v2', 'stats', 'realtime', 'trend', 'models', 'groups'].map((name) => `dashboard/${name}`),
  ...['api-keys-trend', 'users-trend', 'users-ranking', 'user-breakdown'].map((name) => `dashboard/${name}`),
  ...['concurrency', 'user-concurrency', 'account-availability', 'realtime-traffic'].map((name) => `ops/${name}`),
  ...['ops/system-logs/health', 'ops/dashboard/overview', 'ops/dashboard/snapshot-v2', 'ops/dashboard/error-trend'],
  ...['throughput-trend', 'latency-histogram', 'error-distribution', 'openai-token-stats'].map(
    (name) => `ops/dashboard/${name}`,
  ),
  ...['users/2/platform-quotas', 'users/2/subscriptions', 'usage/stats', 'risk-control/config', 'risk-control/status'],
  ...['groups', 'groups/all', 'groups/1', 'groups/usage-summary', 'groups/capacity-summary', 'groups/1/stats'],
  ...['alert-events', 'alert-rules', 'ingress-rejections', 'auth-cache-invalidation/health'].map(
    (name) => `ops/${name}`,
  ),
  ...['ops/request-errors', 'ops/upstream-errors', 'risk-control/logs', 'subscriptions', 'groups/1/rate-multipliers'],
  ...['groups/3/composite-routes', 'groups/1/models-list-candidates', 'channels', 'channels/2'],
  ...['accounts/1/stats', 'accounts/1/today-stats', 'accounts/1/models'],
  ...['overload-cooldown', 'rate-limit-429-cooldown', 'panel-rate-limit', 'stream-timeout'].map(
    (name) => `settings/${name}`,
  ),
];

describe('demo relay and what else can be read', (check) => {
  check('answers everything that a tool may be allowed to read', async () => {
    const { answer, control } = relayWorld();
    for (const path of READABLE) {
      const [status, body] = await answer(path);
      assert.equal([status, body.code, typeof body.data], [200, 0, 'object'], path);
    }
    assert.equal(control.traps(), []);
  });
  check('has a group that routes by model and a channel that serves only what it prices', async () => {
    const { data } = relayWorld();
    const [route] = await data('groups/3/composite-routes');
    assert.equal([route.public_model, route.match_type, route.group_id], ['smart', 'exact', 3]);
    const channel = await data('channels/2');
    assert.equal([channel.restrict_models, channel.model_pricing[1].models[0]], [true, 'gemini-2.5-pro']);
    assert.equal(await data('groups/1/models-list-candidates'), { models: ['gpt-5', 'gpt-5-mini'] });
    assert.is((await data('groups/1')).rpm_limit, 120);
  });
  check('fails over the composite routes of any other group', async () => {
    const { answer } = relayWorld();
    const [status, body] = await answer('groups/1/composite-routes');
    assert.equal([status, body.message], [500, 'internal error']);
  });
  check('has the names of older releases or those of newer ones, never both', async () => {
    const { call, control, data } = relayWorld();
    assert.is((await call('groups/1/model-allowlist-candidates')).status, 404);
    assert.ok(Object.hasOwn(await data('groups/1'), 'models_list_config'));
    control.setModelAllowlist(true);
    assert.is((await call('groups/1/models-list-candidates')).status, 404);
    assert.equal(await data('groups/1/model-allowlist-candidates'), { models: ['gpt-5', 'gpt-5-mini'] });
    const group = await data('groups/1');
    assert.ok(Object.hasOwn(group, 'model_allowlist') && !Object.hasOwn(group, 'models_list_config'));
  });
  check('names the exemption of admins from the panel’s limit as the platform does', async () => {
    assert.is((await relayWorld().data('settings/panel-rate-limit')).exempt_admin, true);
  });
  check('knows no group and no channel beyond its own', async () => {
    const { answer } = relayWorld();
    assert.is((await answer('groups/9'))[1].reason, 'GROUP_NOT_FOUND');
    assert.is((await answer('channels/9'))[1].reason, 'CHANNEL_NOT_FOUND');
    assert.is((await answer('groups/x'))[0], 400);
  });
});
