import type { RelayQuery } from '../relay/client.ts';
import {
  ACCOUNT_FIELDS,
  ACCOUNT_MODEL_FIELDS,
  BALANCE_CHANGE_FIELDS,
  CHANNEL_FIELDS,
  COMPOSITE_ROUTE_FIELDS,
  GROUP_FIELDS,
  PLATFORM_QUOTAS_FIELDS,
  RISK_CONFIG_FIELDS,
  RISK_STATUS_FIELDS,
  RPM_STATUS_FIELDS,
  SUBSCRIPTION_FIELDS,
  statisticsReader,
  TEMP_UNSCHEDULABLE_FIELDS,
  USER_FIELDS,
  VERSION_FIELDS,
} from './fields.ts';
import { type AnswerReader, amount, listReader, pageReader, recordReader } from './project.ts';
import {
  DATES,
  FLAG,
  GRANULARITY,
  ID,
  LIMIT,
  MODEL,
  oneOfRule,
  PAGES,
  PARTIES,
  patternRule,
  type QueryRules,
  SORT_ORDER,
  WORD,
  wholeNumberRule,
  ZONE,
} from './query-rules.ts';

/** A route that the `read` tool allows. */
export type AllowedRoute = {
  /** Path below the admin prefix; `:id` stands for a whole number from 1: `users/:id/rpm-status`. */
  readonly template: string;
  /** The query parameters that a caller may set. */
  readonly query: QueryRules;
  /** Query parameters that are always sent. A caller can replace those that `query` names. */
  readonly defaults: RelayQuery;
  readonly readAnswer: AnswerReader;
};

type RouteOptions = { readonly query?: QueryRules; readonly defaults?: RelayQuery };

const route = (
  template: string,
  reading: AnswerReader,
  { query = {}, defaults: sent = {} }: RouteOptions = {},
): AllowedRoute => ({
  template,
  readAnswer: reading,
  query,
  defaults: sent,
});

/** Sent explicitly, because a release of the relay may change the default. */
const FIRST_PAGE: RelayQuery = { page: 1, page_size: 20 };

const statisticsRoute = (template: string, query: QueryRules = {}): AllowedRoute =>
  route(template, statisticsReader(), { query });

const DASHBOARD_ROUTES: readonly AllowedRoute[] = [
  statisticsRoute('dashboard/snapshot-v2', {
    ...DATES,
    ...GRANULARITY,
    ...PARTIES,
    model: MODEL,
    include_stats: FLAG,
    include_trend: FLAG,
    include_model_stats: FLAG,
    include_group_stats: FLAG,
    include_users_trend: FLAG,
  }),
  statisticsRoute('dashboard/stats'),
  statisticsRoute('dashboard/realtime'),
  statisticsRoute('dashboard/trend', { ...DATES, ...GRANULARITY, ...PARTIES, model: MODEL }),
  statisticsRoute('dashboard/models', { ...DATES, ...PARTIES }),
  statisticsRoute('dashboard/groups', { ...DATES, ...PARTIES }),
  statisticsRoute('dashboard/api-keys-trend', { ...DATES, ...GRANULARITY, ...LIMIT }),
  statisticsRoute('dashboard/users-trend', { ...DATES, ...GRANULARITY, ...LIMIT }),
  statisticsRoute('dashboard/users-ranking', { ...DATES, ...LIMIT }),
  statisticsRoute('dashboard/user-breakdown', { ...DATES, group_id: ID, model: MODEL, ...LIMIT }),
  statisticsRoute('usage/stats', { ...DATES, period: oneOfRule('today', 'week', 'month'), ...PARTIES, model: MODEL }),
];

const WHERE: QueryRules = { platform: WORD, group_id: ID };
const RECENT: QueryRules = { time_range: oneOfRule('5m', '30m', '1h', '6h', '24h'), ...WHERE };

const OPS_ROUTES: readonly AllowedRoute[] = [
  statisticsRoute('ops/concurrency', WHERE),
  statisticsRoute('ops/user-concurrency'),
  statisticsRoute('ops/account-availability', WHERE),
  statisticsRoute('ops/realtime-traffic', { window: oneOfRule('1min', '5min', '30min', '1h'), ...WHERE }),
  statisticsRoute('ops/system-logs/health'),
  statisticsRoute('ops/dashboard/snapshot-v2', RECENT),
  statisticsRoute('ops/dashboard/overview', RECENT),
  statisticsRoute('ops/dashboard/throughput-trend', RECENT),
  statisticsRoute('ops/dashboard/latency-histogram', RECENT),
  statisticsRoute('ops/dashboard/error-trend', RECENT),
  statisticsRoute('ops/dashboard/error-distribution', RECENT),
  route('ops/dashboard/openai-token-stats', statisticsReader(), {
    query: { time_range: oneOfRule('30m', '1h', '1d', '15d', '30d'), ...WHERE, ...PAGES },
    defaults: FIRST_PAGE,
  }),
];

/** Statistics, settings and versions: routes that are not about a user, an account or a group. */
const STATISTICS_ROUTES: readonly AllowedRoute[] = [
  route('system/version', recordReader(VERSION_FIELDS)),
  ...DASHBOARD_ROUTES,
  ...OPS_ROUTES,
  route('risk-control/config', recordReader(RISK_CONFIG_FIELDS)),
  route('risk-control/status', recordReader(RISK_STATUS_FIELDS)),
  statisticsRoute('settings/overload-cooldown'),
  statisticsRoute('settings/rate-limit-429-cooldown'),
  statisticsRoute('settings/panel-rate-limit'),
  statisticsRoute('settings/stream-timeout'),
];

const ACCOUNT_STATUS = oneOfRule(
  'active',
  'inactive',
  'disabled',
  'error',
  'rate_limited',
  'temp_unschedulable',
  'unschedulable',
);
const GROUP_CHOICE = patternRule(/^(?:[1-9]\d{0,14}|ungrouped)$/, 'a group id or ungrouped');

/** `lite`: without the statistics that the relay would have to collect for each account. */
const ACCOUNT_ROUTES: readonly AllowedRoute[] = [
  route('accounts', pageReader(ACCOUNT_FIELDS), {
    query: {
      ...PAGES,
      platform: WORD,
      type: WORD,
      status: ACCOUNT_STATUS,
      group: GROUP_CHOICE,
      sort_by: oneOfRule('name', 'status', 'priority', 'created_at', 'last_used_at'),
      ...SORT_ORDER,
    },
    defaults: { ...FIRST_PAGE, lite: true },
  }),
  route('accounts/:id', recordReader(ACCOUNT_FIELDS)),
  route('accounts/:id/stats', statisticsReader(), { query: { days: wholeNumberRule(1, 90), ...ZONE } }),
  route('accounts/:id/today-stats', statisticsReader(), { query: ZONE }),
  route('accounts/:id/models', listReader(ACCOUNT_MODEL_FIELDS)),
  route('accounts/:id/temp-unschedulable', recordReader(TEMP_UNSCHEDULABLE_FIELDS)),
];

const GROUP_FILTERS = { platform: WORD, status: WORD, is_exclusive: FLAG };

const GROUP_ROUTES: readonly AllowedRoute[] = [
  route('groups', pageReader(GROUP_FIELDS), {
    query: { ...PAGES, ...GROUP_FILTERS, sort_by: oneOfRule('sort_order', 'name', 'created_at'), ...SORT_ORDER },
    defaults: FIRST_PAGE,
  }),
  route('groups/all', listReader(GROUP_FIELDS), { query: { platform: WORD } }),
  route('groups/usage-summary', statisticsReader(), { query: ZONE }),
  route('groups/capacity-summary', statisticsReader()),
  route('groups/:id', recordReader(GROUP_FIELDS)),
  route('groups/:id/stats', statisticsReader()),
  route('groups/:id/composite-routes', listReader(COMPOSITE_ROUTE_FIELDS)),
  route('groups/:id/models-list-candidates', statisticsReader('models')),
  route('channels', pageReader(CHANNEL_FIELDS), {
    query: { ...PAGES, status: oneOfRule('active', 'disabled'), ...SORT_ORDER },
    defaults: FIRST_PAGE,
  }),
  route('channels/:id', recordReader(CHANNEL_FIELDS)),
];

const HISTORY = oneOfRule(
  'balance',
  'affiliate_balance',
  'admin_balance',
  'concurrency',
  'admin_concurrency',
  'subscription',
);

/** No `search`: the relay also searches the values of API keys, so it would reveal them bit by bit. */
const USER_ROUTES: readonly AllowedRoute[] = [
  route('users', pageReader(USER_FIELDS), {
    query: {
      ...PAGES,
      status: oneOfRule('active', 'disabled'),
      role: oneOfRule('admin', 'user'),
      sort_by: oneOfRule(
        'created_at',
        'email',
        'username',
        'role',
        'balance',
        'concurrency',
        'status',
        'last_used_at',
        'last_active_at',
      ),
      ...SORT_ORDER,
    },
    defaults: { ...FIRST_PAGE, include_subscriptions: false },
  }),
  route('users/:id', recordReader(USER_FIELDS)),
  route('users/:id/balance-history', pageReader(BALANCE_CHANGE_FIELDS, { total_recharged: amount }), {
    query: { type: HISTORY, ...PAGES },
    defaults: FIRST_PAGE,
  }),
  route('users/:id/rpm-status', recordReader(RPM_STATUS_FIELDS)),
  route('users/:id/platform-quotas', recordReader(PLATFORM_QUOTAS_FIELDS)),
  route('users/:id/subscriptions', listReader(SUBSCRIPTION_FIELDS)),
];

/**
 * The allow-list of `read`. No route on it changes anything, calls a provider, or serves to show keys, codes, credentials
 * or what users wrote to a model.
 */
export const ROUTES: readonly AllowedRoute[] = [
  ...USER_ROUTES,
  ...ACCOUNT_ROUTES,
  ...GROUP_ROUTES,
  ...STATISTICS_ROUTES,
];

/** The allow-list as text, one line per route: `users/:id/balance-history?type&page&page_size`. */
export const ALLOWED_ROUTES: readonly string[] = ROUTES.map(({ template, query }) => {
  const names = Object.keys(query);
  return names.length === 0 ? template : `${template}?${names.join('&')}`;
});
