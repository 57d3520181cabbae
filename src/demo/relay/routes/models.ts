import { ok, parsePage, refusedResponse, toPage } from '../envelope.ts';
import type { DemoChannel, DemoGroup } from '../records/models.ts';
import { PROXY } from '../records/secrets.ts';
import type { RelayWorld } from '../world.ts';
import { parseId, type RelayCall, type RelayTable } from './table.ts';

const groupView = ({ accounts }: RelayWorld, { composite_routes: _, ...group }: DemoGroup) => {
  const members = accounts.filter(({ group_ids }) => group_ids.includes(group.id));
  return {
    ...group,
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

const ofGroup =
  (world: RelayWorld, view: (group: DemoGroup) => unknown) =>
  ({ params }: RelayCall): Response => {
    const id = parseId(params);
    if (id === undefined) return refusedResponse({ status: 400, message: 'Invalid group ID' });
    const group = world.groups.find((one) => one.id === id);
    return group === undefined
      ? refusedResponse({ status: 404, message: 'group not found', reason: 'GROUP_NOT_FOUND' })
      : ok(view(group));
  };

const channel = (world: RelayWorld, { params }: RelayCall): Response => {
  const id = parseId(params);
  if (id === undefined) return refusedResponse({ status: 400, message: 'Invalid channel ID' });
  const found = world.channels.find((one) => one.id === id);
  return found === undefined
    ? refusedResponse({ status: 404, message: 'channel not found', reason: 'CHANNEL_NOT_FOUND' })
    : ok(channelView(found));
};

const groups = (world: RelayWorld, { query }: RelayCall): readonly DemoGroup[] => {
  const platform = query.get('platform') ?? '';
  const search = (query.get('search') ?? '').trim().toLowerCase();
  return world.groups.filter(
    (group) => (platform === '' || group.platform === platform) && group.name.toLowerCase().includes(search),
  );
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
  'GET groups/:id/composite-routes': ofGroup(world, ({ id, composite_routes }) =>
    composite_routes.map((route) => ({ ...route, group_id: id, endpoint: '', priority: 0, notes: '' })),
  ),
  'GET groups/:id/models-list-candidates': ofGroup(world, ({ id }) => [
    ...new Set(world.accounts.filter(({ group_ids }) => group_ids.includes(id)).flatMap(({ models }) => models)),
  ]),
  'GET channels': (call) => ok(toPage(world.channels.map(channelView), parsePage(call.query))),
  'GET channels/:id': (call) => channel(world, call),
});
