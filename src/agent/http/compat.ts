import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { sessionErrorPublication } from '../events/records.ts';
import { LogBody } from '../protocol/request-schemas.ts';
import type { RouteContext } from './context.ts';
import { newerApi, openAiPath } from './errors.ts';
import { parseQuery, requestDirectory } from './query.ts';

/** The one project: sessions are grouped by their directories alone. */
const PROJECT = 'global';

/** Paths that clients request when they start, and that are empty lists here. */
const EMPTY_LISTS = [
  '/skill',
  '/question',
  '/lsp',
  '/formatter',
  '/vcs/status',
  '/experimental/workspace',
  '/experimental/workspace/status',
];
/** The same in the envelope of OpenCode's newer API, which clients request beside the older one. */
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
 * What OpenCode's clients request beside sessions: facts about the server, and empty values for what it does not have.
 */
export const compatRoutes = ({ clock, directory, sessions, configViews, readBody }: RouteContext): RouteTable => {
  const startedAt = clock.now();
  const toProject = (request: Request) => ({
    id: PROJECT,
    worktree: requestDirectory(request, directory),
    time: { created: startedAt, updated: startedAt },
    sandboxes: [],
  });
  const toLocation = (request: Request) => {
    const requested = parseQuery(request).get('location[directory]');
    const chosen = requested === null || requested === '' ? requestDirectory(request, directory) : requested;
    return { directory: chosen, project: { id: PROJECT, directory: chosen } };
  };
  const emptyListFor = async (id: string): Promise<Response> => {
    await sessions.get(id);
    return jsonResponse(200, []);
  };
  return {
    ...createGetRoutes(EMPTY_LISTS, () => []),
    ...createGetRoutes(EMPTY_API_LISTS, (request) => ({ location: toLocation(request), data: [] })),
    ...createGetRoutes(['/vcs', '/provider/auth', '/experimental/resource'], () => ({})),
    '/api/location': { GET: (request) => jsonResponse(200, toLocation(request)) },
    '/session/:id/todo': { GET: (_request, { id = '' }) => emptyListFor(id) },
    '/session/:id/diff': { GET: (_request, { id = '' }) => emptyListFor(id) },
    '/project': { GET: (request) => jsonResponse(200, [toProject(request)]) },
    '/project/current': { GET: (request) => jsonResponse(200, toProject(request)) },
    '/project/:id/directories': { GET: () => jsonResponse(200, []) },
    '/experimental/capabilities': { GET: () => jsonResponse(200, { backgroundSubagents: false }) },
    '/experimental/console': { GET: () => jsonResponse(200, { consoleManagedProviders: [], switchableOrgCount: 0 }) },
    '/global/config': { GET: () => jsonResponse(200, configViews.config) },
    '/log': {
      // Accepted and dropped: a client's log text may quote a user.
      async POST(request) {
        await readBody(request, LogBody);
        return jsonResponse(200, true);
      },
    },
  };
};

/** Parts of OpenCode's API that this server does not have, each with its name. The first match counts. */
const UNSUPPORTED: readonly (readonly [path: RegExp, name: string])[] = [
  [/^\/session\/[^/]+\/share$/, 'sharing'],
  [/^\/session\/[^/]+\/shell$/, 'shell commands'],
  [/^\/session\/[^/]+\/init$/, 'commands that write files'],
  [/^\/(?:find|file)(?:\/|$)/, 'files and searching them'],
  [/^\/(?:auth(?:\/|$)|provider\/[^/]+\/oauth\/|mcp\/[^/]+\/auth(?:\/|$))/, 'credentials at run time'],
  [/^\/question\//, 'questions of the model'],
  [/^\/vcs\//, 'version control'],
  [/^\/(?:project|instance)\//, 'changing projects'],
  [/^\/pty(?:\/|$)/, 'terminals (pty)'],
  [/^\/tui(?:\/|$)/, 'control of a terminal (tui)'],
  [/^\/sync(?:\/|$)/, 'syncing'],
  [/^\/experimental\//, 'this experimental part'],
  [/^\/global\//, 'control of the server from outside'],
];

const unsupportedText = (path: string): string | undefined => {
  const name = UNSUPPORTED.find(([form]) => form.test(path))?.[1];
  return name === undefined ? undefined : `This server does not offer ${name}`;
};

/**
 * Sends a `session.error` for a request in a session that this server does not support, such as a shell command or sharing:
 * OpenCode's terminal shows no error of those requests, but that event.
 */
export const createUnsupportedReport =
  ({ store, publisher }: RouteContext) =>
  async ({ method, url }: Request): Promise<void> => {
    const [, path = '', id] =
      /^\w+:\/\/[^/?#]*(\/session\/(ses_\w{1,60})\/(?:share|shell|init))(?:[?#]|$)/.exec(url) ?? [];
    const message = unsupportedText(path);
    if (id === undefined || message === undefined || (method !== 'POST' && method !== 'DELETE')) return;
    const session = await store.session(id);
    if (session === undefined) return;
    const error = { name: 'UnknownError', data: { message } } as const;
    await publisher.publish(session.directory, sessionErrorPublication(id, error));
  };

/** What clients of OpenAI's API ask for, with or without the `/v1` of their base URL. */
const OPENAI_PATH =
  /^\/(?:v1\/)*(?:chat\/completions|completions|responses|conversations|models|embeddings|moderations)(?:\/|$)/;

/**
 * The message of the 404 for a path: an id in it is empty, or it is unsupported here but part of OpenCode's API, or unknown.
 * Throws the fault for a path of OpenAI's API, or of OpenCode 2.x: their clients read other forms of errors.
 */
export const unknownPathHint = (path: string): string => {
  if (OPENAI_PATH.test(path)) throw openAiPath();
  if (/^\/api(?:\/|$)/.test(path)) throw newerApi();
  if (path.includes('//')) return 'A part of the path is empty (//): an id in it was not filled in';
  return `${unsupportedText(path) ?? 'No such path'}. GET /doc lists all`;
};
