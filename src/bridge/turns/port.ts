import type * as v from 'valibot';
import type { Span } from '../../core/http/tracing.ts';
import type { MessageRecord } from '../agent/schema.ts';
import type { CallRecord, ConversationRecord, EntryRecord, TurnViewRecord, UsageRecord } from './records.ts';

/** A part of a message that a client sends. The `url` of a file is a `data:` URL. */
export type SentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mime: string; readonly url: string; readonly filename?: string };

/** A file of a message that a client sends. */
export type SentFile = Extract<SentPart, { readonly type: 'file' }>;

/** A call in an answer that a client sends. `arguments` is JSON. */
export type SentCall = Readonly<v.InferOutput<typeof CallRecord>>;

/** A message of a history, or of the input of a turn, with its role. A result comes after the answer that has its call. */
export type SentMessage =
  | { readonly role: 'user'; readonly parts: readonly SentPart[] }
  | {
      readonly role: 'assistant';
      readonly text?: string;
      readonly reasoning?: string;
      readonly calls?: readonly SentCall[];
    }
  | {
      readonly role: 'tool';
      readonly callID: string;
      readonly output: string;
      readonly isError?: boolean;
      readonly files?: readonly SentFile[];
    };

/**
 * The conversation that a request belongs to. `name`: it is created where there is none. `after`: that of a turn, whose end the
 * request has seen; another conversation begins there where a later turn has followed.
 */
export type ConversationPlace = { readonly id: string } | { readonly name: string } | { readonly after: string };

/** A function that the client makes calls of. `inputSchema` is a JSON Schema of an object. */
export type TurnTool = {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
};

/** The functions of the client. `choice`: whether the model has to call one before it answers, and which. */
export type TurnTools = {
  readonly tools: readonly TurnTool[];
  readonly choice: 'auto' | 'required' | { readonly name: string };
  /** Whether the model may make several calls at once. */
  readonly isParallel: boolean;
};

/** A decision on one permission request. `message`: the reason of a rejection, for the model. */
export type TurnDecision = {
  readonly requestID: string;
  readonly reply: 'once' | 'reject';
  readonly message?: string;
};

/** What begins a turn, or joins the one that an equal request has begun. */
export type BeginRequest = {
  /** Undefined: it is found by its history, or is new. */
  readonly conversation?: ConversationPlace | undefined;
  /** The messages before `input`. The conversation is compared with them; where it differs, another one has them. */
  readonly history: readonly SentMessage[];
  /** The history is new to the conversation and is added to it: nothing is compared. */
  readonly isAppended: boolean;
  /** An empty history is compared, too. Else only what comes with a history that is not empty is. */
  readonly isCompared: boolean;
  /** It is not looked for by its history. */
  readonly isNew: boolean;
  /** User messages, and results of the client's calls before them. Empty with `decisions`, or where the history ends in results. */
  readonly input: readonly SentMessage[];
  /** Decisions on open requests of the turn that waits in the conversation. The new turn continues that one. */
  readonly decisions: readonly TurnDecision[];
  /**
   * For a request without decisions, where a turn waits for one: `refuse` begins nothing and gives that turn back; `abort` aborts that
   * turn and begins this one.
   */
  readonly ifWaiting: 'refuse' | 'abort';
  /** It begins nothing: it joins the turn of an equal request, if there is one. */
  readonly isJoinOnly: boolean;
  readonly agent: string | undefined;
  readonly model: { readonly providerID: string; readonly modelID: string } | undefined;
  readonly variant: string | undefined;
  /** Of a session that is new. */
  readonly title: string;
  /** Instructions in addition to the agent's own; empty for none. */
  readonly system: string;
  /** The answer has to be one JSON value that fits the schema. */
  readonly format: Readonly<Record<string, unknown>> | undefined;
  /** Only for a port that takes them. */
  readonly clientTools: TurnTools | undefined;
  /** Whether the model may call tools of the agent. */
  readonly hasTools: boolean;
  /** Every request has one: sent again, it joins the turn that it has begun. Another request with the same key is refused. */
  readonly key: string;
  /**
   * Whether the client has chosen the key. Without such a key an equal request of the client has another one and is known by its digest,
   * by the rules for retries.
   */
  readonly isKeyOfClient: boolean;
  /** Of the request: equal requests have equal digests. */
  readonly digest: string;
  /** The client says that it has sent it before. */
  readonly isRetry: boolean;
  /** How long the turn goes on when nobody reads it; `null`: to its end. */
  readonly abortAfterMs: number | null;
  /** `false`: nothing of it is kept once it was read. */
  readonly isStored: boolean;
  /** Kept with the turn and returned in its view. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The request in its trace, if there is one. It is no part of what is sent. */
  readonly span?: Span | undefined;
};

/** Tokens of a turn. `input` does not include those of a cache. */
export type TurnUsage = Readonly<v.InferOutput<typeof UsageRecord>>;

/** A turn as it is now. Positions are those of its entries. */
export type TurnSnapshot = Readonly<v.InferOutput<typeof TurnViewRecord>>;

/** A piece of the output of a turn. Positions ascend, and the same entries have the same positions whenever they are read. */
export type TurnEntry = Readonly<v.InferOutput<typeof EntryRecord>>;

/** `end` is the last: the turn has ended, or another one has continued it and nothing more belongs to it. */
export type TurnEvent =
  | { readonly kind: 'entries'; readonly entries: readonly TurnEntry[] }
  | { readonly kind: 'turn'; readonly turn: TurnSnapshot }
  | { readonly kind: 'end'; readonly turn: TurnSnapshot };

/**
 * The output of a turn as it comes: for one reader, once. All entries before `end`, each once and in order, whatever breaks in between.
 * Reads ahead no more than some events. `return` ends the reading and leaves nothing. Rejects with a fault where the turn cannot be
 * read any more, for which it was tried long enough, and with the reason of its signal.
 */
export type TurnEvents = AsyncIterable<TurnEvent, void, undefined>;

/**
 * `begun` by this request, or `joined`: an equal one has begun it. `reader`: what `leave` names. `waiting`: nothing was begun, as a turn
 * waits for a decision. `none`: no equal request has begun one, and the request only joins.
 */
export type BegunTurn =
  | {
      readonly outcome: 'begun' | 'joined';
      readonly reader: string;
      readonly turn: TurnSnapshot;
      readonly events: TurnEvents;
    }
  | { readonly outcome: 'waiting'; readonly turn: TurnSnapshot }
  | { readonly outcome: 'none' };

/** A conversation of a client. */
export type ConversationView = Readonly<v.InferOutput<typeof ConversationRecord>>;

/** A page of messages. `after`: the id of a message; those that follow it in the order. */
export type PageOfMessages = {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  readonly after?: string | undefined;
};

/** Conversations as objects. Each call faults with `turn-refused` `conversation_not_found` where there is none of this owner. */
export type ConversationsPort = {
  /** `messages`: what it begins with. */
  readonly create: (
    given: {
      readonly metadata: Readonly<Record<string, unknown>>;
      readonly messages: readonly SentMessage[];
    },
    by: TurnCaller,
  ) => Promise<ConversationView>;
  readonly find: (
    place: { readonly id: string } | { readonly name: string },
    by: TurnCaller,
  ) => Promise<ConversationView>;
  readonly setMetadata: (
    id: string,
    metadata: Readonly<Record<string, unknown>>,
    by: TurnCaller,
  ) => Promise<ConversationView>;
  /** Aborts what runs in it, and deletes its session and its turns. */
  readonly delete: (id: string, by: TurnCaller) => Promise<void>;
  readonly messages: (id: string, page: PageOfMessages, by: TurnCaller) => Promise<readonly MessageRecord[]>;
  /** Adds messages at its end. `turn-refused` `conversation_busy` while a turn runs or waits there. Resolves to the stored messages. */
  readonly append: (id: string, messages: readonly SentMessage[], by: TurnCaller) => Promise<readonly MessageRecord[]>;
  /** Deletes a message that was added. `turn-refused` `not_added` for another one. */
  readonly deleteMessage: (id: string, messageID: string, by: TurnCaller) => Promise<void>;
};

/** Who calls, and for how long. `owner`: sees nothing of other owners; 1 to 128 printable characters without blanks. */
export type TurnCaller = { readonly owner: string; readonly signal: AbortSignal };

/**
 * Requests and conversations at an agent server: what was asked, what answers it, and which conversation it belongs to. Everything that
 * the bridge knows beyond an open connection is there.
 *
 * Faults: `turn-refused` with a code (`TurnRefusalCode`), and those of a server that cannot be reached or fails.
 */
export type TurnsPort = {
  /** Begins a turn or joins one. Its events begin with the turn's first entry. */
  readonly begin: (request: BeginRequest, by: TurnCaller) => Promise<BegunTurn>;
  /** Reads a turn again as it goes on, after a position (`turn.from`: all of it). Such a reader does not count. */
  readonly follow: (turnID: string, after: number, by: TurnCaller) => TurnEvents;
  /** What there is of a turn now. */
  readonly read: (
    turnID: string,
    by: TurnCaller,
  ) => Promise<{ readonly turn: TurnSnapshot; readonly entries: readonly TurnEntry[] }>;
  readonly view: (turnID: string, by: TurnCaller) => Promise<TurnSnapshot>;
  /** The messages that the turn's request has stored, and those with the calls whose results it brought, in their order. */
  readonly input: (turn: TurnSnapshot, by: TurnCaller) => Promise<readonly MessageRecord[]>;
  /** The turns that answer the prompt of a part's message, the oldest first. */
  readonly turnsOfPart: (
    place: { readonly sessionID: string; readonly partID: string },
    by: TurnCaller,
  ) => Promise<readonly TurnSnapshot[]>;
  /** Turns of the owner that wait for a decision. */
  readonly waitingTurns: (by: TurnCaller) => Promise<readonly TurnSnapshot[]>;
  /**
   * A reader reads no more. `readTo`: it has had everything up to there, which is all of its answer; `shownIDs`: permission requests that
   * it was shown. Without `readTo` it has left. A turn that nobody reads goes on for `abortAfterMs`.
   */
  readonly leave: (
    turnID: string,
    reader: { readonly id: string; readonly readTo?: number | undefined; readonly shownIDs?: readonly string[] },
    by: TurnCaller,
  ) => Promise<void>;
  /** Aborts it. One that has ended stays as it is. */
  readonly cancel: (turnID: string, by: TurnCaller) => Promise<TurnSnapshot>;
  /** Forgets it, and deletes its session with the last turn there. `turn-refused` `turn_running` while it runs. */
  readonly delete: (turnID: string, by: TurnCaller) => Promise<void>;
  /** Decides without another turn: the turn itself goes on. `turn-refused` `no_such_request` where one is not open. */
  readonly decide: (turnID: string, decisions: readonly TurnDecision[], by: TurnCaller) => Promise<void>;
  readonly conversations: ConversationsPort;
  /** Whether it takes functions of clients. */
  readonly takesClientTools: (signal: AbortSignal) => Promise<boolean>;
};
