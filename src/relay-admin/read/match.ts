import { RelayError } from '../errors/errors.ts';
import type { RelayQuery } from '../relay/client.ts';
import type { AllowedRoute } from './route.ts';
import { ROUTES } from './routes.ts';

const PREFIX = '/api/v1/admin/';
/** Checked on the text as given, without decoding, so no encoded, absolute or relative path passes. */
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

/** The allowed route that matches a path, and the path to send. Throws for any other text, before anything is sent. */
export const matchRoute = (given: string): { readonly route: AllowedRoute; readonly path: string } => {
  if (given.includes('?')) {
    throw invalidArgument('path: expected a path without a query', 'put the parameters into query and call again.');
  }
  const path = given.startsWith(PREFIX) ? given.slice(PREFIX.length) : given;
  if (!PLAIN_PATH.test(path)) throw new RelayError({ kind: 'route-not-allowed' });
  const segments = path.split('/');
  const route = ROUTES.find(({ template }) => matches(template, segments));
  if (route !== undefined) return { route, path };
  // If the path is known with 1 in place of every number, one of its numbers is the error.
  const ones = segments.map((segment) => (/^\d+$/.test(segment) ? '1' : segment));
  if (ROUTES.some(({ template }) => matches(template, ones))) {
    throw invalidArgument(
      `path: expected an id from 1 to ${Number.MAX_SAFE_INTEGER}, without leading zeros`,
      'look the id up with find_user or a list route.',
    );
  }
  throw new RelayError({ kind: 'route-not-allowed' });
};

const isText = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/** The query to send: the route's defaults and the allowed parameters of the caller. Errors never quote the input. */
export const buildQuery = (
  { query: rules, defaults }: AllowedRoute,
  given: Readonly<Record<string, unknown>>,
): RelayQuery => {
  const known = Object.keys(rules);
  if (Object.keys(given).some((name) => !Object.hasOwn(rules, name))) {
    const what = known.length === 0 ? 'no parameters' : `only ${known.join(', ')}`;
    throw new RelayError({ kind: 'invalid-argument', what: `query: this route takes ${what}` });
  }
  const allowed: Record<string, string> = {};
  for (const [name, { expected, accepts }] of Object.entries(rules)) {
    if (!Object.hasOwn(given, name)) continue;
    const value = given[name];
    if (!isText(value) || !accepts(String(value))) {
      throw new RelayError({ kind: 'invalid-argument', what: `query.${name}: expected ${expected}` });
    }
    allowed[name] = String(value);
  }
  return { ...defaults, ...allowed };
};
