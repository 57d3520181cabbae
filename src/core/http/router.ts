import { IttyRouter } from 'itty-router';
import { setNewest } from '../bounded-map.ts';
import { Fault } from '../fault.ts';
import type { Handler } from './handler.ts';

/** What a path answers: the decoded path parameters come second, because a Request cannot carry them. */
type RouteHandler = (request: Request, params: Readonly<Record<string, string>>) => Response | Promise<Response>;

/** Path pattern (`/v1/models/:id`) to method to handler. HEAD is answered wherever GET is. */
export type RouteTable = Readonly<Record<string, Readonly<Record<string, RouteHandler>>>>;

type Routes = {
  readonly handler: Handler;
  /** The pattern that covers a request, or `other`: a label that never holds a caller's text. */
  readonly routeOf: (request: Request) => string;
};

const pathOf = (url: string): string => {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const query = url.search(/[?#]/);
  return start === -1 ? '/' : url.slice(start, query === -1 ? undefined : query);
};

/** A Host header can be such that no URL comes of it, and the router needs one. */
const NO_ADDRESS = new Fault({
  kind: 'bad-input',
  code: 'invalid_address',
  param: null,
  message: 'The Host header and the path make no address',
});

const ODD_HOST = /[\s/?#@\\]/;

const decoded = (params: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => {
  try {
    return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    throw new Fault({ kind: 'not-found', hint: 'The path holds a malformed percent escape' });
  }
};

const withoutBody = async (reply: Response | Promise<Response>): Promise<Response> => {
  const { status, headers, body } = await reply;
  await body?.cancel();
  return new Response(null, { status, headers });
};

/** Enough for the names of a service and its paths without parameters. */
const KNOWN_LIMIT = 64;
const KNOWN_LIMIT_CHARS = 256;

/** A pattern and what its path answers. */
type Route = { readonly pattern: string; readonly methods: RouteTable[string]; readonly allow: readonly string[] };

const answer = ({ methods, allow }: Route, request: Request, params?: Readonly<Record<string, string>>) => {
  const isHead = request.method === 'HEAD';
  const method = isHead ? 'GET' : request.method;
  // Some runtimes let any word through as a method, `constructor` too.
  const handle = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (handle === undefined) throw new Fault({ kind: 'method-not-allowed', allow });
  const reply = handle(request, decoded(params));
  return isHead ? withoutBody(reply) : reply;
};

/**
 * A thin face over itty-router's smallest router: it adds HEAD, 405 with `Allow` and decoded parameters.
 * `hintFor` words the 404 of a path that no pattern covers.
 */
export const createRoutes = (table: RouteTable, hintFor: (path: string) => string): Routes => {
  const router = IttyRouter();
  const patterns = Object.keys(table);
  // Nearly all requests of a service ask for the same few URLs, and parsing one and trying the patterns takes longer than this.
  const known = new Map<string, Route>();
  const labelOf = (url: string): string => {
    const path = pathOf(url);
    return patterns[router.routes.findIndex(([, matcher]) => matcher.test(path))] ?? 'other';
  };
  for (const [pattern, methods] of Object.entries(table)) {
    const allow = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const route: Route = { pattern, methods, allow };
    router.all(pattern, ({ params }: { params?: Record<string, string> }, request: Request) => {
      const { url } = request;
      const isExact = !pattern.includes(':') && url.length <= KNOWN_LIMIT_CHARS && labelOf(url) === pattern;
      if (isExact) setNewest(known, [url, route], KNOWN_LIMIT);
      return answer(route, request, params);
    });
  }
  return {
    async handler(request) {
      // A Host with a path in it would choose the route, past whatever stands in front and allows by path.
      if (ODD_HOST.test(request.headers.get('host') ?? '')) throw NO_ADDRESS;
      const found = known.get(request.url);
      if (found !== undefined) return answer(found, request);
      // Without its query, which is not used and would take the router quadratic time.
      const asked = { method: request.method, url: request.url.replace(/[?#].*$/s, '') };
      const response: unknown = await router.fetch(asked, request).catch((error: unknown) => {
        throw URL.canParse(request.url) ? error : NO_ADDRESS;
      });
      if (response !== undefined) return response as Response;
      throw new Fault({ kind: 'not-found', hint: hintFor(pathOf(request.url)) });
    },
    routeOf: ({ url }) => known.get(url)?.pattern ?? labelOf(url),
  };
};
