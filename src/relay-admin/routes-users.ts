import { type AllowedRoute, FIRST_PAGE, route } from './allowed-route.ts';
import { oneOf, PAGES, SORT_ORDER } from './query-rule.ts';
import { BALANCE_CHANGE, PLATFORM_QUOTAS, RPM_STATUS, SUBSCRIPTION, USER } from './read/fields.ts';
import { amount, list, one, page } from './read/project.ts';

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
