import type { SseEvent } from '../core/http/sse.ts';
import type { Lost } from './events/stream.ts';

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
