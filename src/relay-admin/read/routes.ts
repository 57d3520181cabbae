import { type AllowedRoute, FIRST_PAGE, route } from '../allowed-route.ts';
import { measures } from '../measures.ts';
import {
  DATES,
  FLAG,
  GRANULARITY,
  ID,
  LIMIT,
  MODEL,
  oneOf,
  PAGES,
  PARTIES,
  type QueryRules,
  WORD,
} from '../query-rule.ts';
import { RISK_CONFIG, RISK_STATUS, VERSION } from './fields.ts';
import { one } from './project.ts';

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
