import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { type SseEvent, sseResponse } from '../../core/http/sse.ts';
import { notConfiguredText, notFoundText } from '../../core/identifier.ts';
import type { RouteContext } from '../context.ts';
import {
  type EventSubscription,
  eventToSse,
  followEvents,
  type LostEvents,
  parseLastEventID,
} from '../events/stream.ts';
import type { McpStatus } from '../mcp/connection.ts';
import { PermissionReplyBody, PermissionResponseBody, readBody } from '../protocol/request-schemas.ts';
import { requestDirectory } from './query.ts';

/** What a stream tells of itself. It is not stored, and has no id to come back with. */
export type StreamEvent =
  | { readonly type: 'server.connected'; readonly properties: Readonly<Record<string, never>> }
  | { readonly type: 'server.heartbeat'; readonly properties: Readonly<Record<string, never>> }
  | { readonly type: 'server.events.lost'; readonly properties: LostEvents }
  | { readonly type: 'server.instance.disposed'; readonly properties: { readonly directory: string } }
  | { readonly type: 'global.disposed'; readonly properties: Readonly<Record<string, never>> };

export const CONNECTED_EVENT: StreamEvent = { type: 'server.connected', properties: {} };
export const HEARTBEAT_EVENT: StreamEvent = { type: 'server.heartbeat', properties: {} };

export const lostEvent = (properties: LostEvents): StreamEvent => ({ type: 'server.events.lost', properties });

/**
 * The last event of a stream that the server ends. The global stream never tells of a single directory: OpenCode's terminal
 * would take that for a server that goes on, ask it at once and give up.
 */
export const closingEvent = (directory: string | undefined): StreamEvent =>
  directory === undefined
    ? { type: 'global.disposed', properties: {} }
    : { type: 'server.instance.disposed', properties: { directory } };

/** The event as the wire has it, with a line that only people who look at the stream see. */
export const streamEventToSse = (event: StreamEvent, isGlobal: boolean): SseEvent => ({
  ...(event.type === 'server.events.lost' ? { comment: 'events were lost, read anew what matters' } : {}),
  data: JSON.stringify(isGlobal ? { payload: event } : event),
});

const HEARTBEAT_MS = 10_000;

const permissionNotFound = (id: string) =>
  new Fault({ kind: 'not-found', hint: `${notFoundText('permission request', id)}, or is no longer open` });

const eventRoutes = (needs: RouteContext): RouteTable => {
  async function* told(wanted: EventSubscription, isGlobal: boolean): AsyncGenerator<SseEvent> {
    const pace = needs.streams.begin();
    try {
      yield streamEventToSse(CONNECTED_EVENT, isGlobal);
      for await (const told of followEvents(needs, { ...wanted, progress: pace }))
        yield 'event' in told ? eventToSse(told, isGlobal) : streamEventToSse(lostEvent(told), isGlobal);
      if (needs.ending.aborted) yield streamEventToSse(closingEvent(wanted.directory), isGlobal);
    } finally {
      pace.end();
    }
  }
  const stream = (request: Request, isGlobal: boolean): Response => {
    // What is wrong with the request is told with a status, not in the stream.
    const afterID = parseLastEventID(request);
    const directory = isGlobal ? undefined : requestDirectory(request, needs.directory);
    const { clock, onBug } = needs;
    const heartbeat = { everyMs: HEARTBEAT_MS, event: () => streamEventToSse(HEARTBEAT_EVENT, isGlobal) };
    const source = (left: AbortSignal) => told({ afterID, directory, disconnected: left }, isGlobal);
    return sseResponse(source, { clock, heartbeat, onBug });
  };
  return {
    '/event': { GET: (request) => stream(request, false) },
    '/global/event': { GET: (request) => stream(request, true) },
  };
};

const permissionRoutes = ({ approvals, sessions }: RouteContext): RouteTable => ({
  '/permission': { GET: async () => jsonResponse(200, await approvals.open()) },
  '/permission/:id/reply': {
    async POST(request, { id = '' }) {
      const given = await readBody(request, PermissionReplyBody);
      const reply =
        given.reply === 'reject'
          ? { reply: given.reply, ...(given.message === undefined ? {} : { message: given.message }) }
          : given;
      if (!(await approvals.reply(id, reply))) throw permissionNotFound(id);
      return jsonResponse(200, true);
    },
  },
  '/session/:id/permissions/:permissionID': {
    async POST(request, { id = '', permissionID = '' }) {
      await sessions.get(id);
      const { response } = await readBody(request, PermissionResponseBody);
      const isOfSession = (await approvals.open()).some((asked) => asked.id === permissionID && asked.sessionID === id);
      if (!isOfSession || !(await approvals.reply(permissionID, { reply: response })))
        throw permissionNotFound(permissionID);
      return jsonResponse(200, true);
    },
  },
});

const mcpRoutes = ({ mcp }: RouteContext): RouteTable => {
  const requireServer = (name: string, result: McpStatus | 'not-found'): Response => {
    if (result !== 'not-found') return jsonResponse(200, true);
    const hint = notConfiguredText('tool server', name, Object.keys(mcp.statuses()));
    throw new Fault({ kind: 'not-found', hint });
  };
  return {
    '/mcp': { GET: () => jsonResponse(200, mcp.statuses()) },
    '/mcp/:name/connect': {
      POST: async (request, { name = '' }) => requireServer(name, await mcp.connect(name, request.signal)),
    },
    '/mcp/:name/disconnect': {
      POST: async (_request, { name = '' }) => requireServer(name, await mcp.disconnect(name)),
    },
  };
};

/** Events, permissions, tool servers, and what the configuration shows. */
export const otherRoutes = (needs: RouteContext): RouteTable => ({
  ...eventRoutes(needs),
  ...permissionRoutes(needs),
  ...mcpRoutes(needs),
  '/global/health': { GET: () => jsonResponse(200, { healthy: true, version: needs.version }) },
  '/config': { GET: () => jsonResponse(200, needs.configViews.config) },
  '/config/providers': { GET: () => jsonResponse(200, needs.configViews.configProviders) },
  '/provider': { GET: () => jsonResponse(200, needs.configViews.provider) },
  '/agent': { GET: () => jsonResponse(200, needs.configViews.agent) },
  '/path': {
    GET(request) {
      const directory = requestDirectory(request, needs.directory);
      return jsonResponse(200, { home: '', state: '', config: '', worktree: directory, directory });
    },
  },
});
