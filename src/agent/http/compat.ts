import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import type { RouteContext } from '../context.ts';
import { LogBody, readBody } from '../protocol/request-schemas.ts';
import { parseQuery, requestDirectory } from './query.ts';

/** The one project: sessions are grouped by their directories alone. */
const PROJECT = 'global';

/** Lists of what this server has none of, which clients ask for when they start. */
const EMPTY_LISTS = [
  '/command',
  '/skill',
  '/question',
  '/lsp',
  '/formatter',
  '/vcs/status',
  '/experimental/workspace',
  '/experimental/workspace/status',
];
/** The same in the envelope of the newer API, which clients ask for beside the older one and can do without. */
const EMPTY_API_LISTS = [
  '/api/agent',
  '/api/command',
  '/api/integration',
  '/api/model',
  '/api/provider',
  '/api/reference',
  '/api/skill',
];

const createGetRoutes = (paths: readonly string[], answer: (request: Request) => unknown): RouteTable =>
  Object.fromEntries(paths.map((path) => [path, { GET: (request: Request) => jsonResponse(200, answer(request)) }]));

/**
 * What OpenCode's clients ask for beside sessions: what there is to know, and the empty value of what this server does not
 * have.
 */
export const compatRoutes = ({ clock, directory, sessions, configViews }: RouteContext): RouteTable => {
  const startedAt = clock.now();
  const projectOf = (request: Request) => ({
    id: PROJECT,
    worktree: requestDirectory(request, directory),
    time: { created: startedAt, updated: startedAt },
    sandboxes: [],
  });
  const locationOf = (request: Request) => {
    const asked = parseQuery(request).get('location[directory]');
    const here = asked === null || asked === '' ? requestDirectory(request, directory) : asked;
    return { directory: here, project: { id: PROJECT, directory: here } };
  };
  const nothingOf = async (id: string): Promise<Response> => {
    await sessions.get(id);
    return jsonResponse(200, []);
  };
  return {
    ...createGetRoutes(EMPTY_LISTS, () => []),
    ...createGetRoutes(EMPTY_API_LISTS, (request) => ({ location: locationOf(request), data: [] })),
    ...createGetRoutes(['/vcs', '/provider/auth', '/experimental/resource'], () => ({})),
    '/api/location': { GET: (request) => jsonResponse(200, locationOf(request)) },
    '/session/:id/todo': { GET: (_request, { id = '' }) => nothingOf(id) },
    '/session/:id/diff': { GET: (_request, { id = '' }) => nothingOf(id) },
    '/project': { GET: (request) => jsonResponse(200, [projectOf(request)]) },
    '/project/current': { GET: (request) => jsonResponse(200, projectOf(request)) },
    '/project/:id/directories': { GET: () => jsonResponse(200, []) },
    '/experimental/capabilities': { GET: () => jsonResponse(200, { backgroundSubagents: false }) },
    '/experimental/console': { GET: () => jsonResponse(200, { consoleManagedProviders: [], switchableOrgCount: 0 }) },
    '/global/config': { GET: () => jsonResponse(200, configViews.config) },
    '/log': {
      // Taken, and dropped: what a client says may be what a person said.
      async POST(request) {
        await readBody(request, LogBody);
        return jsonResponse(200, true);
      },
    },
  };
};

/** Parts of OpenCode's API that this server does not have, each with how it is called. The first that fits counts. */
const UNSUPPORTED: readonly (readonly [path: RegExp, name: string])[] = [
  [/^\/session\/[^/]+\/share$/, 'sharing'],
  [/^\/session\/[^/]+\/shell$/, 'shell commands'],
  [/^\/session\/[^/]+\/(?:command|init)$/, 'commands'],
  [/^\/session\/[^/]+\/message\/[^/]+\/part\/[^/]+$/, 'changing single parts'],
  [/^\/(?:find|file)(?:\/|$)/, 'files and searching them'],
  [/^\/(?:auth(?:\/|$)|provider\/[^/]+\/oauth\/|mcp\/[^/]+\/auth(?:\/|$))/, 'credentials at run time'],
  [/^\/question\//, 'questions of the model'],
  [/^\/vcs\//, 'version control'],
  [/^\/(?:project|instance)\//, 'changing projects'],
  [/^\/pty(?:\/|$)/, 'terminals (pty)'],
  [/^\/tui(?:\/|$)/, 'control of a terminal (tui)'],
  [/^\/sync(?:\/|$)/, 'syncing'],
  [/^\/experimental\//, 'this experimental part'],
  [/^\/api\//, 'the newer API'],
  [/^\/global\//, 'control of the server from outside'],
];

/** What the 404 of a path says: whether it is one of OpenCode that this server does not have, or none that is known. */
export const unknownPathHint = (path: string): string => {
  const name = UNSUPPORTED.find(([form]) => form.test(path))?.[1];
  const beginning = name === undefined ? 'No such path' : `This server does not offer ${name}`;
  return `${beginning}. GET /doc lists all`;
};
