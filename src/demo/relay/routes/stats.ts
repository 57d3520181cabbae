import { ok } from '../envelope.ts';
import { HOSTILE, SECRETS } from '../records/secrets.ts';
import type { RelayWorld } from '../world.ts';
import type { RelayTable } from './table.ts';

type Facts = Readonly<Record<string, unknown>>;

const totals = ({ users, accounts }: RelayWorld): Facts => ({
  total_users: users.filter(({ deleted_at }) => deleted_at === null).length,
  total_accounts: accounts.length,
  normal_accounts: accounts.filter(({ status }) => status === 'active').length,
  total_requests: 4821,
  total_tokens: 1930442,
  total_cost: 12.34567891,
  rpm: 7,
  tpm: 2310,
  uptime: 86400,
});

/** Counts and sums. Dashboards get pasted texts: one of these shows keys as names, one shows a trace. */
const dashboards = (world: RelayWorld): Facts => ({
  'dashboard/snapshot-v2': { stats: totals(world), trend: [], models: [], generated_at: world.clock.now() },
  'dashboard/stats': {
    ...totals(world),
    trace: {
      last_admin_call: `x-api-key: ${world.settings.adminKey}`,
      upstream_authorization: `Bearer ${SECRETS.jwt}`,
    },
  },
  'dashboard/realtime': { active_requests: 1, requests_per_minute: 7, average_response_time: 812, error_rate: 0 },
  'dashboard/trend': { trend: [{ date: '2026-01-01', requests: 12, tokens: 3400, cost: 0.02 }], granularity: 'day' },
  'dashboard/models': { models: [{ model: 'gpt-5', requests: 12, total_tokens: 3400, cost: 0.02 }] },
  'dashboard/groups': { groups: world.groups.map(({ id, name }) => ({ group_id: id, group_name: name, cost: 0 })) },
  'dashboard/api-keys-trend': { trend: [{ api_key_id: 2, key_name: `laptop ${SECRETS.userKey}`, requests: 12 }] },
  'dashboard/users-trend': { trend: world.users.map(({ id, email, username }) => ({ user_id: id, email, username })) },
  'dashboard/users-ranking': { ranking: world.users.map(({ id, email }) => ({ user_id: id, email, cost: 0 })) },
  'dashboard/user-breakdown': { users: world.users.map(({ id, email }) => ({ user_id: id, email, requests: 0 })) },
  'usage/stats': { total_requests: 4821, total_tokens: 1930442, total_cost: 12.34567891, total_actual_cost: 12.3 },
});

const page = (items: readonly unknown[]) => ({ items, total: items.length, page: 1, page_size: 20, pages: 1 });

/** What went wrong for somebody, with what that person wrote, from where, and what the provider answered. */
const requestError = {
  id: 1,
  status_code: 502,
  model: 'gpt-5',
  user_id: 2,
  user_email: 'alice@example.com',
  client_ip: '192.0.2.7',
  message: `upstream refused Bearer ${SECRETS.bearer}`,
  error_body: HOSTILE.notes,
};

const ops = ({ accounts, users }: RelayWorld): Facts => ({
  'ops/concurrency': { enabled: true, platform: {}, group: {}, account: {} },
  'ops/user-concurrency': {
    enabled: true,
    user: Object.fromEntries(
      users.map(({ id, email }) => [id, { user_id: id, user_email: email, current_in_use: 0, waiting_in_queue: 0 }]),
    ),
  },
  'ops/account-availability': {
    account: Object.fromEntries(
      accounts.map(({ id, name, schedulable }) => [
        id,
        {
          account_id: id,
          account_name: name,
          is_available: schedulable,
          error_message: `refused ${SECRETS.anthropicKey}`,
        },
      ]),
    ),
  },
  'ops/realtime-traffic': { enabled: true, summary: { qps: 0.1, tps: 38 } },
  'ops/system-logs/health': { queue_depth: 0, dropped: 0 },
  'ops/alert-events': [
    {
      id: 3,
      rule_id: 1,
      severity: 'P1',
      status: 'firing',
      title: 'Error rate',
      metric_value: 12.5,
      threshold_value: 5,
    },
  ],
  'ops/alert-rules': [{ id: 1, name: 'Error rate', enabled: true, severity: 'P1', metric_type: 'error_rate' }],
  'ops/request-errors': page([requestError]),
  'ops/upstream-errors': page([requestError]),
  'ops/ingress-rejections': page([{ reason: 'invalid_key', request_count: 4, client_ip: '192.0.2.7' }]),
  'ops/ingress-rejections/health': { buffered: 0, dropped: 0 },
  'ops/auth-cache-invalidation/health': { outbox: { pending: 0 }, subscriber: { connected: true } },
  subscriptions: page([{ id: 1, user_id: 2, group_id: 1, status: 'active', user: { email: 'alice@example.com' } }]),
  'ops/dashboard/snapshot-v2': { overview: {}, throughput_trend: [] },
  'ops/dashboard/overview': {
    request_count_total: 4821,
    error_rate: 0,
    sla: 1,
    job_heartbeats: [{ job_name: 'ops_cleanup', last_duration_ms: 12, last_error: `failed with ${SECRETS.bearer}` }],
  },
  'ops/dashboard/throughput-trend': { points: [] },
  'ops/dashboard/latency-histogram': { buckets: [] },
  'ops/dashboard/error-trend': { points: [] },
  'ops/dashboard/error-distribution': { items: [] },
  'ops/dashboard/openai-token-stats': { items: [] },
});

const settings: Facts = {
  'settings/overload-cooldown': { enabled: true, cooldown_minutes: 10 },
  'settings/rate-limit-429-cooldown': { enabled: true, cooldown_seconds: 60 },
  'settings/panel-rate-limit': { enabled: true, rpm: 240, heavy_rpm: 60, exempt_admin: true },
  'settings/stream-timeout': { enabled: false, timeout_seconds: 60 },
};

/** What can be read and is no record: dashboards, operations, settings and the version. */
export const statsTable = (world: RelayWorld): RelayTable => ({
  'GET ops/alert-events/:id': () => ok({ id: 3, rule_id: 1, severity: 'P1', status: 'firing', title: 'Error rate' }),
  'GET system/version': () => ok({ version: world.settings.version }),
  ...Object.fromEntries(
    Object.keys({ ...dashboards(world), ...ops(world), ...settings }).map((path) => [
      `GET ${path}`,
      () => ok({ ...dashboards(world), ...ops(world), ...settings }[path]),
    ]),
  ),
});
