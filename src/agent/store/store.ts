import type { AgentEvent, EventDraft } from '../protocol/events.ts';
import type { PermissionDecision } from '../protocol/permissions.ts';
import type { ChainEnd, Conversation, Turn } from '../protocol/turns.ts';
import type { Message, Part, Session } from '../protocol/types.ts';

/** Something to store or to remove. What is stored replaces what had its id before. */
export type StoreChange =
  /** `before`: only if the session is still that one. If not, the commit fails with a `StaleSessionError`. */
  | { readonly kind: 'session'; readonly session: Session; readonly before?: Session }
  /**
   * A session that no query returns until it is stored as a `session`. An unfinished one that was begun under its id is
   * removed; an id that is taken makes the commit fail.
   */
  | { readonly kind: 'session-begun'; readonly session: Session }
  /** Removes a session that is only begun, and no other. */
  | { readonly kind: 'session-given-up'; readonly sessionID: string }
  /** With its messages, parts, outputs, events, turns, and the conversations that are in it. Its children stay. */
  | { readonly kind: 'session-removed'; readonly sessionID: string }
  | { readonly kind: 'message'; readonly message: Message }
  /** With their parts and outputs, as far as they are of the session. Events about them stay. */
  | { readonly kind: 'messages-removed'; readonly sessionID: string; readonly messageIDs: readonly string[] }
  /** `isGrowing`: more of it follows at once. Reads return it, but a process that is killed may lose its last second. */
  | { readonly kind: 'part'; readonly part: Part; readonly isGrowing?: boolean }
  /** With their outputs, as far as they are of the session. */
  | { readonly kind: 'parts-removed'; readonly sessionID: string; readonly partIDs: readonly string[] }
  /** The whole output of a tool call, of which the part holds only the beginning. */
  | { readonly kind: 'output'; readonly sessionID: string; readonly partID: string; readonly text: string }
  /**
   * `owed`: a stored prompt waits for its answer. `begun`: from now on the answer may have had effects. `ended`: nothing is
   * owed for the prompt any more. It goes with its message.
   */
  | {
      readonly kind: 'answer';
      readonly sessionID: string;
      readonly promptID: string;
      readonly state: 'owed' | 'begun' | 'ended';
    }
  | TurnChange;

/**
 * Of conversations and turns. `before`: only if the stored one is still that; `undefined`: only if there is none of its id, and none of
 * its name or key for its owner. If not, the commit fails with a `StaleTurnError`.
 */
export type TurnChange =
  | { readonly kind: 'conversation'; readonly conversation: Conversation; readonly before: Conversation | undefined }
  /** With its turns. Its session stays. */
  | { readonly kind: 'conversation-removed'; readonly conversationID: string }
  | { readonly kind: 'turn'; readonly turn: Turn; readonly before: Turn | undefined }
  | { readonly kind: 'turn-removed'; readonly turnID: string }
  /** The history with this digest ended with this turn. A turn has one such digest: the latest. */
  | { readonly kind: 'chain'; readonly owner: string; readonly end: ChainEnd };

/** Asks for the lease of a session with the commit of a prompt, where servers share the store. */
export type LeaseRequest = {
  readonly sessionID: string;
  /**
   * Called before a commit that is stored settles. `isFirst`: the lease is there, and is not waited for. `isUntouched`: no
   * answer in the session had begun and not ended.
   */
  readonly onTaken: (taken: { readonly id: string; readonly isFirst: boolean; readonly isUntouched: boolean }) => void;
};

/** A message with its parts in order. */
export type MessageWithParts = { readonly info: Message; readonly parts: readonly Part[] };

/** A prompt whose answer has not ended. */
export type OwedAnswer = { readonly sessionID: string; readonly promptID: string; readonly isBegun: boolean };

/** A query for events of one directory, or of all. */
export type EventQuery = {
  /** Only those after this one. Events that were pruned are not there. */
  readonly afterID: string;
  readonly directory?: string;
  readonly limit: number;
  /** A page ends with the event that takes it to so many bytes, even below `limit`. The limit never makes a page empty. */
  readonly limitBytes?: number;
};

/** Ids of events, '' where there is none. */
export type EventSpan = {
  /** The oldest that is still stored. */
  readonly oldest: string;
  /** The newest that was pruned for its age; those of sessions that were removed do not count. */
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
  /** Text that the title contains, whatever its case. */
  readonly search?: string;
  /** Updated at this time or later, in milliseconds. */
  readonly updatedSince?: number;
  /** Only those that come after this place. */
  readonly after?: SessionPlace;
  readonly limit?: number;
};

/** The place of a session in the order of `sessions`, which is kept when the session changes. */
export type SessionPlace = { readonly updatedMs: number; readonly id: string };

/** What a listing knows of a session without reading it. */
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
  /** Only the message with this id and newer ones. */
  readonly fromID?: string;
};

/** A page of decisions. `isAsked`: only those about requests, without the calls that ran under standing rules. */
export type DecisionQuery = { readonly limit: number; readonly beforeID?: string; readonly isAsked?: true };

/** How many decisions about permission requests a store keeps, the newest, and how many about calls under standing rules. */
export const DECISIONS_KEPT = 10_000;

/** The size of a message with its parts: about the bytes that it is stored in. */
export type MessageOutline = { readonly id: string; readonly bytes: number };

/** A message without its parts, and the size that it has with them, as in its outline. */
export type MessageHead = { readonly info: Message; readonly bytes: number };

/** A page of a conversation's turns, the newest first. */
export type TurnQuery = { readonly limit: number; readonly beforeID?: string };

/** How many ends `chains` returns for one digest. So many equal conversations are not told apart. */
export const CHAIN_ENDS = 8;

/** What is stored of turns and conversations. What belongs to another owner is not found. */
export type TurnReads = {
  readonly turn: (owner: string, id: string) => Promise<Turn | undefined>;
  readonly byKey: (owner: string, key: string) => Promise<Turn | undefined>;
  /** Of equal requests, the newest first. */
  readonly byDigest: (owner: string, digest: string, limit: number) => Promise<readonly Turn[]>;
  readonly ofConversation: (owner: string, conversationID: string, asked: TurnQuery) => Promise<readonly Turn[]>;
  /** The oldest first. */
  readonly ofPrompt: (sessionID: string, promptID: string) => Promise<readonly Turn[]>;
  /** Of all owners: those with something due by now, the longest due first. */
  readonly due: (nowMs: number, limit: number) => Promise<readonly Turn[]>;
  readonly conversation: (owner: string, id: string) => Promise<Conversation | undefined>;
  readonly conversationByName: (owner: string, name: string) => Promise<Conversation | undefined>;
  /** The end of the history with which a turn ended. */
  readonly chainOf: (turnID: string) => Promise<ChainEnd | undefined>;
  /** The newest ends of histories with these digests, `CHAIN_ENDS` of each at most, in any order, by one query. */
  readonly chains: (owner: string, digests: readonly string[]) => Promise<readonly ChainEnd[]>;
};

/**
 * The database of the agent server. Every method rejects when it cannot be reached, and none leaves half of a commit
 * behind. Messages and parts come back in the order of their ids, sessions with the latest updated first.
 */
export type Store = {
  /**
   * Stores all of it or nothing, and settles once it would survive a power cut. Returns the events under their ids.
   * `leaseID` is that of a `SessionLease`: where servers share the store, a `LeaseLostError` says that it is not held any
   * more. `leaseRequest` comes from `whileRequested` of `Leases`.
   */
  readonly commit: (
    changes: readonly StoreChange[],
    events: readonly { readonly directory: string; readonly draft: EventDraft }[],
    leaseID?: string,
    leaseRequest?: LeaseRequest,
  ) => Promise<readonly DirectoryEvent[]>;
  readonly session: (id: string) => Promise<Session | undefined>;
  /** The sessions of these ids that there are, in any order, in one read. */
  readonly sessionsByID: (ids: readonly string[]) => Promise<readonly Session[]>;
  readonly sessions: (asked: SessionQuery) => Promise<readonly Session[]>;
  /** All sessions in the order of `sessions`, without reading them. */
  readonly sessionOutlines: () => Promise<readonly SessionOutline[]>;
  /** Sessions that wait for the results of client tools, in any order. */
  readonly awaitingSessions: () => Promise<readonly Session[]>;
  /** In a very large session each message is as it was at some moment of the read, and later messages are left out. */
  readonly messages: (sessionID: string, asked?: MessageQuery) => Promise<readonly MessageWithParts[]>;
  /** Ids and sizes of messages in the order of `messages`, without reading them. */
  readonly messageOutlines: (sessionID: string, asked?: MessageQuery) => Promise<readonly MessageOutline[]>;
  /** Messages in the order of `messages`, without reading their parts. */
  readonly messageHeads: (sessionID: string, asked?: MessageQuery) => Promise<readonly MessageHead[]>;
  readonly message: (sessionID: string, messageID: string) => Promise<MessageWithParts | undefined>;
  readonly output: (sessionID: string, partID: string) => Promise<string | undefined>;
  /** Answers of all sessions that were begun and not completed, as a killed process leaves them. */
  readonly unfinished: () => Promise<readonly MessageWithParts[]>;
  /** The answers that are owed in one session or in all, in the order in which their prompts were stored. */
  readonly owed: (sessionID?: string) => Promise<readonly OwedAnswer[]>;
  readonly events: (asked: EventQuery) => Promise<readonly DirectoryEvent[]>;
  /** The stored events of permission requests of a session, in the order of their ids: not every store has the time in those. */
  readonly permissionEvents: (sessionID: string) => Promise<readonly DirectoryEvent[]>;
  readonly eventSpan: () => Promise<EventSpan>;
  /** Keeps what was decided about a permission request, also after its session. The first decision about it stays. */
  readonly recordDecision: (decision: PermissionDecision) => Promise<void>;
  readonly decision: (requestID: string) => Promise<PermissionDecision | undefined>;
  /** The newest first. `beforeID`: only those that were kept before the one about this request. */
  readonly decisions: (asked: DecisionQuery) => Promise<readonly PermissionDecision[]>;
  readonly turns: TurnReads;
  /** Removes all events but this many of the newest, and sessions whose creation was given up. */
  readonly pruneEvents: (keep: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

/**
 * The form in which a store compares titles with what is searched in them: without case, in both directions, because lower
 * case alone distinguishes the two Greek sigmas. It has only characters that every database can store.
 */
export const foldTitle = (text: string): string =>
  text.toLowerCase().toUpperCase().toWellFormed().replaceAll('\0', '\ufffd');
