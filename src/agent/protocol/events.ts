import type { PermissionRequest } from './permissions.ts';
import type { Message, MessageError, Part, Session, SessionStatus } from './types.ts';

type OfSession<Type extends string, More> = {
  readonly type: Type;
  readonly properties: { readonly sessionID: string } & Readonly<More>;
};

/** An event without its id, which the store gives it. OpenCode's event types, as `GET /event` sends them. */
export type EventDraft =
  | OfSession<'session.created', { info: Session }>
  | OfSession<'session.updated', { info: Session }>
  | OfSession<'session.deleted', { info: Session }>
  | OfSession<'session.status', { status: SessionStatus }>
  | OfSession<'session.idle', object>
  | OfSession<'session.error', { error: MessageError }>
  | OfSession<'session.compacted', object>
  | OfSession<'message.updated', { info: Message }>
  | OfSession<'message.removed', { messageID: string }>
  | OfSession<'message.part.removed', { messageID: string; partID: string }>
  | OfSession<'message.part.updated', { part: Part; time: number }>
  /** `at`, of this server: the length of the text before it. */
  | OfSession<'message.part.delta', { messageID: string; partID: string; field: 'text'; delta: string; at: number }>
  | { readonly type: 'permission.asked'; readonly properties: PermissionRequest }
  | OfSession<'permission.replied', { requestID: string; reply: 'once' | 'always' | 'reject' }>
  | { readonly type: 'mcp.tools.changed'; readonly properties: { readonly server: string } };

/** An event as it is sent. Ids ascend in the order of the commits. */
export type AgentEvent = EventDraft & { readonly id: string };

/** The session of an event, if it has one. */
export const sessionIDOf = ({ properties }: EventDraft): string | undefined =>
  'sessionID' in properties ? properties.sessionID : undefined;
