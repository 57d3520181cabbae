import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/json-response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { type SseEvent, sseResponse } from '../../core/http/sse.ts';
import type { RouteNeeds } from '../context.ts';
import { type EventsWanted, followEvents, type Lost, lastEventID, sseOf } from '../events/stream.ts';
import type { McpStatus } from '../mcp/connection.ts';
import { ReplyIn, ResponseIn, readBody } from '../protocol/request-schemas.ts';
import { directoryOf } from './query.ts';

/** What a stream tells of itself. It is not stored, and has no id to come back with. */
export type StreamEvent =
  | { readonly type: 'server.connected'; readonly properties: Readonly<Record<string, never>> }
  | { readonly type: 'server.heartbeat'; readonly properties: Readonly<Record<string, never>> }
  | { readonly type: 'server.events.lost'; readonly properties: Lost }
  | { readonly type: 'server.instance.disposed'; readonly properties: { readonly directory: string } }
  | { readonly type: 'global.disposed'; readonly properties: Readonly<Record<string, never>> };

export const CONNECTED: StreamEvent = { type: 'server.connected', properties: {} };
export const HEARTBEAT: StreamEvent = { type: 'server.heartbeat', properties: {} };

export const lostEvent = (properties: Lost): StreamEvent => ({ type: 'server.events.lost', properties });

/**
 * The last event of a stream that the server ends. The global stream never tells of a single directory: OpenCode's terminal
 * would take that for a server that goes on, ask it at once and give up.
 */
export const closingEvent = (directory: string | undefined): StreamEvent =>
  directory === undefined
    ? { type: 'global.disposed', properties: {} }
    : { type: 'server.instance.disposed', properties: { directory } };

/** The event as the wire has it, with a line that only people who look at the stream see. */
export const sseOfStream = (event: StreamEvent, isGlobal: boolean): SseEvent => ({
  ...(event.type === 'server.events.lost' ? { comment: 'events were lost, read anew what matters' } : {}),
  data: JSON.stringify(isGlobal ? { payload: event } : event),
});

const HEARTBEAT_MS = 10_000;

const noPermission = () => new Fault({ kind: 'not-found', hint: 'Permission request not found, or no longer open' });

const eventRoutes = (needs: RouteNeeds): RouteTable => {
  async function* told(wanted: EventsWanted, isGlobal: boolean): AsyncGenerator<SseEvent> {
    const pace = needs.streams.begin();
    try {
      yield sseOfStream(CONNECTED, isGlobal);
      for await (const told of followEvents(needs, { ...wanted, pace }))
        yield 'event' in told ? sseOf(told, isGlobal) : sseOfStream(lostEvent(told), isGlobal);
      if (needs.ending.aborted) yield sseOfStream(closingEvent(wanted.directory), isGlobal);
    } finally {
      pace.end();
    }
  }
  const stream = (request: Request, isGlobal: boolean): Response => {
    // What is wrong with the request is told with a status, not in the stream.
    const afterID = lastEventID(request);
    const directory = isGlobal ? undefined : directoryOf(request, needs.directory);
    const { clock, onBug } = needs;
    const heartbeat = { everyMs: HEARTBEAT_MS, event: () => sseOfStream(HEARTBEAT, isGlobal) };
    const source = (left: AbortSignal) => told({ afterID, directory, left }, isGlobal);
    return sseResponse(source, { clock, heartbeat, onBug });
  };
  return {
    '/event': { GET: (request) => stream(request, false) },
    '/global/event': { GET: (request) => stream(request, true) },
  };
};

const permissionRoutes = ({ approvals, sessions }: RouteNeeds): RouteTable => ({
  '/permission': { GET: async () => jsonResponse(200, await approvals.open()) },
  '/permission/:id/reply': {
    async POST(request, { id = '' }) {
      const given = await readBody(request, ReplyIn);
      const reply =
        given.reply === 'reject'
          ? { reply: given.reply, ...(given.message === undefined ? {} : { message: given.message }) }
          : given;
      if (!(await approvals.reply(id, reply))) throw noPermission();
      return jsonResponse(200, true);
    },
  },
  '/session/:id/permissions/:permissionID': {
    async POST(request, { id = '', permissionID = '' }) {
      await sessions.get(id);
      const { response } = await readBody(request, ResponseIn);
      const isOfSession = (await approvals.open()).some((asked) => asked.id === permissionID && asked.sessionID === id);
      if (!isOfSession || !(await approvals.reply(permissionID, { reply: response }))) throw noPermission();
      return jsonResponse(200, true);
    },
  },
});

const mcpRoutes = ({ mcp }: RouteNeeds): RouteTable => {
  const switched = (what: McpStatus | 'not-found'): Response => {
    if (what !== 'not-found') return jsonResponse(200, true);
    throw new Fault({ kind: 'not-found', hint: 'No tool server of this name is configured' });
  };
  return {
    '/mcp': { GET: () => jsonResponse(200, mcp.statuses()) },
    '/mcp/:name/connect': {
      POST: async (request, { name = '' }) => switched(await mcp.connect(name, request.signal)),
    },
    '/mcp/:name/disconnect': { POST: async (_request, { name = '' }) => switched(await mcp.disconnect(name)) },
  };
};

/** Events, permissions, tool servers, and what the configuration shows. */
export const otherRoutes = (needs: RouteNeeds): RouteTable => ({
  ...eventRoutes(needs),
  ...permissionRoutes(needs),
  ...mcpRoutes(needs),
  '/global/health': { GET: () => jsonResponse(200, { healthy: true, version: needs.version }) },
  '/config': { GET: () => jsonResponse(200, needs.shown.config) },
  '/config/providers': { GET: () => jsonResponse(200, needs.shown.configProviders) },
  '/provider': { GET: () => jsonResponse(200, needs.shown.provider) },
  '/agent': { GET: () => jsonResponse(200, needs.shown.agent) },
  '/path': {
    GET(request) {
      const directory = directoryOf(request, needs.directory);
      return jsonResponse(200, { home: '', state: '', config: '', worktree: directory, directory });
    },
  },
});
