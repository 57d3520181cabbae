import type { PromptClaim } from '../agent/prompt-claim.ts';
import type { Usage } from '../output.ts';
import type { BridgeRequest, HistoryMessage, PromptFile } from '../request.ts';

/** A short digest of the API key that a request came with. The same for all requests where there are no keys. */
export type Owner = string;

/** What a request is recognised by when it is sent again to another process. Stored with the session that it has started. */
export type RequestMark = {
  /** A digest of the request and of its conversation. */
  readonly digest: string;
  /** A digest of its `Idempotency-Key`. */
  readonly keyDigest?: string | undefined;
  /** Of the ids of its answer. */
  readonly token: string;
  readonly createdSeconds: number;
  /** The id of the agent's user message, where it was looked up. */
  readonly promptID?: string | undefined;
  /** Whether its answer has ended and no client has all of it. Undefined: a client read it when it ended, once that is recorded. */
  readonly isUnread?: boolean | undefined;
  /** Ids of the bridges at which a client reads its answer. */
  readonly readers?: readonly string[] | undefined;
  /** Its last reader has left before the end: at which bridge, and when. */
  readonly left?: { readonly by: string; readonly atMs: number } | undefined;
  /** When its answer ended with a failure. */
  readonly failedAtMs?: number | undefined;
  /** In a named conversation: a digest of what a client sends that goes on after it (`digestOfNext`). */
  readonly next?: string | undefined;
  /** Whether its answer goes on without clients, who look at it when they like. */
  readonly isBackground?: boolean | undefined;
};

/** The clients of one running answer, at this bridge and at others, as its session's metadata tells. */
export type TurnReaders = {
  /** A client reads it here. */
  readonly join: () => void;
  /**
   * The same if `mayJoin` of the mark as it is then. `isAlone`: older bridges that the mark names as having readers were killed.
   * Resolves to whether a client reads it here now; never rejects.
   */
  readonly tryJoin: (mayJoin: (mark: RequestMark) => boolean, isAlone: boolean) => Promise<boolean>;
  /**
   * No client reads it here any more, and the last one does not have all of it. Resolves to whether none reads it elsewhere;
   * never rejects.
   */
  readonly leave: () => Promise<boolean>;
  /** A client here has all of it. Written only where what is stored does not say so. */
  readonly finish: () => void;
  /** Whether the last reader was one of this bridge, and none has come since. Never rejects. */
  readonly isAbandoned: () => Promise<boolean>;
  /** What is known of the clients at other bridges: one reads it, or since when the last one has left. */
  readonly elsewhere: () => { readonly isRead: boolean; readonly leftAtMs: number | undefined };
};

/** A session of the agent that holds a client's conversation. */
export type ConversationSession = {
  readonly sessionID: string;
  /** Ids of its known user messages, about which the agent may send events again. */
  readonly knownMessageIDs: ReadonlySet<string>;
  /** The token of its last answer's id, whichever bridge has given that; undefined before the first one. */
  readonly lastToken: string | undefined;
  /** Where the last answer ended, if its turn went on. */
  readonly paused: PausedTurn | undefined;
};

/** Where an answer ended with approval requests while its turn waits: any bridge continues it from there. */
export type PausedTurn = {
  /** The id of the agent's user message. */
  readonly promptID: string;
  /** Ids of the approval requests that were shown. */
  readonly approvalIDs: readonly string[];
  /** Ids of the calls that these are about, in their order; empty for one of a subagent. */
  readonly callIDs?: readonly string[] | undefined;
  /** The position in the turn: items that were shown, and tokens that were reported. */
  readonly items: number;
  readonly usage: Usage;
  /** The last message before it whose calls the client has made. */
  readonly afterMessageID?: string | undefined;
  /** Ids of the calls' parts that had no result there. */
  readonly waiting?: readonly string[] | undefined;
};

/** A prompt with its answer, as recorded to recognise the conversation by. */
export type FinishedExchange = {
  /** Results of the client's calls before the prompt, as its history has them: a part of the answer that called. Mostly none. */
  readonly results?: readonly string[];
  /** Empty if there are results alone. */
  readonly promptText: string;
  /** The files of the prompt. A history with other files is another history. */
  readonly files: readonly PromptFile[];
  /** The whole answer as sent to the client, in one text. */
  readonly answerText: string;
  /** The client's calls that it ended with, as a history has them. */
  readonly calls?: readonly string[];
  readonly responseID: string;
  /** The id of the agent's user message, where there was one. */
  readonly promptID: string | undefined;
  /** The client disconnected before the end, so it may know only the beginning of the answer. */
  readonly isStopped: boolean;
  /** No client read the answer when it ended. */
  readonly isUnread: boolean;
  /** Where it ended, if its turn goes on. */
  readonly paused: PausedTurn | undefined;
  /** When it ended, if it ended with a failure. */
  readonly failedAtMs?: number | undefined;
};

/** A conversation that no other request continues until it is released. */
export type LockedConversation = {
  readonly session: ConversationSession;
  /**
   * The claim to send with the prompt; to be settled in any case, as it holds up other writes of the conversation. Undefined where the
   * agent takes none, or no other request can find the conversation; `lost` where another bridge was faster.
   */
  readonly claimWithPrompt: (signal: AbortSignal) => Promise<PromptClaim | 'lost' | undefined>;
  /** In place of it, or before it where something is done in the session that is not the prompt's. False: another bridge was faster. */
  readonly claimWithoutPrompt: () => Promise<boolean>;
  /** Earlier messages that the session does not know yet. Empty when it knows them all. */
  readonly replay: readonly HistoryMessage[];
  /**
   * Stores the exchange, so that the next request is recognised, also by another process. Call it once whenever the agent
   * accepted the prompt, even if there is no answer. Never rejects.
   */
  readonly record: (exchange: FinishedExchange) => Promise<void>;
  /** In place of `record`: another bridge reads the answer, and records it with what its client has got. */
  readonly leaveToOther: () => void;
  /** Releases the lock, once. Deletes the session at the agent if it is not to be stored or nothing was recorded in it. */
  readonly release: () => void;
  /**
   * The same conversation in a new session, for a prompt that the agent refused with `not-found` because it has lost the old
   * session. The lock stays, and is released once.
   */
  readonly renew: (signal: AbortSignal) => Promise<LockedConversation>;
  /** After a claim that was `lost` or `outdated`: finds the conversation again. */
  readonly reopen: (signal: AbortSignal) => Promise<LockedConversation>;
};

/** Which conversation a request belongs to. `name` is the id that clients see; it is known before anything is waited for. */
export type ResolvedConversation = {
  readonly name: string;
  /**
   * Waits for the request's turn, creates a session where there is none, and locks the conversation. Call it at once, because
   * the request is in the queue already, and only once.
   */
  readonly lock: (signal: AbortSignal) => Promise<LockedConversation>;
};

/** Where a response is: its session, and the turn there. */
export type FoundResponse = {
  readonly sessionID: string;
  /** The name of its conversation, if its client names that. */
  readonly conversationName: string | undefined;
  /** The beginning of its prompt's token. */
  readonly token: string;
  /** The id of the agent's user message. Undefined until it is known: then its prompt has the token, or is not in `promptIDs`. */
  readonly promptID: string | undefined;
  /** How many responses came before in the turn of a prompt: each of them ended with calls that its client then made. */
  readonly answersBefore: (promptID: string) => number;
  /** Ids of the known prompts of its conversation. */
  readonly promptIDs: ReadonlySet<string>;
  readonly isBackground: boolean;
  /** When its request came, which is known of the last request of a conversation. */
  readonly requestedSeconds: number | undefined;
  /** Where it ended, if its turn waits for an approval. */
  readonly paused: PausedTurn | undefined;
  /** Where it ended, if it asked for an approval and another response goes on with its turn, or is about to. */
  readonly asked: PausedTurn | undefined;
  /** Where the response ended that it goes on after, in the same turn. */
  readonly continues: PausedTurn | undefined;
};

/** A request as another process may know it. */
export type MarkedRequest = {
  readonly request: BridgeRequest;
  readonly owner: Owner;
  readonly mark: RequestMark;
  /** Whether the client says that it has sent this before. */
  readonly isRetry: boolean;
  /** Whether this process knows that it was answered before. */
  readonly isKnown: boolean;
  /** Whether this process has been started so lately that a client may not know of it yet. */
  readonly isSoon: boolean;
  readonly times: LeftAnswerTimes;
  /** Whether this process has an answer itself: what it knows of that is newer than what the marks tell. */
  readonly isOwn: (token: string) => boolean;
};

/** For how long an answer without readers waits for a client that does not say that it tries again, and then runs on. */
export type LeftAnswerTimes = { readonly joinedMs: number; readonly abortedAfterMs: number };

/** A turn that another bridge or an earlier process has started: it runs or was completed, or it was cut off after it had called tools. */
export type StartedTurn =
  | (ResolvedConversation & {
      readonly kind: 'known';
      readonly mark: RequestMark;
      /** The id of the agent's user message. */
      readonly promptID: string;
      /** Whether the exchange was recorded. */
      readonly isRecorded: boolean;
    })
  | { readonly kind: 'cut-off'; readonly toolNames: readonly string[] };

/** How a turn that a client has left in its conversation is ended. */
export type EndLeftOptions = {
  /** Whether this process has the answer itself, and ends it. */
  readonly isOwn: (token: string) => boolean;
  /** SHA-256, of short texts. */
  readonly digest: (text: string) => string;
  readonly signal: AbortSignal;
};

/** Which turn: a session may be replaced while its prompt is sent. */
export type ReadTurn = {
  readonly sessionID: () => string;
  readonly token: string;
  /** The id of the agent's user message, where another bridge or an earlier process has sent it. */
  readonly promptID?: string | undefined;
};

export type Conversations = {
  /**
   * Faults with `overloaded` when too many requests wait for the same conversation, and with `bad-input`
   * (`previous_response_not_found`) when this owner has no such response to continue from. `mark` is stored with the session.
   */
  readonly resolve: (
    request: BridgeRequest,
    owner: Owner,
    signal: AbortSignal,
    mark?: RequestMark,
  ) => Promise<ResolvedConversation>;
  /**
   * The turn that an earlier process has started for the same request, if the agent still runs it or has completed it, or if
   * it was cut off after a tool call. Faults with `bad-input` (`idempotency_key_reused`) when the key came with another request.
   */
  readonly findStarted: (sent: MarkedRequest, signal: AbortSignal) => Promise<StartedTurn | undefined>;
  /**
   * Call it before `findStarted`, for a request with a key. The returned function resolves once the request's mark is stored,
   * to whether no other bridge has stored one with the same key since: of several such requests exactly one is the first.
   */
  readonly enterRace: (owner: Owner, mark: RequestMark) => (signal: AbortSignal) => Promise<boolean>;
  /** Ends the turn that a client has left in a conversation that it names, if it goes on after it with this request. */
  readonly endLeft: (request: BridgeRequest, owner: Owner, options: EndLeftOptions) => Promise<void>;
  /** Whether the last client of an equal request without a key has left its turn at another bridge, where it waits. */
  readonly isLeftElsewhere: (owner: Owner, digest: string, times: LeftAnswerTimes) => boolean;
  /** The clients of an answer at all bridges. */
  readonly readersOf: (turn: ReadTurn) => TurnReaders;
  /** Of this bridge among all over one agent. */
  readonly bridgeID: string;
  readonly findResponse: (responseID: string, owner: Owner, signal: AbortSignal) => Promise<FoundResponse | undefined>;
  /** The id of the response that an item is of. Faults with `bad-input` (`item_not_found`) where this owner has none that is remembered. */
  readonly responseOfItem: (itemID: string, owner: Owner, signal: AbortSignal) => Promise<string>;
  /** Deletes a response, and its session with the last one. Returns whether there was such a response. */
  readonly deleteResponse: (responseID: string, owner: Owner, signal: AbortSignal) => Promise<boolean>;
  readonly count: () => number;
};
