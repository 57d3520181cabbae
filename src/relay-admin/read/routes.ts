import {
  ACCOUNT_FIELDS,
  ACCOUNT_MODEL_FIELDS,
  BALANCE_CHANGE_FIELDS,
  CHANNEL_FIELDS,
  COMPOSITE_ROUTE_FIELDS,
  GROUP_FIELDS,
  PLATFORM_QUOTAS_FIELDS,
  RPM_STATUS_FIELDS,
  SUBSCRIPTION_FIELDS,
  statisticsReader,
  TEMP_UNSCHEDULABLE_FIELDS,
  USER_FIELDS,
  USER_RATE_FIELDS,
} from './fields.ts';
import { amount, listReader, pageReader, recordReader } from './project.ts';
import { FLAG, ID, oneOfRule, PAGES, patternRule, SORT_ORDER, WORD, wholeNumberRule, ZONE } from './query-rules.ts';
import { type AllowedRoute, FIRST_PAGE, route, statisticsRoute } from './route.ts';
import { STATISTICS_ROUTES } from './statistics-routes.ts';

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
  statisticsRoute('accounts/:id/stats', { days: wholeNumberRule(1, 90), ...ZONE }),
  statisticsRoute('accounts/:id/today-stats', ZONE),
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
  statisticsRoute('groups/usage-summary', ZONE),
  statisticsRoute('groups/capacity-summary'),
  route('groups/:id', recordReader(GROUP_FIELDS)),
  statisticsRoute('groups/:id/stats'),
  route('groups/:id/composite-routes', listReader(COMPOSITE_ROUTE_FIELDS), { failure: 'not-composite' }),
  // One list under the names of older and newer releases.
  route('groups/:id/models-list-candidates', statisticsReader('models'), {
    otherTemplate: 'groups/:id/model-allowlist-candidates',
  }),
  route('groups/:id/model-allowlist-candidates', statisticsReader('models'), {
    otherTemplate: 'groups/:id/models-list-candidates',
  }),
  route('groups/:id/rate-multipliers', listReader(USER_RATE_FIELDS)),
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
  route('subscriptions', pageReader(SUBSCRIPTION_FIELDS), {
    query: { ...PAGES, user_id: ID, group_id: ID, status: WORD },
    defaults: FIRST_PAGE,
  }),
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
