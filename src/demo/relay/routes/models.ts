import { internalError, ok, parsePage, toPage } from '../envelope.ts';
import type { DemoChannel, DemoGroup } from '../records/models.ts';
import { PROXY } from '../records/secrets.ts';
import type { RelayWorld } from '../world.ts';
import { unknownPath } from './health.ts';
import { ofRecord, parseId, type RelayCall, type RelayRoute, type RelayTable } from './table.ts';

const groupView = (
  { accounts, settings }: RelayWorld,
  { composite_routes: _, models_list_config: models, ...group }: DemoGroup,
) => {
  const members = accounts.filter(({ group_ids }) => group_ids.includes(group.id));
  return {
    ...group,
    ...(settings.hasModelAllowlist
      ? {
          model_allowlist: models,
          max_reasoning_effort_over_limit: 'downgrade',
          codex_models_manifest_config: { enabled: false, account_ids: [], fallback_to_scheduler: true },
        }
      : { models_list_config: models }),
    profit_control_enabled: false,
    profit_min_margin: 0,
    profit_safety_buffer: 0,
    peak_rate_enabled: false,
    peak_start: '',
    peak_end: '',
    peak_rate_multiplier: 1,
    model_pricing: [],
    description: '',
    rate_multiplier: 1,
    is_exclusive: false,
    subscription_type: 'standard',
    daily_limit_usd: null,
    weekly_limit_usd: null,
    monthly_limit_usd: null,
    supported_model_scopes: [],
    default_mapped_model: '',
    account_count: members.length,
    active_account_count: members.filter(({ status }) => status === 'active').length,
    rate_limited_account_count: members.filter(({ rate_limit_reset_at }) => rate_limit_reset_at !== null).length,
  };
};

const channelView = (channel: DemoChannel) => ({
  ...channel,
  // Free text, and people paste what they have at hand.
  description: `${channel.description} via ${PROXY.url}`.trim(),
});

const ofGroup = ({ groups }: RelayWorld, view: (group: DemoGroup) => unknown): RelayRoute =>
  ofRecord('group', groups, view);

const groups = (world: RelayWorld, { query }: RelayCall): readonly DemoGroup[] => {
  const platform = query.get('platform') ?? '';
  const search = (query.get('search') ?? '').trim().toLowerCase();
  return world.groups.filter(
    (group) => (platform === '' || group.platform === platform) && group.name.toLowerCase().includes(search),
  );
};

/** A group that is not composite has no such routes, and the platform fails over that. */
const compositeRoutes = (world: RelayWorld, call: RelayCall): ReturnType<RelayRoute> => {
  const group = world.groups.find(({ id }) => id === parseId(call.params));
  if (group !== undefined && group.platform !== 'composite') return internalError();
  const rows = ofGroup(world, ({ id, composite_routes }) =>
    composite_routes.map((route) => ({ ...route, group_id: id, endpoint: '', priority: 0, notes: '' })),
  );
  return rows(call);
};

/** The models that a group could list. Each release knows one of the two routes. */
const candidates = (world: RelayWorld, call: RelayCall, isKnown: boolean): ReturnType<RelayRoute> => {
  if (!isKnown) return unknownPath();
  const models = ({ id }: DemoGroup) =>
    world.accounts.filter(({ group_ids }) => group_ids.includes(id)).flatMap((account) => account.models);
  return ofGroup(world, (group) => ({ models: [...new Set(models(group))] }))(call);
};

/** Groups and channels: where it is decided which model is served by whom, and whether at all. */
export const modelsTable = (world: RelayWorld): RelayTable => ({
  'GET groups': (call) =>
    ok(
      toPage(
        groups(world, call).map((group) => groupView(world, group)),
        parsePage(call.query),
      ),
    ),
  'GET groups/all': () => ok(world.groups.map((group) => groupView(world, group))),
  'GET groups/usage-summary': () => ok(world.groups.map(({ id }) => ({ group_id: id, today_cost: 0, total_cost: 0 }))),
  'GET groups/capacity-summary': () =>
    ok(world.groups.map(({ id }) => ({ group_id: id, concurrency_used: 0, concurrency_max: 3 }))),
  'GET groups/:id': ofGroup(world, (group) => groupView(world, group)),
  'GET groups/:id/stats': ofGroup(world, () => ({ total_api_keys: 1, active_api_keys: 1, total_requests: 0 })),
  'GET groups/:id/composite-routes': (call) => compositeRoutes(world, call),
  'GET groups/:id/models-list-candidates': (call) => candidates(world, call, !world.settings.hasModelAllowlist),
  'GET groups/:id/model-allowlist-candidates': (call) => candidates(world, call, world.settings.hasModelAllowlist),
  'GET groups/:id/rate-multipliers': ofGroup(world, () => [
    {
      user_id: 2,
      user_name: 'alice',
      user_email: 'alice@example.com',
      user_notes: 'Pays by invoice',
      user_status: 'active',
      rate_multiplier: 0.8,
      rpm_override: null,
    },
  ]),
  'GET channels': (call) => ok(toPage(world.channels.map(channelView), parsePage(call.query))),
  'GET channels/:id': ofRecord('channel', world.channels, channelView),
});
