import { Fault } from '../../core/fault.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { PAGE_POLICY } from './headers.ts';

/** The page: one HTML, and the files that it names, whose names hold a hash of their content. */
export type PageFiles = {
  readonly html: string;
  readonly assets: Readonly<Record<string, { readonly type: string; readonly text: string }>>;
};

type PageNeeds = {
  /** Undefined where nothing was bundled: when a test runs the sources. */
  readonly page: PageFiles | undefined;
  readonly gzip: (text: string) => Uint8Array<ArrayBuffer>;
  readonly digest: (text: string) => string;
};

/** The addresses of the page's views. Each gives the same HTML, so that one can be opened, linked and reloaded. */
const PAGE_PATHS = [
  '/',
  '/login',
  '/moderation',
  '/chat',
  '/chat/:agent/:session',
  '/sessions',
  '/sessions/:agent/:id',
  '/recharges',
  '/settings',
];

const NO_PAGE =
  'This process runs the sources, which hold no page: run npm run build, then node dist/gatehouse.js console';
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': PAGE_POLICY,
  'cache-control': 'no-cache',
};
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Whether one of the tags of `If-None-Match` is this one. */
const isKnown = ({ headers }: Request, tag: string): boolean =>
  (headers.get('if-none-match') ?? '')
    .split(',')
    .map((each) => each.trim().replace(/^W\//, ''))
    .includes(tag);

type PageRoutes = {
  readonly table: RouteTable;
  /** The page as the answer to a browser that asks for an address that nothing has: the page says so itself. */
  readonly pageForUnknownPath: (request: Request) => Response | undefined;
};

/** Whether a browser asks for a page, and not a program for something of the API. */
const wantsPage = ({ method, url, headers }: Request): boolean =>
  method === 'GET' &&
  /\btext\/html\b/.test(headers.get('accept') ?? '') &&
  !/^\/(?:api|a|assets)\//.test(new URL(url).pathname);

/** The routes of the page and its files. Each file is compressed once, when it is first asked for. */
export const createPageRoutes = ({ page, gzip, digest }: PageNeeds): PageRoutes => {
  const compressed = new Map<string, Uint8Array<ArrayBuffer>>();
  const compress = (text: string): Uint8Array<ArrayBuffer> => {
    const known = compressed.get(text) ?? gzip(text);
    compressed.set(text, known);
    return known;
  };
  const send = (request: Request, text: string, headers: Readonly<Record<string, string>>): Response => {
    const etag = `"${digest(text)}"`;
    const all = { ...headers, etag, vary: 'accept-encoding' };
    if (isKnown(request, etag)) return new Response(null, { status: 304, headers: all });
    if (!/\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')) return new Response(text, { headers: all });
    return new Response(compress(text), { headers: { ...all, 'content-encoding': 'gzip' } });
  };
  const showPage = (request: Request): Response => {
    if (page === undefined) throw new Fault({ kind: 'not-found', hint: NO_PAGE });
    return send(request, page.html, PAGE_HEADERS);
  };
  const table: RouteTable = {
    ...Object.fromEntries(PAGE_PATHS.map((path) => [path, { GET: showPage }])),
    '/assets/:name': {
      GET(request, { name = '' }) {
        const asset = page !== undefined && Object.hasOwn(page.assets, name) ? page.assets[name] : undefined;
        if (asset === undefined) throw new Fault({ kind: 'not-found', hint: 'No such file: reload the page' });
        return send(request, asset.text, { 'content-type': asset.type, 'cache-control': IMMUTABLE });
      },
    },
  };
  return {
    table,
    pageForUnknownPath(request) {
      if (page === undefined || !wantsPage(request)) return undefined;
      return new Response(page.html, { status: 404, headers: PAGE_HEADERS });
    },
  };
};
