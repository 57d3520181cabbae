import type { QueryRules } from './query-rule.ts';
import type { Reading } from './read/project.ts';
import type { Query } from './relay/client.ts';

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
