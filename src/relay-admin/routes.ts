import type { AllowedRoute } from './allowed-route.ts';
import { FIGURE_ROUTES } from './read/routes.ts';
import { ACCOUNT_ROUTES, GROUP_ROUTES } from './routes-accounts.ts';
import { USER_ROUTES } from './routes-users.ts';

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
