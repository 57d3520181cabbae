import type { ListedConversation } from '../../protocol.ts';

/** The answer of `GET /api/sessions`. The sessions of agent servers that are `unread` are missing. */
export type SessionPage = {
  readonly sessions: readonly ListedConversation[];
  readonly unread: readonly number[];
  readonly next?: string;
};

/** The answer of `GET /api/sessions/{agent}/{id}`. */
export type SessionDetail = ListedConversation & {
  readonly messages?: number;
  /** The visitor's own conversation that is in it. */
  readonly conversation?: string;
};

/** A message as the agent server sends it: its parts are read one by one, by `readPart`. */
export type ShownMessage = {
  readonly info: {
    readonly id: string;
    readonly role: string;
    readonly time?: { readonly created?: number; readonly completed?: number };
    readonly error?: unknown;
    readonly finish?: string;
    readonly cost?: number;
    readonly modelID?: string;
    readonly agent?: string;
    /** Whether it replaces earlier messages for the model. */
    readonly summary?: boolean;
  };
  readonly parts: readonly unknown[];
};

/** The answer of `GET /api/sessions/{agent}/{id}/messages`, the oldest first; `next` leads to those before them. */
export type MessagePage = { readonly messages: readonly ShownMessage[]; readonly next?: string };

/** A tool server, as `GET /api/tools` lists it. */
export type ToolServerRow = {
  readonly agent: number;
  readonly name: string;
  readonly state: string;
  /** The last error, and when it was, in milliseconds since the epoch. */
  readonly error?: string;
  readonly errorAt?: number;
};
