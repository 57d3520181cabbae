import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { type SseEvent, sseResponse } from '../../core/http/sse.ts';
import { notConfiguredText } from '../../core/identifier.ts';
import {
  type EventSubscription,
  eventToSse,
  followEvents,
  type LostEvents,
  parseLastEventID,
} from '../events/stream.ts';
import type { EventDraft } from '../protocol/events.ts';
import type { McpStatus } from '../tools/mcp/connection.ts';
import type { RouteContext } from './context.ts';
import { permissionRoutes } from './permissions.ts';
import { requestDirectory } from './query.ts';

/** Events about the stream itself. They are not stored, and have no id for `Last-Event-ID`. */
export type StreamEvent =
  | { readonly type: 'server.connected'; readonly properties: Readonly<Record<string, never>> }
  | { readonly type: 'server.heartbeat'; readonly properties: Readonly<Record<string, never>> }
  | { readonly type: 'server.events.lost'; readonly properties: LostEvents }
  | { readonly type: 'server.instance.disposed'; readonly properties: { readonly directory: string } }
  | { readonly type: 'global.disposed'; readonly properties: Readonly<Record<string, never>> };

/** Events of a session that are sent to one client without being stored again. */
type IdleEvent = Extract<EventDraft, { type: 'session.status' | 'session.idle' }>;

const CONNECTED_EVENT: StreamEvent = { type: 'server.connected', properties: {} };
const HEARTBEAT_EVENT: StreamEvent = { type: 'server.heartbeat', properties: {} };

const lostEvent = (properties: LostEvents): StreamEvent => ({ type: 'server.events.lost', properties });

/**
 * The last event of a stream that the server ends. The global stream does not name a directory: OpenCode's terminal would
 * conclude that the server goes on, send requests at once and fail.
 */
const closingEvent = (directory: string | undefined): StreamEvent =>
  directory === undefined
    ? { type: 'global.disposed', properties: {} }
    : { type: 'server.instance.disposed', properties: { directory } };

/** A stream event for the wire. Lost events get a comment line, which clients ignore and people read. */
const streamEventToSse = (event: StreamEvent | IdleEvent, isGlobal: boolean): SseEvent => ({
  ...(event.type === 'server.events.lost' ? { comment: 'events were lost, read anew what matters' } : {}),
  data: JSON.stringify(isGlobal ? { payload: event } : event),
});

const eventRoutes = (context: RouteContext): RouteTable => {
  const { clock, streams, runs, resume, ending, onBug } = context;
  /**
   * That sessions are idle which a server had at work when it ended. OpenCode's terminal reads the statuses when it starts, and
   * not when it reconnects. Its `run` reads the other stream, and takes such an event for the end of its own prompt.
   */
  const idleAgain = async (): Promise<readonly IdleEvent[]> => {
    const sessionIDs = resume.recentSessions();
    if (sessionIDs.length === 0) return [];
    const busy = await runs.statuses();
    return sessionIDs
      .filter((id) => busy[id] === undefined)
      .flatMap((sessionID): readonly IdleEvent[] => [
        { type: 'session.status', properties: { sessionID, status: { type: 'idle' } } },
        { type: 'session.idle', properties: { sessionID } },
      ]);
  };

  async function* streamEvents(subscription: EventSubscription, isGlobal: boolean): AsyncGenerator<SseEvent> {
    const progress = streams.begin();
    try {
      yield streamEventToSse(CONNECTED_EVENT, isGlobal);
      const isBehind = isGlobal && subscription.afterID === undefined;
      for (const event of isBehind ? await idleAgain() : []) yield streamEventToSse(event, isGlobal);
      for await (const next of followEvents(context, { ...subscription, progress }))
        yield 'event' in next ? eventToSse(next, isGlobal) : streamEventToSse(lostEvent(next), isGlobal);
      if (ending.aborted) yield streamEventToSse(closingEvent(subscription.directory), isGlobal);
    } finally {
      progress.end();
    }
  }
  const stream = (request: Request, isGlobal: boolean): Response => {
    // A wrong header gets an error status, which is only possible before the stream begins.
    const afterID = parseLastEventID(request);
    const directory = isGlobal ? undefined : requestDirectory(request, context.directory);
    const heartbeat = () => streamEventToSse(HEARTBEAT_EVENT, isGlobal);
    const source = (left: AbortSignal) => streamEvents({ afterID, directory, disconnected: left }, isGlobal);
    return sseResponse(source, { clock, heartbeat, onBug });
  };
  return {
    '/event': { GET: (request) => stream(request, false) },
    '/global/event': { GET: (request) => stream(request, true) },
  };
};

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

/** What this server offers beside OpenCode's API, for clients that can do without. */
const FEATURES = ['client-tools', 'turns'];

/** Events, permissions, tool servers, and what the configuration shows. */
export const otherRoutes = (context: RouteContext): RouteTable => ({
  ...eventRoutes(context),
  ...permissionRoutes(context),
  ...mcpRoutes(context),
  '/global/health': { GET: () => jsonResponse(200, { healthy: true, version: context.version, features: FEATURES }) },
  '/config': { GET: () => jsonResponse(200, context.configViews.config) },
  '/config/providers': { GET: () => jsonResponse(200, context.configViews.configProviders) },
  '/provider': { GET: () => jsonResponse(200, context.configViews.provider) },
  '/agent': { GET: () => jsonResponse(200, context.configViews.agent) },
  '/command': { GET: () => jsonResponse(200, context.configViews.command) },
  '/path': {
    GET(request) {
      const directory = requestDirectory(request, context.directory);
      return jsonResponse(200, { home: '', state: '', config: '', worktree: directory, directory });
    },
  },
});
