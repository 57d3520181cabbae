import * as assert from 'uvu/assert';
import type { SeenRequest } from '../../../src/demo/relay/interceptor.ts';
import { KEY } from './canaries.ts';

const ADMIN = '/api/v1/admin/';

/** Written out a second time, on purpose: a route that joins the allow-list has to be wanted twice. */
const READ_PATHS = `
users users/:id users/:id/balance-history users/:id/rpm-status users/:id/platform-quotas users/:id/subscriptions
accounts accounts/:id accounts/:id/stats accounts/:id/today-stats accounts/:id/models accounts/:id/temp-unschedulable
groups groups/all groups/usage-summary groups/capacity-summary groups/:id groups/:id/stats groups/:id/composite-routes
groups/:id/models-list-candidates groups/:id/model-allowlist-candidates groups/:id/rate-multipliers
channels channels/:id subscriptions
dashboard/snapshot-v2 dashboard/stats dashboard/realtime dashboard/trend dashboard/models dashboard/groups
dashboard/api-keys-trend dashboard/users-trend dashboard/users-ranking dashboard/user-breakdown usage/stats
ops/concurrency ops/user-concurrency ops/account-availability ops/realtime-traffic ops/system-logs/health
ops/dashboard/snapshot-v2 ops/dashboard/overview ops/dashboard/throughput-trend ops/dashboard/latency-histogram
ops/dashboard/error-trend ops/dashboard/error-distribution ops/dashboard/openai-token-stats
ops/alert-events ops/alert-events/:id ops/alert-rules ops/request-errors ops/upstream-errors ops/ingress-rejections
ops/ingress-rejections/health ops/auth-cache-invalidation/health
risk-control/config risk-control/status risk-control/logs prompt-audit/config
settings/overload-cooldown settings/rate-limit-429-cooldown settings/panel-rate-limit settings/stream-timeout
`
  .trim()
  .split(/\s+/);

/** The one path beside the health that is asked for without the key; `read` has it as `system/version`. */
const PUBLIC = '/api/v1/settings/public';

/** Each path that may be read, with an id filled in. */
export const READ_EXAMPLES: readonly string[] = [...READ_PATHS, 'system/version'].map((path) =>
  path.replace(':id', '1'),
);

const READ = new RegExp(`^(?:${READ_PATHS.map((path) => path.replace(':id', '[1-9]\\d{0,15}')).join('|')})$`);

const QUERY_NAMES = new Set(
  `page page_size sort_by sort_order status role type platform group is_exclusive lite days timezone start_date end_date
  granularity limit user_id api_key_id account_id group_id model period time_range window include_subscriptions
  result severity include_stats include_trend include_model_stats include_group_stats include_users_trend search`.split(
    /\s+/,
  ),
);

type Write = { readonly method: string; readonly path: RegExp; readonly body: RegExp };

const WRITES: readonly Write[] = [
  {
    method: 'POST',
    path: /^users\/[1-9]\d{0,15}\/balance$/,
    body: /^\{"balance":(?:0|[1-9]\d{0,6})(?:\.\d{1,8})?,"operation":"add","notes":"recharge rc_[0-9a-f]{16}"\}$/,
  },
  {
    method: 'PUT',
    path: /^users\/[1-9]\d{0,15}$/,
    body: /^\{(?:"rpm_limit":\d{1,7}|"concurrency":\d{1,6}|"rpm_limit":\d{1,7},"concurrency":\d{1,6})\}$/,
  },
  { method: 'POST', path: /^accounts\/[1-9]\d{0,15}\/schedulable$/, body: /^\{"schedulable":(?:true|false)\}$/ },
];

/** What HTTP itself needs, and nobody asked for. */
const TRANSPORT = ['connection', 'content-length', 'transfer-encoding', 'host', 'keep-alive'];

const headersFor = ({ method, target }: SeenRequest): readonly string[] => {
  if (target === '/health' || target === PUBLIC) return ['accept', 'user-agent'];
  if (method === 'GET') return ['accept', 'user-agent', 'x-api-key'];
  const isRecharge = target.endsWith('/balance');
  return ['accept', 'content-type', ...(isRecharge ? ['idempotency-key'] : []), 'user-agent', 'x-api-key'];
};

const demandPlace = (request: SeenRequest): void => {
  const { method, target, body } = request;
  if (target === '/health' || target === PUBLIC) {
    assert.equal([method, body], ['GET', '']);
    return;
  }
  const [address = '', search = ''] = target.split('?');
  assert.ok(address.startsWith(ADMIN), target);
  const path = address.slice(ADMIN.length);
  if (method === 'GET') {
    assert.match(path, READ);
    assert.is(body, '');
    const names = [...new URLSearchParams(search).keys()];
    assert.equal([...new Set(names)], names, target);
    const unknownNames = names.filter((name) => !QUERY_NAMES.has(name) || (name === 'search' && path !== 'users'));
    assert.equal(unknownNames, [], target);
    return;
  }
  const write = WRITES.find((one) => one.method === method && one.path.test(path));
  assert.ok(write?.body.test(body) && search === '', `${method} ${target} ${body}`);
};

/** What holds for every request that a relay may ever see from the tools. */
const demandGoodRequest = (request: SeenRequest, key = KEY): void => {
  const { target, headers, body } = request;
  demandPlace(request);
  const names = Object.keys(headers)
    .filter((name) => !TRANSPORT.includes(name))
    .sort();
  assert.equal(names, headersFor(request), target);
  const { 'x-api-key': sentKey, 'idempotency-key': _own, ...others } = headers;
  if (names.includes('x-api-key')) assert.is(sentKey, key);
  assert.not(JSON.stringify([target, body, others]).includes(key.slice(6, 14)), `the key is elsewhere in ${target}`);
  assert.match(headers['user-agent'] ?? '', /^gatehouse-relay-admin\/[\w.-]+$/);
};

export const demandGoodRequests = (requests: readonly SeenRequest[], key = KEY): void => {
  for (const request of requests) demandGoodRequest(request, key);
};
