import type { BridgeRequest, FilePart, HistoryMessage } from '../request.ts';

/** Which key a request came with, as a short digest; one for all where there are no keys. */
export type Owner = string;

/** A session of the agent that a client of ours talks in. */
export type ConversationSession = {
  readonly sessionID: string;
  /** User messages of it that are known, of which the agent may tell again. */
  readonly knownMessageIDs: ReadonlySet<string>;
};

/** What an exchange has come to, for the conversation to be recognised by. */
export type FinishedExchange = {
  /** The words of the prompt. */
  readonly promptText: string;
  /** What came with them: a history with other files is another one. */
  readonly files: readonly FilePart[];
  /** What the client was told, in one text. */
  readonly answerText: string;
  readonly responseID: string;
  /** The agent's user message, where there was one. */
  readonly promptID: string | undefined;
  /** The client left before the end, so it may know only the beginning of what it was told. */
  readonly isStopped: boolean;
};

/** A conversation that nobody else goes on with until it is released. */
export type LockedConversation = {
  readonly session: ConversationSession;
  /** What the session has to be told of what was said before; nothing when it knows. */
  readonly replay: readonly HistoryMessage[];
  /**
   * Keeps what was said, so that the next request is recognised, also by another process. To be called once whenever the agent
   * took the prompt, even if nothing came of it. Never rejects.
   */
  readonly record: (exchanged: FinishedExchange) => Promise<void>;
  /** Gives it back, once. A session that is not to be kept, or in which nothing was noted at all, is deleted at the agent. */
  readonly release: () => void;
  /**
   * The same conversation in a new session, for a prompt that the agent refused with `not-found`: it knows the old one no
   * longer. What is held stays held, and is released once.
   */
  readonly renew: (signal: AbortSignal) => Promise<LockedConversation>;
};

/** Where a request belongs. `name` is what clients know the conversation by, settled before anything is waited for. */
export type ResolvedConversation = {
  readonly name: string;
  /**
   * Waits for its turn in the conversation, makes the session where there is none, and holds it. To be called at once, as the
   * place in line is taken already, and once.
   */
  readonly lock: (signal: AbortSignal) => Promise<LockedConversation>;
};

/** A turn that a response of ours stands for. */
export type FoundResponse = {
  readonly sessionID: string;
  readonly name: string;
  readonly promptID: string;
};

export type Conversations = {
  /**
   * Faults with `rate-limited` when too many wait for the same conversation, and with `bad-input`
   * (`previous_response_not_found`) when the response to go on from is not known to this owner.
   */
  readonly resolve: (asked: BridgeRequest, owner: Owner, signal: AbortSignal) => Promise<ResolvedConversation>;
  /** An id for the response to a request, from which its turn can be found again. */
  readonly newResponseID: (held: Pick<ConversationSession, 'sessionID'>) => string;
  readonly findResponse: (responseID: string, owner: Owner, signal: AbortSignal) => Promise<FoundResponse | undefined>;
  /** Forgets a response; its session goes with the last one. Says whether there was one. */
  readonly deleteResponse: (responseID: string, owner: Owner, signal: AbortSignal) => Promise<boolean>;
  readonly count: () => number;
};
