import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { errorTextFor } from '../../../../src/relay-admin/errors/error-text.ts';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { formatErrorText } from '../../../../src/relay-admin/errors/format.ts';
import { createReadTool } from '../../../../src/relay-admin/tools/read.ts';
import { describe, rejection } from '../../../check.ts';
import { processorTime } from '../../../processor-time.ts';
import { createScriptedRelay } from '../../harness/scripted-relay.ts';
import { createWorld, resultOf, refusalOf as worldRefusalOf } from '../../harness/world.ts';
import { callTool } from '../tool-calls.ts';
import { readOf } from './world.ts';

const HEX = '0123456789abcdef'.repeat(4);

const refusalOf = async (given: unknown) => {
  const { relay, asked } = createScriptedRelay(() => ({ version: '1' }));
  const error = await rejection(callTool(createReadTool({ relay, hideKey: (text) => text }), given));
  if (!(error instanceof RelayError)) throw error;
  return { words: formatErrorText(errorTextFor(error.detail)), asked };
};
const accounts = (count: number) => ({
  items: Array.from({ length: count }, (_, id) => ({ id, name: `account ${id}`, error_message: 'busy '.repeat(70) })),
  total: 500,
  page: 1,
  page_size: count,
  pages: 5,
});

describe('read', (check) => {
  check('reports the version of the relay', async () => {
    const { result, asked } = await readOf(
      { version: '0.1.179', build: 'x' },
      { path: '/api/v1/admin/system/version' },
    );
    assert.equal(result, { path: 'system/version', data: { version: '0.1.179' }, truncated: false, narrow: null });
    // The route of this name hangs while GitHub is silent; the public settings carry the version, too.
    assert.equal(asked, [{ path: 'settings/public', query: {} }]);
  });
  check('finds the version without the key, and hands on nothing else of the public settings', async () => {
    const world = createWorld();
    const result = await resultOf(world.start(), 'read', { path: 'system/version' });
    assert.equal(result.data, { version: '0.1.179' });
    const [request, ...more] = world.control.requests();
    assert.equal([request?.target, more], ['/api/v1/settings/public', []]);
    assert.not.ok(Object.hasOwn(request?.headers ?? {}, 'x-api-key'));
  });
  check('says of an ordinary group that it has no composite routes, and asks once', async () => {
    const world = createWorld();
    const admin = world.start();
    const text = await worldRefusalOf(admin, 'read', { path: 'groups/1/composite-routes' });
    assert.match(text, /^NOT_COMPOSITE: .*not composite\. outcome=not_applied retry=no\. /);
    assert.is(world.control.requests().length, 1);
    const rows = await resultOf(admin, 'read', { path: 'groups/3/composite-routes' });
    assert.is((rows.data as unknown[]).length, 1);
  });
  check('finds the models of a group under the name of either release, and says which it was', async () => {
    const world = createWorld();
    const admin = world.start();
    const names = ['models-list-candidates', 'model-allowlist-candidates'];
    for (const [isNewer, found] of names.entries()) {
      world.control.setModelAllowlist(isNewer === 1);
      for (const name of names) {
        const { path, data } = await resultOf(admin, 'read', { path: `groups/1/${name}` });
        assert.equal([path, data], [`groups/1/${found}`, { models: ['gpt-5', 'gpt-5-mini'] }]);
      }
    }
    assert.match(await worldRefusalOf(admin, 'read', { path: 'groups/9/models-list-candidates' }), /^NOT_FOUND/);
  });
  check('cuts a trend of 24 hours at its beginning, and says so', async () => {
    const at = (index: number) => new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString();
    const points = Array.from({ length: 1440 }, (_, index) => ({ bucket_start: at(index), request_count: index }));
    const given = { path: 'ops/dashboard/throughput-trend', query: { time_range: '24h' } };
    const { result } = await readOf({ bucket: '1m', points }, given);
    const kept = (result.data as { points: typeof points }).points;
    assert.ok(kept.length >= 50 && kept.length < 1440);
    assert.equal(kept, points.slice(-kept.length));
    assert.match(String(result.narrow), 'the newest part is kept');
  });
  check('names the jobs of heartbeats, and not what they failed with', async () => {
    const heartbeat = { job_name: 'ops_cleanup', last_duration_ms: 12, last_error: 'canary' };
    const { result } = await readOf({ job_heartbeats: [heartbeat] }, { path: 'ops/dashboard/overview' });
    assert.equal(result.data, { job_heartbeats: [{ job_name: 'ops_cleanup', last_duration_ms: 12 }] });
  });
  check('asks for a page of 20 unless it is configured otherwise', async () => {
    const empty = { items: [], total: 0, page: 1, page_size: 20, pages: 1 };
    const { asked } = await readOf(empty, { path: 'users' });
    assert.equal(asked[0]?.query, { page: 1, page_size: 20, include_subscriptions: false });
    const other = await readOf(empty, { path: 'users', query: { page_size: 5, role: 'admin' } });
    assert.equal(other.asked[0]?.query, { page: 1, page_size: '5', include_subscriptions: false, role: 'admin' });
  });
  check('sends nothing when it refuses', async () => {
    const refused: readonly unknown[] = [
      {},
      { path: 7 },
      { path: 'settings' },
      { path: 'users/1/api-keys' },
      { path: 'users/%2e%2e/settings' },
      { path: '//evil.test/x' },
      { path: 'users/0' },
      { path: `users/${'1'.repeat(300)}` },
      { path: 'users', query: { search: 'sk-a' } },
      { path: 'users', query: { page: 0 } },
      { path: 'users', query: { page: { $gt: 1 } } },
      { path: 'users', query: ['page'] },
      { path: 'users', query: 'page=2' },
      { path: 'users', method: 'DELETE' },
      { path: 'users', headers: { 'x-api-key': 'x' } },
    ];
    for (const given of refused) {
      const { asked, words } = await refusalOf(given);
      assert.equal(asked, [], words);
      assert.match(words, /^(?:INVALID_ARGUMENT|ROUTE_NOT_ALLOWED): .* outcome=not_applied/);
    }
  });
  check('never quotes what it refuses', async () => {
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^ZZ[a-zA-Z0-9/%.:@-]{4,20}$/), async (secret) => {
        for (const given of [
          { path: secret },
          { path: `users?${secret}` },
          { path: 'users', query: { [secret]: 1 } },
          { path: 'users', query: { status: secret } },
          { path: 'users', query: { [secret]: { [secret]: secret } } },
          { path: 'users', [secret]: secret },
        ]) {
          const { words, asked } = await refusalOf(given);
          assert.not.ok(words.includes(secret), words);
          assert.equal(asked, []);
        }
      }),
    );
  });
  check('shows no secret that the relay holds', async () => {
    const planted = {
      id: 7,
      email: 'bob@example.test',
      username: `bob\u202e\u200b sk-${HEX}`,
      balance: 1,
      api_keys: [{ key: `sk-${HEX}` }],
      password: HEX,
      nested: { refresh_token: HEX, proxy_url: `http://u:${HEX}@proxy.test` },
    };
    for (const [path, data] of [
      ['users/7', planted],
      ['users', { items: [planted] }],
      [
        'accounts/7',
        { ...planted, name: `admin-${HEX}`, error_message: JSON.stringify(planted), credentials: planted },
      ],
      ['dashboard/stats', { ...planted, models: [{ model: HEX, ...planted }], [HEX]: 1, [`admin-${HEX}`]: { a: 1 } }],
      ['groups/all', [{ ...planted, description: `key=${HEX}` }]],
    ] as const) {
      const { result } = await readOf(data, { path });
      assert.not.match(JSON.stringify(result), /0123456789abcdef|\u202e|\u200b/, path);
    }
  });
  check('cuts a long page and says how to see the rest', async () => {
    const { result } = await readOf(accounts(100), { path: 'accounts', query: { page_size: 100 } });
    assert.ok(Buffer.byteLength(JSON.stringify(result)) <= 24 * 1024);
    assert.is(result.truncated, true);
    assert.match(
      String(result.narrow),
      /first 50 items: ask with page_size 50 .* narrow it with platform, type, status/,
    );
    const again = await readOf(accounts(50), { path: 'accounts', query: { page_size: 50 } });
    assert.is(again.result.truncated, false);
  });
  check('names what narrows figures, and what to do where nothing does', async () => {
    const trend = {
      trend: Array.from({ length: 900 }, (_, day) => ({ date: '2026-01-01', requests: day, cost: 1.25 })),
    };
    const { result } = await readOf(trend, { path: 'dashboard/trend' });
    assert.match(String(result.narrow), /narrow it with start_date, end_date/);
    const users = { user: Object.fromEntries(Array.from({ length: 3000 }, (_, id) => [id, { current_in_use: 1 }])) };
    const other = await readOf(users, { path: 'ops/user-concurrency' });
    assert.match(String(other.result.narrow), /nothing to narrow it with/);
  });
  check('stays within 24 KB, in shape and in time, whatever the relay sends', async () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, id) => [`m${id}`, { name: '日'.repeat(20) }]));
    const long = { models: Array.from({ length: 1000 }, () => ({ model: 'secret="'.repeat(500) })) };
    for (const data of [deep, wide, long, { a: deep, b: wide, c: long }]) {
      const spentMs = processorTime();
      const { result } = await readOf(data, { path: 'dashboard/stats' });
      assert.ok(spentMs() < 3000);
      assert.ok(Buffer.byteLength(JSON.stringify(result)) <= 24 * 1024);
      assert.equal(Object.keys(result), ['path', 'data', 'truncated', 'narrow']);
    }
  });
  check('distinguishes an answer of another shape from an empty one', async () => {
    const { relay } = createScriptedRelay(() => ({ list: [] }));
    const error = await rejection(callTool(createReadTool({ relay, hideKey: (text) => text }), { path: 'users' }));
    assert.ok(error instanceof RelayError && error.detail.kind === 'upstream-contract');
    assert.equal((await readOf(null, { path: 'users/7/subscriptions' })).result.data, []);
  });
  check('is published as a read, with every argument described', () => {
    const { published, isWriter } = createReadTool({ ...createScriptedRelay(() => null), hideKey: (text) => text });
    assert.not.ok(isWriter);
    assert.is(published.name, 'read');
    assert.ok(published.description.length >= 200 && published.description.length <= 800, published.description);
    assert.equal(published.annotations.readOnlyHint, true);
    assert.equal(published.annotations.destructiveHint, false);
    assert.equal(Object.keys(published.inputSchema.properties as object), ['path', 'query']);
    assert.is(published.inputSchema.additionalProperties, false);
    assert.equal(published.outputSchema.required, ['path', 'data', 'truncated', 'narrow']);
  });
});
