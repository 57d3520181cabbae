import { type AllowedRoute, FIRST_PAGE, route } from './allowed-route.ts';
import { measures } from './measures.ts';
import { FLAG, matching, oneOf, PAGES, SORT_ORDER, WORD, wholeNumber, ZONE } from './query-rule.ts';
import { ACCOUNT, ACCOUNT_MODEL, CHANNEL, COMPOSITE_ROUTE, GROUP, TEMP_UNSCHEDULABLE } from './read/fields.ts';
import { list, one, page } from './read/project.ts';

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
