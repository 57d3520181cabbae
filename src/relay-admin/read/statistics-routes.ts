import { statisticsReader } from './fields.ts';
import {
  ALERT_EVENT_FIELDS,
  ALERT_RULE_FIELDS,
  INGRESS_REJECTION_FIELDS,
  PROMPT_AUDIT_FIELDS,
  RELAY_ERROR_FIELDS,
  RISK_CONFIG_FIELDS,
  RISK_LOG_FIELDS,
  readRiskStatus,
  rowsReader,
  VERSION_FIELDS,
} from './operation-fields.ts';
import { pageReader, recordReader } from './project.ts';
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
  WORD,
  wholeNumberRule,
} from './query-rules.ts';
import { type AllowedRoute, FIRST_PAGE, route, statisticsRoute } from './route.ts';

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

const SEVERITY = patternRule(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/, 'a severity such as P1 or critical');
const ERROR_LIST = { query: { ...RECENT, account_id: ID, ...PAGES }, defaults: FIRST_PAGE };

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
  route('ops/alert-events', rowsReader(ALERT_EVENT_FIELDS), {
    query: { ...WHERE, limit: wholeNumberRule(1, 100), status: WORD, severity: SEVERITY },
  }),
  route('ops/alert-events/:id', recordReader(ALERT_EVENT_FIELDS)),
  route('ops/alert-rules', rowsReader(ALERT_RULE_FIELDS)),
  route('ops/request-errors', rowsReader(RELAY_ERROR_FIELDS), ERROR_LIST),
  route('ops/upstream-errors', rowsReader(RELAY_ERROR_FIELDS), ERROR_LIST),
  route('ops/ingress-rejections', rowsReader(INGRESS_REJECTION_FIELDS), { query: PAGES, defaults: FIRST_PAGE }),
  statisticsRoute('ops/ingress-rejections/health'),
  statisticsRoute('ops/auth-cache-invalidation/health'),
  route('ops/dashboard/openai-token-stats', statisticsReader(), {
    query: { time_range: oneOfRule('30m', '1h', '1d', '15d', '30d'), ...WHERE, ...PAGES },
    defaults: FIRST_PAGE,
  }),
];

/** Statistics, settings and versions: routes that are not about a user, an account or a group. */
export const STATISTICS_ROUTES: readonly AllowedRoute[] = [
  // The admin route of this name asks GitHub first, and hangs while that is silent.
  route('system/version', recordReader(VERSION_FIELDS), { publicSource: 'settings/public' }),
  ...DASHBOARD_ROUTES,
  ...OPS_ROUTES,
  route('risk-control/config', recordReader(RISK_CONFIG_FIELDS)),
  route('risk-control/status', readRiskStatus),
  route('risk-control/logs', pageReader(RISK_LOG_FIELDS), {
    query: { ...PAGES, result: WORD, group_id: ID },
    defaults: FIRST_PAGE,
  }),
  route('prompt-audit/config', recordReader(PROMPT_AUDIT_FIELDS)),
  statisticsRoute('settings/overload-cooldown'),
  statisticsRoute('settings/rate-limit-429-cooldown'),
  statisticsRoute('settings/panel-rate-limit'),
  statisticsRoute('settings/stream-timeout'),
];
