import * as assert from 'uvu/assert';
import { matchesPattern } from '../../../../src/relay-admin/models/views.ts';
import { describe } from '../../../check.ts';
import { account, channel, group, MODEL, over, type Row } from './world.ts';

describe('model_control_options with a key', (check) => {
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
