type Metadata = Readonly<Record<string, unknown>>;

/** A client's conversation, and the session that it is in now. Times are milliseconds since the epoch. */
export type Conversation = {
  readonly id: string;
  /** Who has access, an opaque text. It is part of every query. */
  readonly owner: string;
  /** Unique among those of the owner. */
  readonly name?: string;
  readonly sessionID: string;
  /** The conversation of whose session its own was forked first. */
  readonly originID?: string;
  /** The turn that was begun last in it. A request that has not seen that turn does not continue it. */
  readonly lastTurnID?: string;
  /** Whether a client has created it as an object. It then stays when its last turn is deleted. */
  readonly isOfClient: boolean;
  readonly metadata: Metadata;
  readonly createdMs: number;
};

/**
 * One request of a client and the output that answers it. Several turns may follow one prompt of a session: a turn that
 * ended with calls of client tools, or with an open permission request, is continued by the next one.
 */
export type Turn = {
  readonly id: string;
  readonly owner: string;
  readonly conversationID: string;
  readonly sessionID: string;
  /** The user message that it answers, or a part of whose answer it is. */
  readonly promptID: string;
  /** The position in the prompt's output after which the output of this turn begins. */
  readonly from: number;
  /** The position up to which it goes if another turn continues it. */
  readonly until?: number;
  /** The turn that continues it. */
  readonly continuedBy?: string;
  /** The messages that its request has stored, in their order. */
  readonly messageIDs: readonly string[];
  /** The calls whose results its request brought. */
  readonly callIDs: readonly string[];
  /** The idempotency key, unique among the turns of the owner. */
  readonly key?: string;
  /** Of the request, as its sender computes it: equal requests have equal digests. */
  readonly digest?: string;
  /** How long it goes on when nobody reads it; `null`: to its end. */
  readonly abortAfterMs: number | null;
  /** `false`: its session is deleted after it. */
  readonly isStored: boolean;
  /** The digest of the conversation before its answer. Without it no history leads to what follows. */
  readonly chain?: string;
  readonly metadata: Metadata;
  /** The ids of those who read it now. */
  readonly readers: readonly string[];
  /** How many requests have joined it. */
  readonly joins: number;
  /** Since when nobody reads it, if nobody has read all of it. In a moment, where a connection has broken. */
  readonly leftMs?: number;
  /** When somebody had read all of it for the first time, and up to which position. */
  readonly readMs?: number;
  readonly readTo?: number;
  /** The permission requests that a reader was shown at the end. */
  readonly shownIDs?: readonly string[];
  /** When it is to be aborted for having no reader, or removed for not being stored. */
  readonly dueMs?: number;
  readonly createdMs: number;
};

/** A history that ended with a turn. */
export type ChainEnd = {
  /** The digest of the whole history. */
  readonly digest: string;
  readonly sessionID: string;
  readonly turnID: string;
  readonly promptID: string;
};
