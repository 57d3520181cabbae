import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { RelayError, type RelayErrorDetail } from '../../../src/relay-admin/errors/errors.ts';
import { CONTROL_OPTIONS } from '../../../src/relay-admin/models/options.ts';
import { matchesPattern } from '../../../src/relay-admin/models/views.ts';
import { createModelControlOptionsTool } from '../../../src/relay-admin/tools/model-control-options.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import {
  type Asked,
  assertWellDescribed,
  bytesOf,
  callTool,
  createScriptedRelay,
  HOSTILE,
  problemOf,
  SILENCE,
  UNSEEN,
} from './scripted-relay.ts';

type Row = Readonly<Record<string, unknown>>;
type World = { readonly accounts?: unknown; readonly groups?: unknown; readonly channels?: unknown };

const account = (id: number, more: Row = {}): Row => ({
  id,
  name: `account ${id}`,
  platform: 'anthropic',
  status: 'active',
  schedulable: true,
  credentials: { token: 'canary-secret' },
  extra: {},
  error_message: 'canary-error',
  ...more,
});

const group = (id: number, more: Row = {}): Row => ({
  id,
  name: `group ${id}`,
  platform: 'anthropic',
  status: 'active',
  rpm_limit: 60,
  rate_multiplier: 1.5,
  model_routing: null,
  ...more,
});

const channel = (id: number, more: Row = {}): Row => ({
  id,
  name: `channel ${id}`,
  status: 'active',
  restrict_models: false,
  group_ids: [1],
  model_pricing: [],
  model_mapping: {},
  ...more,
});

const times = (count: number, row: (id: number) => Row): readonly Row[] =>
  Array.from({ length: count }, (_, index) => row(index + 1));

const pageOf = (rows: unknown, { query }: Asked) => {
  if (!Array.isArray(rows)) return rows;
  const [page, size] = [Number(query.page), Number(query.page_size)];
  return { items: rows.slice((page - 1) * size, page * size), total: rows.length };
};

const answerIn =
  ({ accounts = [], groups = [], channels = [] }: World) =>
  (asked: Asked): unknown => {
    if (asked.path === 'groups/all') return groups;
    if (asked.path === 'accounts') return pageOf(accounts, asked);
    if (asked.path === 'channels') return pageOf(channels, asked);
    return new Error(`Asked for ${asked.path}`);
  };

const over = (world: World, hasKey = true) => {
  const { relay, asked } = createScriptedRelay(answerIn(world));
  const tool = createModelControlOptionsTool({ relay, hasKey });
  const call = async (given: unknown = {}) => JSON.parse(JSON.stringify(await callTool(tool, given)));
  return { asked, tool, call };
};

const failing = (detail: RelayErrorDetail) => new RelayError(detail);
const LIMIT_BYTES = 12 * 1024;
const MODEL = 'claude-sonnet-4-5';

describe('model_control_options without a key', (check) => {
  check('explains from what is known, and asks the relay for nothing', async () => {
    const { call, asked } = over({ accounts: [account(1)] }, false);
    const result = await call();
    assert.is(result.source, 'static');
    assert.equal(result.unread, [
      { list: 'accounts', reason: 'no_admin_key' },
      { list: 'groups', reason: 'no_admin_key' },
      { list: 'channels', reason: 'no_admin_key' },
    ]);
    assert.equal([result.accounts, result.groups, result.channels], [null, null, null]);
    assert.equal(result.options, CONTROL_OPTIONS);
    assert.equal(asked, []);
  });

  check('says that no limit for a single model exists', async () => {
    const { summary, options } = await over({}, false).call();
    assert.match(summary, /no configurable rate or concurrency limit for a single model/);
    const option = options.find(({ control }: Row) => control === 'rate or concurrency limit of a model');
    assert.equal([option.can, option.by], [false, 'nothing']);
  });

  check('credits each writer only with what it can do', () => {
    const by = (writer: string) => CONTROL_OPTIONS.filter((option) => option.by === writer);
    assert.equal(
      by('update_user_limits').map(({ scope, control, zero_means }) => [scope, control, zero_means]),
      [
        ['user', 'rpm_limit', 'unlimited'],
        ['user', 'concurrency', 'unlimited'],
      ],
    );
    assert.equal(
      by('set_account_schedulable').map(({ scope }) => scope),
      ['account', 'model'],
    );
    assert.ok(CONTROL_OPTIONS.every(({ by: who, can }) => can === (who !== 'nothing')));
  });

  check('distinguishes the quota for which 0 means nothing at all from the limits for which it means unlimited', () => {
    const quota = CONTROL_OPTIONS.find(({ scope }) => scope === 'user_and_platform');
    assert.is(quota?.zero_means, 'no use at all');
    const price = CONTROL_OPTIONS.find(({ scope }) => scope === 'price');
    assert.equal([price?.control, price?.can], ['rate_multiplier', false]);
  });
});

describe('model_control_options with a key', (check) => {
  check('gives an overview of accounts, groups and channels', async () => {
    const { call } = over({ accounts: [account(1)], groups: [group(2)], channels: [channel(3)] });
    const { source, unread, model, accounts, groups, channels } = await call();
    assert.equal([source, unread, model], ['live', [], null]);
    assert.equal(accounts, {
      total: 1,
      examined: 1,
      matching: 1,
      shown: [
        {
          id: 1,
          name: 'account 1',
          platform: 'anthropic',
          status: 'active',
          schedulable: true,
          model_mapping: null,
          model_limits: null,
        },
      ],
    });
    assert.equal(groups.shown, [
      {
        id: 2,
        name: 'group 2',
        platform: 'anthropic',
        status: 'active',
        rpm_limit: 60,
        rate_multiplier: 1.5,
        model_in: null,
        allows_model: null,
      },
    ]);
    assert.equal(channels.shown, [
      {
        id: 3,
        name: 'channel 3',
        status: 'active',
        restrict_models: false,
        lists_model: null,
        maps_model: null,
        group_ids: [1],
      },
    ]);
  });

  check('says which setting for models the groups of this release have', async () => {
    for (const [more, setting] of [
      [{ models_list_config: { enabled: false } }, 'models_list_config'],
      [{ model_allowlist: { enabled: false, models: [] } }, 'model_allowlist'],
      [{}, null],
    ] as const) {
      assert.is((await over({ groups: [group(2, more)] }).call()).group_model_setting, setting);
    }
  });

  check('shows the groups whose allow-list shuts the model out, which the older setting never did', async () => {
    const groups = [
      group(1, { model_allowlist: { enabled: true, models: ['gpt-5'] } }),
      group(2, { model_allowlist: { enabled: true, models: [MODEL] } }),
      group(3, { model_allowlist: { enabled: false, models: ['gpt-5'] } }),
      group(4, { models_list_config: { enabled: true, models: ['gpt-5'] } }),
    ];
    const { groups: shown } = await over({ groups }).call({ model: MODEL });
    assert.equal(
      shown.shown.map(({ id, allows_model }: { id: number; allows_model: boolean | null }) => [id, allows_model]),
      [
        [1, false],
        [2, true],
      ],
    );
  });

  check('shows the automatic limits of the model asked for, and of no other', async () => {
    const limits = {
      [MODEL]: {
        rate_limited_at: '2026-01-01T00:00:00Z',
        rate_limit_reset_at: '2026-01-01T05:00:00Z',
        reason: 'canary',
      },
      'claude-opus-4': { rate_limit_reset_at: '2026-01-02T00:00:00Z' },
    };
    const { call } = over({ accounts: [account(1, { extra: { model_rate_limits: limits } })] });
    const { accounts } = await call({ model: MODEL });
    assert.equal(accounts.shown[0].model_limits, [{ scope: MODEL, resets_at: '2026-01-01T05:00:00Z' }]);
    assert.not.match(JSON.stringify(accounts), 'canary');
  });

  check('shows a limit that the relay keeps under the mapped name or the name of a family', async () => {
    const limit = { rate_limit_reset_at: '2026-01-01T05:00:00Z' };
    const { call } = over({
      accounts: [
        account(1, {
          credentials: { model_mapping: { [MODEL]: 'claude-sonnet-4-5-20250929' } },
          extra: { model_rate_limits: { 'claude-sonnet-4-5-20250929': limit } },
        }),
        account(2, { extra: { model_rate_limits: { 'antigravity:gemini': limit } } }),
      ],
    });
    const scopes = async (model: string) =>
      (await call({ model })).accounts.shown.map(({ id, model_limits }: { id: number; model_limits: Row[] }) => [
        id,
        model_limits.map(({ scope }) => scope),
      ]);
    assert.equal(await scopes(MODEL), [
      [1, ['claude-sonnet-4-5-20250929']],
      [2, []],
    ]);
    assert.equal(await scopes('gemini-2.5-pro'), [
      [2, ['antigravity:gemini']],
      [1, []],
    ]);
  });

  check('puts the accounts first that say most about the model', async () => {
    const mapped = (model: string) => ({ credentials: { model_mapping: { [model]: model } } });
    const limited = { extra: { model_rate_limits: { [MODEL]: { rate_limit_reset_at: null } } } };
    const { call } = over({
      accounts: [account(1, mapped('gpt-5')), account(2), account(3, mapped('claude-*')), account(4, limited)],
    });
    const { accounts } = await call({ model: MODEL });
    assert.equal(
      accounts.shown.map(({ id, model_mapping }: Row) => [id, model_mapping]),
      [
        [4, 'none'],
        [3, 'lists_model'],
        [2, 'none'],
        [1, 'lists_others'],
      ],
    );
  });

  check('shows only groups that name the model, and where they do', async () => {
    const { call } = over({
      groups: [
        group(1),
        group(2, { models_list_config: { enabled: true, models: [MODEL.toUpperCase()] } }),
        group(3, { default_mapped_model: MODEL, model_routing: { 'claude-sonnet*': [1], 'gpt-*': [2] } }),
        group(4, { default_mapped_model: 'gpt-5', model_routing: { 'claude-opus*': [1] } }),
      ],
    });
    const { groups } = await call({ model: MODEL });
    assert.equal([groups.total, groups.examined, groups.matching], [4, 4, 2]);
    assert.equal(
      groups.shown.map(({ id, model_in }: Row) => [id, model_in]),
      [
        [2, ['models_list_config']],
        [3, ['default_mapped_model', 'model_routing']],
      ],
    );
  });

  check('shows channels that name the model, and those that shut it out', async () => {
    const listing = { model_pricing: [{ platform: 'anthropic', models: ['claude-*'] }] };
    const { call } = over({
      channels: [
        channel(1),
        channel(2, { restrict_models: true }),
        channel(3, { ...listing, restrict_models: true }),
        channel(4, listing),
        channel(5, { model_mapping: { anthropic: { [MODEL]: 'claude-opus-4' } } }),
      ],
    });
    const { channels } = await call({ model: MODEL });
    assert.equal(
      channels.shown.map((row: Row) => [row.id, row.restrict_models, row.lists_model, row.maps_model]),
      [
        [2, true, false, false],
        [3, true, true, false],
        [4, false, true, false],
        [5, false, false, true],
      ],
    );
  });

  check('matches names without case and with a star at the end only', () => {
    assert.ok(matchesPattern('Claude-Sonnet-4-5', MODEL));
    assert.ok(matchesPattern('claude-*', MODEL));
    assert.ok(matchesPattern('*', MODEL));
    assert.not(matchesPattern('claude', MODEL));
    assert.not(matchesPattern('*-4-5', MODEL));
    assert.not(matchesPattern('', MODEL));
  });

  check('does not fail for a null where the platform may send one, nor for odd parts', async () => {
    const { call } = over({
      accounts: [
        account(1, { name: null, credentials: null, extra: null }),
        account(2, { credentials: { model_mapping: [1] }, extra: { model_rate_limits: 'soon' } }),
        account(3, { extra: { model_rate_limits: { [MODEL]: 'soon' } } }),
      ],
      groups: [
        group(1, { rpm_limit: null, rate_multiplier: null, models_list_config: null, default_mapped_model: MODEL }),
      ],
      channels: [channel(1, { restrict_models: true, group_ids: null, model_pricing: null, model_mapping: null })],
    });
    const { source, accounts } = await call({ model: MODEL });
    assert.is(source, 'live');
    assert.equal(accounts.shown[0], { ...accounts.shown[0], id: 3, model_limits: [{ scope: MODEL, resets_at: null }] });
  });

  check('takes empty lists that come as null', async () => {
    const { source, groups } = await over({ accounts: { items: null, total: 0 }, groups: null }).call();
    // A default stands in for undefined only, so the null has reached the tool.
    assert.equal([source, groups.total], ['live', 0]);
  });
});

describe('model_control_options over a relay that does not answer', (check) => {
  const failures: readonly (readonly [unknown, string])[] = [
    [failing({ kind: 'upstream-auth' }), 'upstream_auth'],
    [failing({ kind: 'terms-not-accepted' }), 'terms_not_accepted'],
    [failing({ kind: 'upstream-unavailable', why: 'ECONNREFUSED' }), 'upstream_unavailable'],
    [failing({ kind: 'not-found', what: 'resource' }), 'not_found'],
    [{ rows: [] }, 'upstream_contract'],
    [{ items: [{ id: 'x' }], total: 1 }, 'upstream_contract'],
    [{ items: times(1001, account), total: 1001 }, 'upstream_contract'],
    [{ items: [null], total: 1 }, 'upstream_contract'],
  ];
  for (const [failure, reason] of failures) {
    check(`names the list that it could not read: ${reason}`, async () => {
      const { call } = over({ accounts: failure, groups: [group(1)], channels: [channel(1)] });
      const { source, unread, accounts, groups, options } = await call();
      assert.is(source, 'partly_live');
      assert.equal(unread, [{ list: 'accounts', reason }]);
      assert.is(accounts, null);
      assert.is(groups.total, 1);
      assert.equal(options, CONTROL_OPTIONS);
    });
  }

  check('is static when nothing could be read', async () => {
    const failure = failing({ kind: 'upstream-auth' });
    const { source, unread } = await over({ accounts: failure, groups: failure, channels: failure }).call();
    assert.is(source, 'static');
    assert.is(unread.length, 3);
  });

  check('keeps the pages that came before a failure', async () => {
    const rows = times(250, account);
    const { relay } = createScriptedRelay((asked) =>
      asked.path === 'accounts' && asked.query.page === 3
        ? failing({ kind: 'upstream-rate-limit', retryAfterMs: 60_000 })
        : answerIn({ accounts: rows })(asked),
    );
    const { accounts, unread, source } = JSON.parse(
      JSON.stringify(await callTool(createModelControlOptionsTool({ relay, hasKey: true }), {})),
    );
    assert.equal([source, unread], ['partly_live', [{ list: 'accounts', reason: 'upstream_rate_limit' }]]);
    assert.equal([accounts.total, accounts.examined], [250, 200]);
  });

  check('falls back to what it has when the time is over', async () => {
    const clock = createFakeClock();
    const { relay } = createScriptedRelay((asked) => (asked.path === 'accounts' ? SILENCE : answerIn({})(asked)));
    const call = callTool(createModelControlOptionsTool({ relay, hasKey: true }), {}, { clock });
    await clock.advance(30_000);
    const { source, unread, groups } = await call;
    assert.is(source, 'partly_live');
    assert.equal(unread, [{ list: 'accounts', reason: 'deadline' }]);
    assert.ok(groups);
    assert.is(clock.pending(), 0);
  });

  check('rejects for a caller that left', async () => {
    const client = new AbortController();
    const { relay } = createScriptedRelay(() => SILENCE);
    const call = rejection(callTool(createModelControlOptionsTool({ relay, hasKey: true }), {}, { client }));
    client.abort();
    const thrown = await call;
    assert.ok(thrown instanceof Fault && thrown.detail.kind === 'client-left');
  });

  check('does not take a bug for a relay that is down', async () => {
    const { tool } = over({ channels: new TypeError('a bug') });
    assert.instance(await rejection(callTool(tool, {})), TypeError);
  });
});

describe('what model_control_options takes and gives', (check) => {
  check('is described for a model', () => assertWellDescribed(over({}).tool));

  check('reads at most five pages of a list and says that there is more', async () => {
    const { call, asked } = over({ accounts: times(1000, account) });
    const { source, unread, accounts } = await call();
    assert.is(asked.filter(({ path }) => path === 'accounts').length, 5);
    assert.equal([source, unread], ['partly_live', [{ list: 'accounts', reason: 'list_too_long' }]]);
    assert.equal([accounts.total, accounts.examined, accounts.matching], [1000, 500, 500]);
    assert.ok(accounts.shown.length > 0 && accounts.shown.length <= 50);
  });

  check('reads exactly five full pages without an error', async () => {
    assert.is((await over({ accounts: times(500, account) }).call()).source, 'live');
  });

  check('ends at an empty page, and says that the list moved', async () => {
    const { call, asked } = over({ accounts: { items: [], total: 7 } });
    assert.equal((await call()).unread, [{ list: 'accounts', reason: 'list_moved' }]);
    assert.is(asked.filter(({ path }) => path === 'accounts').length, 1);
  });

  check('shows up to fifty of a list when there is space', async () => {
    const tiny = (id: number) => account(id, { name: '', platform: '', status: '' });
    const { accounts } = await over({ accounts: times(80, tiny) }).call();
    assert.ok(accounts.shown.length >= 40 && accounts.shown.length <= 50);
  });

  check('stays within 12 KB whatever the relay holds', async () => {
    const wide = '"\u{1f980}\\'.repeat(60);
    const full = {
      accounts: times(500, (id) =>
        account(id, {
          name: wide,
          platform: wide,
          status: wide,
          extra: { model_rate_limits: { [MODEL]: { rate_limit_reset_at: wide } } },
        }),
      ),
      groups: times(1001, (id) => group(id, { name: wide, platform: wide, status: wide, default_mapped_model: MODEL })),
      channels: times(500, (id) =>
        channel(id, {
          name: wide,
          status: wide,
          restrict_models: true,
          group_ids: times(100, (n) => ({ n })).map((_, n) => 2 ** 40 + n),
        }),
      ),
    };
    for (const given of [{}, { model: MODEL }]) {
      const result = await over(full).call(given);
      assert.ok(bytesOf(result) <= LIMIT_BYTES, `${bytesOf(result)}`);
      for (const list of ['accounts', 'groups', 'channels']) assert.ok(result[list].shown.length > 0);
      assert.equal(result.groups.examined, 1000);
      assert.ok(result.channels.shown.every((row: { group_ids: number[] }) => row.group_ids.length <= 20));
    }
    const plain = { accounts: times(500, account), groups: times(200, group), channels: times(200, channel) };
    const result = await over(plain).call();
    assert.ok(bytesOf(result) <= LIMIT_BYTES && bytesOf(result) > 9000, `${bytesOf(result)}`);
  });

  check('shows texts of the relay without anything invisible, bounded, and in fields only', async () => {
    const { call } = over({
      accounts: [
        account(1, {
          name: HOSTILE.repeat(9),
          platform: HOSTILE,
          status: HOSTILE,
          credentials: { model_mapping: { [MODEL]: HOSTILE } },
          extra: { model_rate_limits: { [HOSTILE]: { rate_limit_reset_at: HOSTILE } } },
        }),
      ],
      groups: [group(1, { name: HOSTILE, default_mapped_model: MODEL })],
      channels: [channel(1, { name: HOSTILE, restrict_models: true })],
    });
    const { accounts, groups, channels, summary, options } = await call({ model: MODEL });
    const [shown] = accounts.shown;
    for (const list of [accounts, groups, channels]) assert.not.match(JSON.stringify(list), UNSEEN);
    assert.ok([...shown.name].length <= 60 && [...shown.status].length <= 20);
    assert.is(shown.model_limits.length, 1);
    assert.not.match(JSON.stringify([summary, options]), 'SYSTEM');
    assert.not.match(JSON.stringify([accounts, groups, channels]), /canary/);
  });

  const refused: readonly unknown[] = [
    '',
    '-x',
    'a b',
    'a'.repeat(101),
    'claude\n',
    'cla\u200bude',
    '../users',
    7,
    null,
  ];
  for (const model of refused) {
    check(`refuses ${JSON.stringify(model)} as a model and asks for nothing`, async () => {
      const { tool, asked } = over({});
      assert.is((await problemOf(callTool(tool, { model }))).kind, 'invalid-argument');
      assert.equal(asked, []);
    });
  }

  check('takes model names as vendors write them', async () => {
    for (const model of ['gpt-5.1', 'openai/gpt-oss:20b', 'claude-opus-4@20250514', 'o3', 'a'.repeat(100)])
      assert.is((await over({}).call({ model })).model, model);
  });

  check('does not stumble over names that objects have of themselves', async () => {
    const { accounts } = await over({ accounts: [account(1, { extra: { model_rate_limits: {} } })] }).call({
      model: 'constructor',
    });
    assert.equal(accounts.shown[0].model_limits, []);
  });
});
