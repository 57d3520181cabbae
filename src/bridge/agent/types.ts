import type { Span } from '../../core/http/tracing.ts';
import type { ClientFunctions, ClientToolResult, PromptPart } from '../request.ts';
import type { PromptClaim } from './prompt-claim.ts';
import type { AgentEventRecord, ClientToolCounts, MessageRecord, PermissionRecord, SessionRecord } from './schema.ts';

/** A model of the agent: `provider/key`, which `/v1/models` lists and a prompt names. */
export type AgentModel = {
  readonly providerID: string;
  readonly modelID: string;
  readonly name: string;
  /** Names of its variants, such as reasoning efforts. */
  readonly variants: readonly string[];
  /** Tokens, 0 where the agent does not say. */
  readonly contextTokens: number;
  /** The npm package through which the agent asks the model. Undefined where the agent does not say. */
  readonly adapter: string | undefined;
  /** What the model takes beside texts, as the agent shows it: `image`, `audio`, `video`, `pdf`. */
  readonly media: readonly string[];
};

/** The agent's models, in its order. */
export type AgentModels = {
  readonly models: readonly AgentModel[];
  /** `provider/key` of the agent's own default, if it names one. */
  readonly defaultModel: string | undefined;
  readonly smallModel: string | undefined;
};

/** A user message for the agent, with the settings of its turn. */
export type Prompt = {
  readonly parts: readonly (PromptPart & { readonly synthetic?: boolean })[];
  readonly model: { readonly providerID: string; readonly modelID: string } | undefined;
  readonly variant: string | undefined;
  readonly agent: string | undefined;
  readonly system: string;
  /** Whether the model may call tools. */
  readonly hasTools: boolean;
  /** The answer has to be one JSON value that fits the schema. */
  readonly format?: Readonly<Record<string, unknown>>;
  /** It is stored for later turns, and not answered. The call resolves to the stored message. */
  readonly isContext?: boolean;
  /** Functions of the client that the model may call beside the agent's tools; only for an agent that takes them. */
  readonly clientTools?: ClientFunctions;
  /** What it is sent in, in a trace; it is no part of what is sent. */
  readonly span?: Span | undefined;
  /** By which the bridge knows it again among the messages of the session. */
  readonly token?: string | undefined;
  /** Faults with `conflict`, and nothing is stored, where the session's metadata has another revision. */
  readonly claim?: PromptClaim | undefined;
};

/** Results of a client's calls for the agent. */
export type ClientToolAnswer = {
  readonly results: readonly ClientToolResult[];
  /** As that of a prompt. */
  readonly span?: Span | undefined;
  /** The turn does not go on: a prompt follows. */
  readonly noReply: boolean;
  /** In place of that of the prompt from here on. Empty: that stays. */
  readonly system: string;
  /** In place of those of the prompt. Undefined: none, and a text. */
  readonly clientTools: ClientFunctions | undefined;
  readonly format: PromptFormat | undefined;
};

/** The form of an answer, as the agent's API has it. `retryCount`: how many more values the model may try. */
export type PromptFormat = {
  readonly type: 'json_schema';
  readonly schema: Readonly<Record<string, unknown>>;
  readonly retryCount: number;
};

/** A session to create. */
export type NewSession = { readonly title: string; readonly metadata: Readonly<Record<string, unknown>> };

/** The answer to a permission request. */
export type AgentPermissionReply = { readonly reply: 'once' } | { readonly reply: 'reject'; readonly message?: string };

/**
 * The agent server over HTTP, ours or another with the API of OpenCode 1.x. Every call may fault: `not-found` where the agent
 * knows no such thing, `agent-failed` for every other refusal, `backend-error` when it was not reached or broke off.
 * Nothing is ever sent twice to a server, and to another one only what the first has not started, or what may be repeated.
 */
export type AgentClient = {
  readonly models: (signal: AbortSignal) => Promise<AgentModels>;
  readonly createSession: (given: NewSession, signal: AbortSignal) => Promise<SessionRecord>;
  readonly session: (id: string, signal: AbortSignal) => Promise<SessionRecord>;
  /** Newest first, without child sessions. `updatedSinceMs`: only those that were updated then or later, by the agent's time. */
  readonly sessions: (limit: number, signal: AbortSignal, updatedSinceMs?: number) => Promise<readonly SessionRecord[]>;
  /**
   * Replaces a session's metadata. `ifRevision`: only if it has this revision (`metadataRevision`), else nothing is changed and
   * the result is `outdated`. At an OpenCode server the revision is looked at before, so another bridge may come in between.
   */
  readonly setMetadata: (
    id: string,
    metadata: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    ifRevision?: number,
  ) => Promise<'stored' | 'outdated'>;
  /** A copy of a session with the messages before one of them, or with all. */
  readonly forkSession: (
    id: string,
    given: { readonly before: string | undefined; readonly metadata: Readonly<Record<string, unknown>> },
    signal: AbortSignal,
  ) => Promise<SessionRecord>;
  readonly deleteSession: (id: string, signal: AbortSignal) => Promise<void>;
  /** Sends a prompt and waits for the whole turn. Resolves to its last message. */
  readonly prompt: (sessionID: string, prompt: Prompt, signal: AbortSignal) => Promise<MessageRecord>;
  /**
   * Gives the results of a client's calls. The first result of a call counts. Resolves as soon as they are stored; the turn goes on
   * once no call waits any more. Faults with `not-found` where the session has no such call.
   */
  readonly giveToolResults: (
    sessionID: string,
    answer: ClientToolAnswer,
    signal: AbortSignal,
  ) => Promise<ClientToolCounts>;
  /** Names of what the server can do beyond the API of OpenCode; none at another server. */
  readonly features: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly message: (sessionID: string, messageID: string, signal: AbortSignal) => Promise<MessageRecord>;
  readonly deleteMessage: (sessionID: string, messageID: string, signal: AbortSignal) => Promise<void>;
  /** All messages, in order. */
  readonly messages: (sessionID: string, signal: AbortSignal) => Promise<readonly MessageRecord[]>;
  /** Ids of the sessions that run a turn. */
  readonly busySessions: (signal: AbortSignal) => Promise<ReadonlySet<string>>;
  /**
   * `promptID`: only the turn of that prompt, so that one that has just ended is not taken for the next one. OpenCode aborts
   * whatever runs.
   */
  readonly abort: (sessionID: string, signal: AbortSignal, promptID?: string) => Promise<void>;
  readonly permissionRequests: (signal: AbortSignal) => Promise<readonly PermissionRecord[]>;
  readonly answerPermission: (id: string, answer: AgentPermissionReply, signal: AbortSignal) => Promise<void>;
  /** Rejects a question that is no permission request (`question.asked`): no one can answer it here. */
  readonly rejectQuestion: (id: string, signal: AbortSignal) => Promise<void>;
};

/** `gap`: events were lost, so listeners have to fetch the state from the agent. */
export type AgentEventUpdate = { readonly kind: 'event'; readonly event: AgentEventRecord } | { readonly kind: 'gap' };

/** The agent's events over one connection, which is reopened whenever it ends, without loss where the agent allows it. */
export type AgentEventStream = {
  /** Resolves once the stream is open, at once if it is. Faults with `backend-error` when it does not open in time. */
  readonly untilOpen: (signal: AbortSignal) => Promise<void>;
  readonly isOpen: () => boolean;
  /** Why the stream is not open, such as `ECONNREFUSED` or `status 401`; empty before the first attempt has ended. */
  readonly lossReason: () => string;
  /**
   * Calls the listener with every event until the returned function is called. With a session, events that are about another
   * one alone are left out: all but permission requests and questions. A listener must not throw and must not wait.
   */
  readonly subscribe: (listener: (update: AgentEventUpdate) => void, sessionID?: string) => () => void;
  readonly stop: () => void;
};
