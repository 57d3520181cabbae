import { Fault, isNotFound } from '../../core/fault.ts';
import { type Credentials, hasBasicCredentials, isFromLocalProgram } from '../../core/http/auth.ts';
import { createHandler, type Handler } from '../../core/http/handler.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonResponse } from '../../core/http/response.ts';
import { createRoutes, type RouteTable } from '../../core/http/router.ts';
import { createStandardRoutes } from '../../core/http/standard-routes.ts';
import type { RequestSpans } from '../../core/http/tracing.ts';
import { isStoreFailure, STORE_TROUBLES, type StoreTrouble } from '../store/errors.ts';
import { clientToolRoutes } from './client-tools.ts';
import { compatRoutes, createUnsupportedReport, unknownPathHint } from './compat.ts';
import type { RouteContext } from './context.ts';
import { turnConversationRoutes } from './conversations.ts';
import { AGENT_ERROR_RESPONSES, storeFault } from './errors.ts';
import { otherRoutes } from './events.ts';
import { exportRoutes } from './export.ts';
import { messageRoutes } from './messages.ts';
import { openApiDocument } from './openapi.ts';
import { partRoutes } from './parts.ts';
import { conversationRoutes, sessionRoutes } from './sessions.ts';
import { turnRoutes } from './turns.ts';

const USUAL_PORT = /:(?:80|443)$/;

const toHostName = (text: string): string => text.toLowerCase().replace(USUAL_PORT, '');

/**
 * Whether a browser sends a request for a page of another server. A browser adds the password that a person typed once, and
 * such a page can do harm without seeing the response. Other clients send no `Origin`.
 */
const hasForeignOrigin = (request: Request): boolean => {
  const { headers } = request;
  const origin = headers.get('origin');
  if (origin === null) return false;
  const from = toHostName(origin.replace(/^https?:\/\//i, ''));
  const to = toHostName(headers.get('host') ?? '');
  return from !== to && !isFromLocalProgram(request);
};

/** Requests that need credentials are answered in the state `ready` only. */
export type AgentState = 'starting' | 'ready' | 'stopping';

/** A start takes no longer, and after a stop another server may answer. */
const RETRY_AFTER_MS = 1000;

/** Throws `unavailable` in any state but `ready`. */
const requireReady = (state: AgentState): void => {
  if (state === 'ready') return;
  throw new Fault({ kind: 'unavailable', message: `The server is ${state}`, retryAfterMs: RETRY_AFTER_MS });
};

/** Paths without credentials: they show nothing but the server's state. */
const OPEN_PATHS = /^\w+:\/\/[^/?#]*\/(?:health|ready)\/?(?:[?#]|$)/;

const FOREIGN_HOST = new Fault({
  kind: 'bad-input',
  code: 'invalid_host',
  param: null,
  message:
    'Without a password this server answers programs of this machine, under a name such as 127.0.0.1 or localhost',
});

const FOREIGN_ORIGIN = new Fault({
  kind: 'bad-input',
  code: 'invalid_origin',
  param: null,
  message: 'This server answers no web page of another origin',
});

const toReason = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

const createRouteTable = (
  context: RouteContext,
  { stateNow, storeTrouble }: Pick<HandlerNeeds, 'stateNow' | 'storeTrouble'>,
): RouteTable => {
  const { version, metrics } = context;
  const ready = () => {
    const state = stateNow();
    const trouble = storeTrouble();
    if (state === 'ready' && trouble === undefined) return jsonResponse(200, { status: 'ready' });
    const reasons = [state !== 'ready' || trouble === undefined ? state : toReason(STORE_TROUBLES[trouble])];
    return jsonResponse(503, { status: 'not ready', reasons }, { 'retry-after': String(RETRY_AFTER_MS / 1000) });
  };
  const openApi = () => openApiDocument(version);
  return {
    ...createStandardRoutes({ service: 'agent', version, ready, metricsText: metrics.text, openApi }),
    ...sessionRoutes(context),
    ...messageRoutes(context),
    ...conversationRoutes(context),
    ...partRoutes(context),
    ...clientToolRoutes(context),
    ...turnRoutes(context),
    ...turnConversationRoutes(context),
    ...exportRoutes(context),
    ...otherRoutes(context),
    ...compatRoutes(context),
    '/doc': { GET: () => jsonResponse(200, openApi()) },
  };
};

/** What decides whether a request comes to a route. */
type HandlerNeeds = {
  readonly bodies: Pick<RequestBodies, 'release'>;
  readonly spans: RequestSpans;
  /** None: everyone who reaches the server may do everything. */
  readonly credentials: Credentials | undefined;
  /** The server listens on this machine alone: without credentials it answers nothing but programs of this machine. */
  readonly isForThisMachine: boolean;
  readonly storeTrouble: () => StoreTrouble | undefined;
  readonly stateNow: () => AgentState;
};

/** Every route of the agent server, behind its checks of origin, credentials and state. */
export const createAgentHandler = (
  context: RouteContext,
  { bodies, spans, credentials, isForThisMachine, storeTrouble, stateNow }: HandlerNeeds,
): { readonly handler: Handler; readonly table: RouteTable } => {
  const { clock, log, newId } = context;
  const table = createRouteTable(context, { stateNow, storeTrouble });
  const reportUnsupported = createUnsupportedReport(context);
  const routes = createRoutes(table, unknownPathHint);
  const handle: Handler = async (request) => {
    const isOpen = OPEN_PATHS.test(request.url);
    if (hasForeignOrigin(request)) throw FOREIGN_ORIGIN;
    if (!isOpen && credentials !== undefined && !hasBasicCredentials(request, credentials))
      throw new Fault({ kind: 'unauthorized' });
    if (isForThisMachine && credentials === undefined && !isFromLocalProgram(request)) throw FOREIGN_HOST;
    if (!isOpen) requireReady(stateNow());
    return Promise.resolve(routes.handler(request)).catch(async (error: unknown) => {
      if (isNotFound(error)) await reportUnsupported(request).catch(context.onBug);
      throw isStoreFailure(error) ? storeFault(error.trouble) : error;
    });
  };
  const { routeOf } = routes;
  const onAnswered = context.metrics.requestAnswered;
  return {
    table,
    handler: createHandler(handle, {
      ...{ clock, log, newId, routeOf, onAnswered, bodies, spans },
      errors: AGENT_ERROR_RESPONSES,
    }),
  };
};
