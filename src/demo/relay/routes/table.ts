import { ok, refusedResponse } from '../envelope.ts';

/** A request to a route, with its body unparsed: tests inspect it. */
export type RelayCall = {
  readonly request: Request;
  /** Path and query as they were sent. */
  readonly target: string;
  readonly query: URLSearchParams;
  /** The decoded path's `:id` and the like. */
  readonly params: Readonly<Record<string, string>>;
  readonly body: string;
  /** Answer as usual, but change nothing. */
  readonly isIgnored: boolean;
};

export type RelayRoute = (call: RelayCall) => Response | Promise<Response>;

/** Routes by pattern, such as `GET users/:id`. A path without a leading slash is below the admin prefix. */
export type RelayTable = Readonly<Record<string, RelayRoute>>;

export type FoundRoute =
  | {
      readonly kind: 'route';
      readonly pattern: string;
      readonly route: RelayRoute;
      readonly params: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'trailing-slash'; readonly location: string }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'unknown' };

const ADMIN_PREFIX = '/api/v1/admin/';

/** Splits a request target into its path, still escaped, and its query. The origin of an absolute one is dropped. */
export const splitTarget = (target: string): { readonly path: string; readonly search: string } => {
  const local = target.replace(/^[a-z]+:\/\/[^/?#]*/i, '').replace(/#.*$/s, '');
  const query = local.indexOf('?');
  return query === -1 ? { path: local, search: '' } : { path: local.slice(0, query), search: local.slice(query) };
};

const decodePath = (path: string): string | undefined => {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
};

const createMatcher = (path: string): RegExp =>
  new RegExp(`^${path.replace(/[.+]/g, '\\$&').replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`);

/**
 * Finds routes as the platform's router does: by the decoded path, so that `%2F` is a slash, without tidying it, and
 * literal paths before those with parameters. A wrong method is an unknown path.
 */
export const createRouteFinder = (table: RelayTable) => {
  const entries = Object.entries(table).map(([pattern, route]) => {
    const [method = '', place = ''] = pattern.split(' ');
    const path = place.startsWith('/') ? place : ADMIN_PREFIX + place;
    return { pattern, method, route, matcher: createMatcher(path), isLiteral: !path.includes(':') };
  });
  const ordered = [...entries.filter(({ isLiteral }) => isLiteral), ...entries.filter(({ isLiteral }) => !isLiteral)];
  const entryFor = (method: string, path: string) =>
    ordered.find((entry) => entry.method === method && entry.matcher.test(path));
  return (method: string, target: string): FoundRoute => {
    const { path: escaped, search } = splitTarget(target);
    const path = decodePath(escaped);
    if (path === undefined) return { kind: 'malformed' };
    const entry = entryFor(method, path);
    if (entry !== undefined) {
      const params = { ...entry.matcher.exec(path)?.groups };
      return { kind: 'route', pattern: entry.pattern, route: entry.route, params };
    }
    const isSlashed = path.endsWith('/') && entryFor(method, path.slice(0, -1)) !== undefined;
    return isSlashed
      ? { kind: 'trailing-slash', location: escaped.replace(/\/$|%2f$/i, '') + search }
      : { kind: 'unknown' };
  };
};

/** The id in a path, or undefined where the platform would say that it is none. */
export const parseId = (params: Readonly<Record<string, string>>): number | undefined => {
  const text = params.id ?? '';
  return /^[+-]?\d{1,18}$/.test(text) ? Number(text) : undefined;
};

/**
 * Answers about the record with the id in the path, with data or a response of its own. An id that is none, or nobody's, is
 * refused in the platform's words.
 */
export const ofRecord =
  <One extends { readonly id: number }>(
    name: 'account' | 'group' | 'channel',
    records: readonly One[],
    answer: (record: One, call: RelayCall) => unknown,
  ): RelayRoute =>
  (call) => {
    const id = parseId(call.params);
    if (id === undefined) return refusedResponse({ status: 400, message: `Invalid ${name} ID` });
    const found = records.find((record) => record.id === id);
    const answered = found && answer(found, call);
    if (answered !== undefined) return answered instanceof Response ? answered : ok(answered);
    return refusedResponse({ status: 404, message: `${name} not found`, reason: `${name.toUpperCase()}_NOT_FOUND` });
  };
