import type { RelayQuery } from '../relay/client.ts';
import { statisticsReader } from './fields.ts';
import type { AnswerReader } from './project.ts';
import type { QueryRules } from './query-rules.ts';

/** A route that the `read` tool allows. */
export type AllowedRoute = {
  /** Path below the admin prefix; `:id` stands for a whole number from 1: `users/:id/rpm-status`. */
  readonly template: string;
  /** The query parameters that a caller may set. */
  readonly query: QueryRules;
  /** Query parameters that are always sent. A caller can replace those that `query` names. */
  readonly defaults: RelayQuery;
  readonly readAnswer: AnswerReader;
  /** The path below `/api/v1/` that is read in its place, without the key. */
  readonly publicSource?: string;
  /** The route of other releases for the same, which is tried when the relay does not know this one. */
  readonly otherTemplate?: string;
  /** What a 500 of this route means. It is not tried again. */
  readonly failure?: 'not-composite';
  /** Whether lists of times are cut at their beginning. */
  readonly keepsNewest?: boolean;
};

type RouteOptions = Partial<Omit<AllowedRoute, 'template' | 'readAnswer'>>;

/** A route with its answer's reader. */
export const route = (template: string, readAnswer: AnswerReader, options: RouteOptions = {}): AllowedRoute => ({
  query: {},
  defaults: {},
  ...options,
  template,
  readAnswer,
});

/** A route of figures: numbers under any name, and texts that name what is measured. */
export const statisticsRoute = (template: string, query: QueryRules = {}): AllowedRoute =>
  route(template, statisticsReader(), { query, keepsNewest: true });

/** Sent explicitly, because a release of the relay may change the default. */
export const FIRST_PAGE: RelayQuery = { page: 1, page_size: 20 };
