import type { AgentEvent, EventDraft } from '../protocol/events.ts';
import type { Message, Part, Session } from '../protocol/types.ts';

/** Something to be kept from now on, or to be forgotten. What has an id replaces what had it before. */
export type StoreChange =
  /** `before`: only if the session is still that one. If not, the commit fails with a `StaleError`. */
  | { readonly kind: 'session'; readonly session: Session; readonly before?: Session }
  /**
   * A session that nobody finds until it is kept as a `session`. What was begun under its id before, and not finished, is
   * forgotten; an id that is taken makes the commit fail.
   */
  | { readonly kind: 'session-begun'; readonly session: Session }
  /** Forgets a session that is only begun, and no other. */
  | { readonly kind: 'session-given-up'; readonly sessionID: string }
  /** With its messages, parts, outputs and events. Its children stay. */
  | { readonly kind: 'session-removed'; readonly sessionID: string }
  | { readonly kind: 'message'; readonly message: Message }
  /** With their parts and outputs, as far as they are of the session. What was told of them stays. */
  | { readonly kind: 'messages-removed'; readonly sessionID: string; readonly messageIDs: readonly string[] }
  /** `isGrowing`: more of it follows at once. Whoever reads sees it, but a process that is killed may lose its last second. */
  | { readonly kind: 'part'; readonly part: Part; readonly isGrowing?: boolean }
  /** With their outputs, as far as they are of the session. */
  | { readonly kind: 'parts-removed'; readonly sessionID: string; readonly partIDs: readonly string[] }
  /** The whole output of a tool call, of which the part holds only the beginning. */
  | { readonly kind: 'output'; readonly sessionID: string; readonly partID: string; readonly text: string };

/** A message with its parts in order. */
export type MessageWithParts = { readonly info: Message; readonly parts: readonly Part[] };

/** Events of one directory, or of all. */
export type EventQuery = {
  /** Only those after this one. Events that were pruned are gone. */
  readonly afterID: string;
  readonly directory?: string;
  readonly limit: number;
  /** A page ends with the event that takes it to so many bytes, and is shorter than `limit` then. It never holds none for that. */
  readonly limitBytes?: number;
};

/** Ids of events. Each is '' where there is none. */
export type EventSpan = {
  /** The oldest that is left. */
  readonly oldest: string;
  /** The newest that was forgotten for its age; those of sessions that were removed do not count. */
  readonly forgotten: string;
  /** The newest there ever was. */
  readonly newest: string;
};

export type DirectoryEvent = { readonly directory: string; readonly event: AgentEvent };

export type SessionQuery = {
  readonly directory?: string;
  readonly parentID?: string;
  /** Sessions without a parent only. */
  readonly areRoots?: boolean;
  /** Text that the title holds, whatever its case. */
  readonly search?: string;
  /** Updated at this time or later, in milliseconds. */
  readonly updatedSince?: number;
  readonly limit?: number;
};

/** What is known of a session without reading it. */
export type SessionOutline = {
  readonly id: string;
  readonly parentID?: string;
  /** When it was updated, in milliseconds since the epoch. */
  readonly updatedMs: number;
};

export type MessageQuery = {
  /** The newest so many. */
  readonly limit?: number;
  /** Only messages older than the one with this id. */
  readonly beforeID?: string;
};

/** What a message takes, with its parts: about the bytes that it is kept in. */
export type MessageOutline = { readonly id: string; readonly bytes: number };

/**
 * What survives the process. Every method rejects when the store cannot be reached, and none leaves half of a commit
 * behind. Messages and parts come back in the order of their ids, sessions with the latest updated first.
 */
export type Store = {
  /**
   * Keeps all of it or nothing, and settles once it would survive a power cut. Answers with the events under their ids.
   * `under` is a lease (`agent/peers`): where servers share the store, a `LeaseLost` says that it is not held any more.
   */
  readonly commit: (
    changes: readonly StoreChange[],
    events: readonly { readonly directory: string; readonly draft: EventDraft }[],
    under?: string,
  ) => Promise<readonly DirectoryEvent[]>;
  readonly session: (id: string) => Promise<Session | undefined>;
  readonly sessions: (asked: SessionQuery) => Promise<readonly Session[]>;
  /** All sessions, in the same order: none of them is read. */
  readonly sessionOutlines: () => Promise<readonly SessionOutline[]>;
  /** Of a very large session each message is as it was at some moment of the reading, and those that came in meanwhile are left out. */
  readonly messages: (sessionID: string, asked?: MessageQuery) => Promise<readonly MessageWithParts[]>;
  /** Messages by their ids alone, in the same order: none of them is read. */
  readonly messageOutlines: (sessionID: string, asked?: MessageQuery) => Promise<readonly MessageOutline[]>;
  readonly message: (sessionID: string, messageID: string) => Promise<MessageWithParts | undefined>;
  readonly output: (sessionID: string, partID: string) => Promise<string | undefined>;
  /** Answers of all sessions that were begun and not completed: what a killed process leaves behind. */
  readonly unfinished: () => Promise<readonly MessageWithParts[]>;
  readonly events: (asked: EventQuery) => Promise<readonly DirectoryEvent[]>;
  readonly eventSpan: () => Promise<EventSpan>;
  /** Forgets events that are older than this many newest ones, and sessions whose making was given up. */
  readonly pruneEvents: (keep: number) => Promise<void>;
  readonly close: () => Promise<void>;
};
