import { hasCredentials } from '../core/basic-auth.ts';
import { Fault } from '../core/fault.ts';
import { guard } from '../core/guard.ts';
import type { Handler } from '../core/handler.ts';
import { json } from '../core/json.ts';
import { createRoutes, type RouteTable } from '../core/route.ts';
import type { RouteNeeds } from './agent-needs.ts';
import type { AgentNeeds } from './app.ts';
import { docOf } from './doc.ts';
import { messageRoutes } from './message-routes.ts';
import { otherRoutes } from './other-routes.ts';
import { AGENT_REPLIES } from './replies.ts';
import { sessionRoutes } from './session-routes.ts';

/** Only a server that is ready answers more than that it is there. */
export type AgentState = 'starting' | 'ready' | 'stopping';

/** Paths that need no credentials: they say nothing but that the server is there. */
const OPEN_PATHS = /^\w+:\/\/[^/?#]*\/(?:health|ready)\/?(?:[?#]|$)/;

const LOCAL_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * Whether a request comes from a program of this machine and not from a web page that a browser of this machine shows: such a
 * page can make its own name lead here, and send what needs no answer to read.
 */
const isOfThisMachine = ({ headers }: Request): boolean => {
  const origin = headers.get('origin');
  const isLocalOrigin = origin === null || LOCAL_NAME.test(origin.replace(/^https?:\/\//i, ''));
  return isLocalOrigin && LOCAL_NAME.test(headers.get('host') ?? '');
};

const NOT_OF_THIS_MACHINE = new Fault({
  kind: 'bad-input',
  code: 'invalid_host',
  param: null,
  message:
    'Without a password this server answers programs of this machine, under a name such as 127.0.0.1 or localhost',
});

const tableFor = (needs: RouteNeeds, stateNow: () => AgentState): RouteTable => {
  const { version } = needs;
  const ready = () => {
    const state = stateNow();
    return state === 'ready' ? json(200, { status: 'ready' }) : json(503, { status: 'not ready', reasons: [state] });
  };
  return {
    '/health': { GET: () => json(200, { status: 'ok', service: 'agent', version }) },
    '/ready': { GET: ready },
    ...sessionRoutes(needs),
    ...messageRoutes(needs),
    ...otherRoutes(needs),
    '/doc': { GET: () => json(200, docOf(version)) },
  };
};

/** Every route of the agent server, behind its credentials and its state. */
export const createFrontDoor = (
  {
    clock,
    log,
    newRequestId,
    credentials,
    isForThisMachine,
  }: Pick<AgentNeeds, 'clock' | 'log' | 'newRequestId' | 'credentials' | 'isForThisMachine'>,
  routeNeeds: RouteNeeds,
  stateNow: () => AgentState,
): { readonly handler: Handler; readonly table: RouteTable } => {
  const table = tableFor(routeNeeds, stateNow);
  const routes = createRoutes(table, () => 'No such path. GET /doc lists all');
  const handle: Handler = async (request) => {
    const isOpen = OPEN_PATHS.test(request.url);
    if (!isOpen && credentials !== undefined && !hasCredentials(request, credentials))
      throw new Fault({ kind: 'unauthorized' });
    if (isForThisMachine && credentials === undefined && !isOfThisMachine(request)) throw NOT_OF_THIS_MACHINE;
    const state = stateNow();
    if (!isOpen && state !== 'ready')
      throw new Fault({ kind: 'unavailable', message: `The server is ${state}`, retryAfterMs: 1000 });
    return routes.handler(request);
  };
  const { routeOf } = routes;
  return { table, handler: guard(handle, { clock, log, newRequestId, routeOf, replies: AGENT_REPLIES }) };
};
