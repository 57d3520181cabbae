import type { Query } from '../relay/client.ts';
import {
  ACCOUNT,
  ACCOUNT_MODEL,
  BALANCE_CHANGE,
  CHANNEL,
  COMPOSITE_ROUTE,
  GROUP,
  measures,
  PLATFORM_QUOTAS,
  RISK_CONFIG,
  RISK_STATUS,
  RPM_STATUS,
  SUBSCRIPTION,
  TEMP_UNSCHEDULABLE,
  USER,
  VERSION,
} from './fields.ts';
import { amount, list, one, page, type Reading } from './project.ts';

/** What a query parameter takes, as text; `expected` is for whoever got it wrong. */
export type QueryRule = {
  readonly expected: string;
  readonly accepts: (text: string) => boolean;
};

export type QueryRules = Readonly<Record<string, QueryRule>>;

const NUMBER = /^(?:0|[1-9]\d{0,15})$/;

export const wholeNumber = (least: number, most: number): QueryRule => ({
  expected: `a whole number from ${least} to ${most}`,
  accepts: (text) => NUMBER.test(text) && Number(text) >= least && Number(text) <= most,
});

export const oneOf = (...words: readonly string[]): QueryRule => ({
  expected: words.join(' | '),
  accepts: (text) => words.includes(text),
});

export const matching = (pattern: RegExp, expected: string): QueryRule => ({
  expected,
  accepts: (text) => pattern.test(text),
});

export const FLAG = oneOf('true', 'false');
export const ID = wholeNumber(1, Number.MAX_SAFE_INTEGER);
/** A word of the relay's own, such as a platform or a status, whose list grows from release to release. */
export const WORD = matching(/^[a-z][a-z0-9_-]{0,31}$/, 'a word of lower-case letters, digits, - and _');
export const MODEL = matching(/^[A-Za-z0-9._:/-]{1,100}$/, 'a model name of letters, digits and . _ : / -');

/** The relay takes a page_size it does not like for 20 without a word, so ours stays where it is honoured. */
export const PAGES: QueryRules = { page: wholeNumber(1, 10_000), page_size: wholeNumber(1, 100) };
export const SORT_ORDER: QueryRules = { sort_order: oneOf('asc', 'desc') };

const DATE = matching(/^20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/, 'a date such as 2026-01-31');
const TIME_ZONE = matching(
  /^(?=.{1,64}$)[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/,
  'a zone such as Asia/Tokyo',
);
export const ZONE: QueryRules = { timezone: TIME_ZONE };
export const DATES: QueryRules = { start_date: DATE, end_date: DATE, ...ZONE };
export const GRANULARITY: QueryRules = { granularity: oneOf('day', 'hour') };
export const LIMIT: QueryRules = { limit: wholeNumber(1, 50) };
export const PARTIES: QueryRules = { user_id: ID, api_key_id: ID, account_id: ID, group_id: ID };

/** A route that may be read. */
export type AllowedRoute = {
  /** Below the admin prefix; `:id` stands for a whole number from 1: `users/:id/rpm-status`. */
  readonly template: string;
  /** What a caller may ask for. */
  readonly query: QueryRules;
  /** What is sent in any case. A caller replaces it only where `query` has the name. */
  readonly sent: Query;
  readonly reading: Reading;
};

type Settings = { readonly query?: QueryRules; readonly sent?: Query };

export const route = (template: string, reading: Reading, { query = {}, sent = {} }: Settings = {}): AllowedRoute => ({
  template,
  reading,
  query,
  sent,
});

/** Sent in words, because a release may change what it is without. */
export const FIRST_PAGE: Query = { page: 1, page_size: 20 };

const figures = (template: string, query: QueryRules = {}): AllowedRoute => route(template, measures(), { query });

const DASHBOARD_ROUTES: readonly AllowedRoute[] = [
  figures('dashboard/snapshot-v2', {
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
  figures('dashboard/stats'),
  figures('dashboard/realtime'),
  figures('dashboard/trend', { ...DATES, ...GRANULARITY, ...PARTIES, model: MODEL }),
  figures('dashboard/models', { ...DATES, ...PARTIES }),
  figures('dashboard/groups', { ...DATES, ...PARTIES }),
  figures('dashboard/api-keys-trend', { ...DATES, ...GRANULARITY, ...LIMIT }),
  figures('dashboard/users-trend', { ...DATES, ...GRANULARITY, ...LIMIT }),
  figures('dashboard/users-ranking', { ...DATES, ...LIMIT }),
  figures('dashboard/user-breakdown', { ...DATES, group_id: ID, model: MODEL, ...LIMIT }),
  figures('usage/stats', { ...DATES, period: oneOf('today', 'week', 'month'), ...PARTIES, model: MODEL }),
];

const WHERE: QueryRules = { platform: WORD, group_id: ID };
const RECENT: QueryRules = { time_range: oneOf('5m', '30m', '1h', '6h', '24h'), ...WHERE };

const OPS_ROUTES: readonly AllowedRoute[] = [
  figures('ops/concurrency', WHERE),
  figures('ops/user-concurrency'),
  figures('ops/account-availability', WHERE),
  figures('ops/realtime-traffic', { window: oneOf('1min', '5min', '30min', '1h'), ...WHERE }),
  figures('ops/system-logs/health'),
  figures('ops/dashboard/snapshot-v2', RECENT),
  figures('ops/dashboard/overview', RECENT),
  figures('ops/dashboard/throughput-trend', RECENT),
  figures('ops/dashboard/latency-histogram', RECENT),
  figures('ops/dashboard/error-trend', RECENT),
  figures('ops/dashboard/error-distribution', RECENT),
  route('ops/dashboard/openai-token-stats', measures(), {
    query: { time_range: oneOf('30m', '1h', '1d', '15d', '30d'), ...WHERE, ...PAGES },
    sent: FIRST_PAGE,
  }),
];

/** Figures, settings and versions: everything that is about no single user, account or group. */
export const FIGURE_ROUTES: readonly AllowedRoute[] = [
  route('system/version', one(VERSION)),
  ...DASHBOARD_ROUTES,
  ...OPS_ROUTES,
  route('risk-control/config', one(RISK_CONFIG)),
  route('risk-control/status', one(RISK_STATUS)),
  figures('settings/overload-cooldown'),
  figures('settings/rate-limit-429-cooldown'),
  figures('settings/panel-rate-limit'),
  figures('settings/stream-timeout'),
];

const ACCOUNT_STATUS = oneOf(
  'active',
  'inactive',
  'disabled',
  'error',
  'rate_limited',
  'temp_unschedulable',
  'unschedulable',
);
const GROUP_CHOICE = matching(/^(?:[1-9]\d{0,14}|ungrouped)$/, 'a group id or ungrouped');

/** `lite`: without the figures that the relay would have to gather account by account. */
export const ACCOUNT_ROUTES: readonly AllowedRoute[] = [
  route('accounts', page(ACCOUNT), {
    query: {
      ...PAGES,
      platform: WORD,
      type: WORD,
      status: ACCOUNT_STATUS,
      group: GROUP_CHOICE,
      sort_by: oneOf('name', 'status', 'priority', 'created_at', 'last_used_at'),
      ...SORT_ORDER,
    },
    sent: { ...FIRST_PAGE, lite: true },
  }),
  route('accounts/:id', one(ACCOUNT)),
  route('accounts/:id/stats', measures(), { query: { days: wholeNumber(1, 90), ...ZONE } }),
  route('accounts/:id/today-stats', measures(), { query: ZONE }),
  route('accounts/:id/models', list(ACCOUNT_MODEL)),
  route('accounts/:id/temp-unschedulable', one(TEMP_UNSCHEDULABLE)),
];

const GROUP_FILTERS = { platform: WORD, status: WORD, is_exclusive: FLAG };

export const GROUP_ROUTES: readonly AllowedRoute[] = [
  route('groups', page(GROUP), {
    query: { ...PAGES, ...GROUP_FILTERS, sort_by: oneOf('sort_order', 'name', 'created_at'), ...SORT_ORDER },
    sent: FIRST_PAGE,
  }),
  route('groups/all', list(GROUP), { query: { platform: WORD } }),
  route('groups/usage-summary', measures(), { query: ZONE }),
  route('groups/capacity-summary', measures()),
  route('groups/:id', one(GROUP)),
  route('groups/:id/stats', measures()),
  route('groups/:id/composite-routes', list(COMPOSITE_ROUTE)),
  route('groups/:id/models-list-candidates', measures('models')),
  route('channels', page(CHANNEL), {
    query: { ...PAGES, status: oneOf('active', 'disabled'), ...SORT_ORDER },
    sent: FIRST_PAGE,
  }),
  route('channels/:id', one(CHANNEL)),
];

const HISTORY = oneOf(
  'balance',
  'affiliate_balance',
  'admin_balance',
  'concurrency',
  'admin_concurrency',
  'subscription',
);

/** No `search`: the relay also looks for it in the values of API keys, and so would tell them bit by bit. */
export const USER_ROUTES: readonly AllowedRoute[] = [
  route('users', page(USER), {
    query: {
      ...PAGES,
      status: oneOf('active', 'disabled'),
      role: oneOf('admin', 'user'),
      sort_by: oneOf(
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
    sent: { ...FIRST_PAGE, include_subscriptions: false },
  }),
  route('users/:id', one(USER)),
  route('users/:id/balance-history', page(BALANCE_CHANGE, { total_recharged: amount }), {
    query: { type: HISTORY, ...PAGES },
    sent: FIRST_PAGE,
  }),
  route('users/:id/rpm-status', one(RPM_STATUS)),
  route('users/:id/platform-quotas', one(PLATFORM_QUOTAS)),
  route('users/:id/subscriptions', list(SUBSCRIPTION)),
];

/**
 * Everything that `read` may ask the relay for; a route that is not here does not exist for it. None of them changes
 * anything, calls out to a provider, or exists to show keys, codes, credentials or what users wrote to a model.
 */
export const ROUTES: readonly AllowedRoute[] = [...USER_ROUTES, ...ACCOUNT_ROUTES, ...GROUP_ROUTES, ...FIGURE_ROUTES];

/** The allow-list in words, a line each: `users/:id/balance-history?type&page&page_size`. */
export const ALLOWED_ROUTES: readonly string[] = ROUTES.map(({ template, query }) => {
  const names = Object.keys(query);
  return names.length === 0 ? template : `${template}?${names.join('&')}`;
});
