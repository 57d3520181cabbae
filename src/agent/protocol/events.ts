import type { PermissionRequest } from './permissions.ts';
import type { Message, MessageError, Part, Session, SessionStatus } from './types.ts';

/** An event without its id, which the store gives it. OpenCode's event types, as `GET /event` sends them. */
export type EventDraft =
  | { readonly type: 'session.created'; readonly properties: { readonly sessionID: string; readonly info: Session } }
  | { readonly type: 'session.updated'; readonly properties: { readonly sessionID: string; readonly info: Session } }
  | { readonly type: 'session.deleted'; readonly properties: { readonly sessionID: string; readonly info: Session } }
  | {
      readonly type: 'session.status';
      readonly properties: { readonly sessionID: string; readonly status: SessionStatus };
    }
  | { readonly type: 'session.idle'; readonly properties: { readonly sessionID: string } }
  | {
      readonly type: 'session.error';
      readonly properties: { readonly sessionID: string; readonly error: MessageError };
    }
  | { readonly type: 'session.compacted'; readonly properties: { readonly sessionID: string } }
  | { readonly type: 'message.updated'; readonly properties: { readonly sessionID: string; readonly info: Message } }
  | {
      readonly type: 'message.removed';
      readonly properties: { readonly sessionID: string; readonly messageID: string };
    }
  | {
      readonly type: 'message.part.removed';
      readonly properties: { readonly sessionID: string; readonly messageID: string; readonly partID: string };
    }
  | {
      readonly type: 'message.part.updated';
      readonly properties: { readonly sessionID: string; readonly part: Part; readonly time: number };
    }
  | {
      readonly type: 'message.part.delta';
      readonly properties: {
        readonly sessionID: string;
        readonly messageID: string;
        readonly partID: string;
        readonly field: 'text';
        readonly delta: string;
        /** Of this server: the length of the text before it. */
        readonly at: number;
      };
    }
  | { readonly type: 'permission.asked'; readonly properties: PermissionRequest }
  | {
      readonly type: 'permission.replied';
      readonly properties: {
        readonly sessionID: string;
        readonly requestID: string;
        readonly reply: 'once' | 'always' | 'reject';
      };
    }
  | { readonly type: 'mcp.tools.changed'; readonly properties: { readonly server: string } };

/** An event as it is sent. Ids ascend in the order of the commits. */
export type AgentEvent = EventDraft & { readonly id: string };

/** The session of an event, if it has one. */
export const sessionIDOf = ({ properties }: EventDraft): string | undefined =>
  'sessionID' in properties ? properties.sessionID : undefined;
