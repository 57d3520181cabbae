import { Fault } from '../../core/fault.ts';
import { hasBasicCredentials, isFromLocalProgram } from '../../core/http/auth.ts';
import { guard, type Handler } from '../../core/http/handler.ts';
import { jsonResponse } from '../../core/http/json-response.ts';
import { createRoutes, type RouteTable } from '../../core/http/router.ts';
import type { AgentNeeds } from '../app.ts';
import type { RouteNeeds } from '../context.ts';
import { StoreUnavailable } from '../store/errors.ts';
import { clientRoutes, hintFor } from './compat.ts';
import { AGENT_REPLIES } from './errors.ts';
import { otherRoutes } from './events.ts';
import { messageRoutes } from './messages.ts';
import { docOf } from './openapi.ts';
import { conversationRoutes, sessionRoutes } from './sessions.ts';

const LOCAL_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/;
const USUAL_PORT = /:(?:80|443)$/;

const nameIn = (text: string): string => text.toLowerCase().replace(USUAL_PORT, '');

/**
 * Whether a browser sends a request for a page of another server. It adds the password that a person has typed once, and
 * the page need not see the answer to have had its way. What is no browser sends no `Origin`.
 */
export const hasForeignOrigin = ({ headers }: Request): boolean => {
  const origin = headers.get('origin');
  if (origin === null) return false;
  const from = nameIn(origin.replace(/^https?:\/\//i, ''));
  const to = nameIn(headers.get('host') ?? '');
  return from !== to && !(LOCAL_NAME.test(from) && LOCAL_NAME.test(to));
};

/** Only a server that is ready answers more than that it is there. */
export type AgentState = 'starting' | 'ready' | 'stopping';

/** A start takes no longer, and after a stop another server may be here. */
const SOON_MS = 1000;

/** Paths that need no credentials: they say nothing but that the server is there. */
const OPEN_PATHS = /^\w+:\/\/[^/?#]*\/(?:health|ready)\/?(?:[?#]|$)/;

const NOT_OF_THIS_MACHINE = new Fault({
  kind: 'bad-input',
  code: 'invalid_host',
  param: null,
  message:
    'Without a password this server answers programs of this machine, under a name such as 127.0.0.1 or localhost',
});

const STORE_AWAY = new Fault({
  kind: 'unavailable',
  message: 'The store cannot be reached at the moment',
  retryAfterMs: SOON_MS,
});

const OF_ANOTHER_ORIGIN = new Fault({
  kind: 'bad-input',
  code: 'invalid_origin',
  param: null,
  message: 'This server answers no web page of another origin',
});

const tableFor = (needs: RouteNeeds, stateNow: () => AgentState, isStoreUp: () => boolean): RouteTable => {
  const { version, meter } = needs;
  const doc = () => jsonResponse(200, docOf(version));
  const ready = () => {
    const state = stateNow();
    if (state === 'ready' && isStoreUp()) return jsonResponse(200, { status: 'ready' });
    const reasons = [state === 'ready' ? 'the store cannot be reached' : state];
    return jsonResponse(503, { status: 'not ready', reasons }, { 'retry-after': String(SOON_MS / 1000) });
  };
  return {
    '/health': { GET: () => jsonResponse(200, { status: 'ok', service: 'agent', version }) },
    '/ready': { GET: ready },
    ...sessionRoutes(needs),
    ...messageRoutes(needs),
    ...conversationRoutes(needs),
    ...otherRoutes(needs),
    ...clientRoutes(needs),
    '/metrics': {
      async GET() {
        const text = await meter.text();
        if (text === undefined) throw new Fault({ kind: 'not-found', hint: 'This server keeps no metrics' });
        return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
      },
    },
    '/doc': { GET: doc },
    '/openapi.json': { GET: doc },
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
    peers,
  }: Pick<AgentNeeds, 'clock' | 'log' | 'newRequestId' | 'credentials' | 'isForThisMachine' | 'peers'>,
  routeNeeds: RouteNeeds,
  stateNow: () => AgentState,
): { readonly handler: Handler; readonly table: RouteTable } => {
  const table = tableFor(routeNeeds, stateNow, peers.isStoreUp);
  const routes = createRoutes(table, hintFor);
  const handle: Handler = async (request) => {
    const isOpen = OPEN_PATHS.test(request.url);
    if (hasForeignOrigin(request)) throw OF_ANOTHER_ORIGIN;
    if (!isOpen && credentials !== undefined && !hasBasicCredentials(request, credentials))
      throw new Fault({ kind: 'unauthorized' });
    if (isForThisMachine && credentials === undefined && !isFromLocalProgram(request)) throw NOT_OF_THIS_MACHINE;
    const state = stateNow();
    if (!isOpen && state !== 'ready')
      throw new Fault({ kind: 'unavailable', message: `The server is ${state}`, retryAfterMs: SOON_MS });
    return Promise.resolve(routes.handler(request)).catch((error: unknown) => {
      throw error instanceof StoreUnavailable ? STORE_AWAY : error;
    });
  };
  const { routeOf } = routes;
  const onAnswered = routeNeeds.meter.answered;
  return { table, handler: guard(handle, { clock, log, newRequestId, routeOf, onAnswered, replies: AGENT_REPLIES }) };
};
