/** Which model answers: a provider of the configuration, the model's key there, and one of its variants. */
export type ModelRef = { readonly providerID: string; readonly modelID: string; readonly variant?: string };

export type Tokens = {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  readonly cache: { readonly read: number; readonly write: number };
};

export type Action = 'allow' | 'ask' | 'deny';

/** A permission rule: what happens with calls of the tools and patterns that it matches. */
export type Rule = { readonly permission: string; readonly pattern: string; readonly action: Action };

/** The calls of client tools whose results a session waits for: all in its last answer, which ended with them. */
export type AwaitedCalls = {
  readonly messageID: string;
  readonly callIDs: readonly string[];
  /** From then on no result is taken, in milliseconds since the epoch. */
  readonly expiresAt: number;
};

/** The point to which a session was reverted: what follows is removed with the next prompt, unless it is unreverted first. */
export type Revert = { readonly messageID: string; readonly partID?: string };

/** A session as it is stored and as the wire shows it (OpenCode 1.x, `GET /session/{id}`). Times are milliseconds. */
export type Session = {
  readonly id: string;
  readonly slug: string;
  readonly projectID: string;
  readonly directory: string;
  readonly parentID?: string;
  readonly title: string;
  readonly agent?: string;
  /** `id` is the model's key here, unlike in messages. */
  readonly model?: { readonly providerID: string; readonly id: string; readonly variant?: string };
  readonly version: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly permission?: readonly Rule[];
  readonly revert?: Revert;
  readonly awaitedCalls?: AwaitedCalls;
  readonly cost: number;
  readonly tokens: Tokens;
  readonly time: {
    readonly created: number;
    readonly updated: number;
    readonly compacting?: number;
    readonly archived?: number;
  };
};

export const NO_TOKENS: Tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

/** What a session is doing at the moment. Sessions without an entry are idle. */
export type SessionStatus =
  | { readonly type: 'idle' }
  | { readonly type: 'busy' }
  | { readonly type: 'retry'; readonly attempt: number; readonly message: string; readonly next: number };

/** Why an answer failed, in OpenCode's form. Messages are this server's own: a backend's body may name accounts and keys. */
export type MessageError =
  | { readonly name: 'ProviderAuthError'; readonly data: { readonly providerID: string; readonly message: string } }
  | { readonly name: 'UnknownError'; readonly data: { readonly message: string; readonly ref?: string } }
  | { readonly name: 'MessageOutputLengthError'; readonly data: Readonly<Record<string, never>> }
  | { readonly name: 'MessageAbortedError'; readonly data: { readonly message: string } }
  | { readonly name: 'ContextOverflowError'; readonly data: { readonly message: string } }
  | { readonly name: 'ContentFilterError'; readonly data: { readonly message: string } }
  | { readonly name: 'StructuredOutputError'; readonly data: { readonly message: string; readonly retries: number } }
  | {
      readonly name: 'APIError';
      readonly data: { readonly message: string; readonly statusCode?: number; readonly isRetryable: boolean };
    };

/** Why a model stopped. */
export type Finish = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'other' | 'unknown';

export type MessageTokens = Tokens & { readonly total?: number };

/** The form in which a client wants the answer: one JSON value that fits a schema. */
export type OutputFormat = {
  readonly type: 'json_schema';
  readonly schema: Readonly<Record<string, unknown>>;
  /** How many more values the model may try after one that does not fit. */
  readonly retryCount: number;
};

/** A tool that runs at the client. */
export type ClientTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
};

/** The tools that a client brings with a prompt. */
export type ClientTools = {
  readonly tools: readonly ClientTool[];
  /** `required`: the turn does not end without a call of one of them; a name: of this one. `none`: they are not offered. */
  readonly choice: 'auto' | 'required' | 'none' | { readonly name: string };
  /** Whether one step may call several of them. */
  readonly parallel: boolean;
};

export type UserMessage = {
  readonly id: string;
  readonly sessionID: string;
  readonly role: 'user';
  /** `resumed`: when the results came with which its answer goes on. */
  readonly time: { readonly created: number; readonly resumed?: number };
  readonly agent: string;
  readonly model: ModelRef;
  readonly system?: string;
  readonly tools?: Readonly<Record<string, boolean>>;
  /** A text, unless this says otherwise. */
  readonly format?: OutputFormat;
  readonly clientTools?: ClientTools;
};

/** One step of a model. A turn with tool calls has several, all with the same `parentID`. */
export type AssistantMessage = {
  readonly id: string;
  readonly sessionID: string;
  readonly role: 'assistant';
  /** The user message that it answers. */
  readonly parentID: string;
  readonly mode: string;
  readonly agent: string;
  readonly modelID: string;
  readonly providerID: string;
  readonly variant?: string;
  readonly path: { readonly cwd: string; readonly root: string };
  readonly time: { readonly created: number; readonly completed?: number };
  readonly cost: number;
  readonly tokens: MessageTokens;
  readonly finish?: Finish;
  readonly error?: MessageError;
  /** Whether it replaces earlier messages (compaction). */
  readonly summary?: boolean;
  /** The value that the prompt's `format` asked for. */
  readonly structured?: unknown;
};

export type Message = UserMessage | AssistantMessage;

type PartLocation = { readonly id: string; readonly sessionID: string; readonly messageID: string };
type Input = Readonly<Record<string, unknown>>;
/** What a client has attached to a part of its prompt, for itself. */
type PartMetadata = Readonly<Record<string, unknown>>;

export type TextPart = PartLocation & {
  readonly type: 'text';
  readonly text: string;
  readonly synthetic?: boolean;
  readonly metadata?: PartMetadata;
  readonly time?: { readonly start: number; readonly end?: number };
};
export type ReasoningPart = PartLocation & {
  readonly type: 'reasoning';
  readonly text: string;
  readonly time: { readonly start: number; readonly end?: number };
};
export type FilePart = PartLocation & {
  readonly type: 'file';
  readonly mime: string;
  readonly filename?: string;
  /** A `data:` URL. */
  readonly url: string;
  readonly metadata?: PartMetadata;
};

export type ToolState =
  | { readonly status: 'pending'; readonly input: Input; readonly raw: string }
  | {
      readonly status: 'running';
      readonly input: Input;
      readonly title?: string;
      readonly metadata?: Input;
      readonly time: { readonly start: number };
    }
  | {
      readonly status: 'completed';
      readonly input: Input;
      readonly output: string;
      readonly title: string;
      readonly metadata: Input;
      readonly time: { readonly start: number; readonly end: number };
      /** Files among the result, such as an image. */
      readonly attachments?: readonly FilePart[];
    }
  | {
      readonly status: 'error';
      readonly input: Input;
      readonly error: string;
      readonly metadata?: Input;
      readonly time: { readonly start: number; readonly end: number };
    };

export type ToolPart = PartLocation & {
  readonly type: 'tool';
  readonly callID: string;
  readonly tool: string;
  readonly state: ToolState;
};
type StepStartPart = PartLocation & { readonly type: 'step-start' };
type StepFinishPart = PartLocation & {
  readonly type: 'step-finish';
  readonly reason: Finish;
  readonly cost: number;
  readonly tokens: MessageTokens;
};
type RetryPart = PartLocation & {
  readonly type: 'retry';
  readonly attempt: number;
  readonly error: MessageError;
  readonly time: { readonly created: number };
};
export type CompactionPart = PartLocation & { readonly type: 'compaction'; readonly auto: boolean };

/** A piece of a message, as it is stored and as the wire shows it. */
export type Part =
  | TextPart
  | ReasoningPart
  | FilePart
  | ToolPart
  | StepStartPart
  | StepFinishPart
  | RetryPart
  | CompactionPart;

/** Whether an answer was begun and not completed. */
export const isUnfinished = (message: Message): boolean =>
  message.role === 'assistant' && message.time.completed === undefined;
