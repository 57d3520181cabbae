import { RelayError } from '../errors/errors.ts';
import type { RelayQuery } from '../relay/client.ts';
import { type AllowedRoute, ROUTES } from './routes.ts';

const PREFIX = '/api/v1/admin/';
/** Said of the text as it was given: no decoding comes first, so nothing encoded, absolute or relative gets past. */
const PLAIN_PATH = /^[a-z0-9-]+(?:\/[a-z0-9-]+){0,3}$/;
const ID = /^[1-9]\d{0,15}$/;

const isId = (segment: string): boolean => ID.test(segment) && Number.isSafeInteger(Number(segment));

const matches = (template: string, segments: readonly string[]): boolean => {
  const parts = template.split('/');
  return (
    parts.length === segments.length &&
    parts.every((part, index) => (part === ':id' ? isId(segments[index] ?? '') : part === segments[index]))
  );
};

const invalidArgument = (what: string, next: string): RelayError =>
  new RelayError({ kind: 'invalid-argument', what, next });

/** The one route that a path means, and the path to send. Throws before anything could be sent for any other text. */
export const matchRoute = (given: string): { readonly route: AllowedRoute; readonly path: string } => {
  if (given.includes('?')) {
    throw invalidArgument('path: expected a path without a query', 'put the parameters into query and call again.');
  }
  const path = given.startsWith(PREFIX) ? given.slice(PREFIX.length) : given;
  if (!PLAIN_PATH.test(path)) throw new RelayError({ kind: 'route-not-allowed' });
  const segments = path.split('/');
  const route = ROUTES.find(({ template }) => matches(template, segments));
  if (route !== undefined) return { route, path };
  // With 1 in the place of every number the path is known: then it is a number that is wrong.
  const ones = segments.map((segment) => (/^\d+$/.test(segment) ? '1' : segment));
  if (ROUTES.some(({ template }) => matches(template, ones))) {
    throw invalidArgument(
      'path: expected an id from 1 without leading zeros',
      'look the id up with find_user or a list route.',
    );
  }
  throw new RelayError({ kind: 'route-not-allowed' });
};

const isText = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/** What to send as the query: what is always sent, and what was given and is allowed. Never quotes what was given. */
export const buildQuery = (
  { query: rules, defaults: sent }: AllowedRoute,
  given: Readonly<Record<string, unknown>>,
): RelayQuery => {
  const known = Object.keys(rules);
  if (Object.keys(given).some((name) => !Object.hasOwn(rules, name))) {
    const what = known.length === 0 ? 'no parameters' : `only ${known.join(', ')}`;
    throw new RelayError({ kind: 'invalid-argument', what: `query: this route takes ${what}` });
  }
  const asked: Record<string, string> = {};
  for (const [name, { expected, accepts }] of Object.entries(rules)) {
    if (!Object.hasOwn(given, name)) continue;
    const value = given[name];
    if (!isText(value) || !accepts(String(value))) {
      throw new RelayError({ kind: 'invalid-argument', what: `query.${name}: expected ${expected}` });
    }
    asked[name] = String(value);
  }
  return { ...sent, ...asked };
};
