import * as assert from 'uvu/assert';
import { CONTROL_OPTIONS } from '../../../../src/relay-admin/models/options.ts';
import { describe } from '../../../check.ts';
import { account, channel, group, MODEL, over, type Row } from './world.ts';

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
});
