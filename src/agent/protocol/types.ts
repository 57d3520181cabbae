/** Which model answers: a provider of the configuration, the model's key there, and one of its variants. */
export type ModelRef = { readonly providerID: string; readonly modelID: string; readonly variant?: string };

export type Tokens = {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  readonly cache: { readonly read: number; readonly write: number };
};

export type Action = 'allow' | 'ask' | 'deny';

/** What a permission rule says of the tools and patterns that it covers. */
export type Rule = { readonly permission: string; readonly pattern: string; readonly action: Action };

/** Where a session was turned back to: what is said from there on goes with the next prompt, unless that is taken back first. */
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

/** Why an answer is none, in the words of the wire. Messages are our own: a backend's body may name accounts and keys. */
export type MessageError =
  | { readonly name: 'ProviderAuthError'; readonly data: { readonly providerID: string; readonly message: string } }
  | { readonly name: 'UnknownError'; readonly data: { readonly message: string; readonly ref?: string } }
  | { readonly name: 'MessageOutputLengthError'; readonly data: Readonly<Record<string, never>> }
  | { readonly name: 'MessageAbortedError'; readonly data: { readonly message: string } }
  | { readonly name: 'ContextOverflowError'; readonly data: { readonly message: string } }
  | { readonly name: 'ContentFilterError'; readonly data: { readonly message: string } }
  | {
      readonly name: 'APIError';
      readonly data: { readonly message: string; readonly statusCode?: number; readonly isRetryable: boolean };
    };

/** Why a model stopped. */
export type Finish = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'other' | 'unknown';

export type MessageTokens = Tokens & { readonly total?: number };

export type UserMessage = {
  readonly id: string;
  readonly sessionID: string;
  readonly role: 'user';
  readonly time: { readonly created: number };
  readonly agent: string;
  readonly model: ModelRef;
  readonly system?: string;
  readonly tools?: Readonly<Record<string, boolean>>;
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
  /** Whether it stands for what came before it (compaction). */
  readonly summary?: boolean;
};

export type Message = UserMessage | AssistantMessage;

type PartLocation = { readonly id: string; readonly sessionID: string; readonly messageID: string };
type Input = Readonly<Record<string, unknown>>;

export type TextPart = PartLocation & {
  readonly type: 'text';
  readonly text: string;
  readonly synthetic?: boolean;
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
export type StepStartPart = PartLocation & { readonly type: 'step-start' };
export type StepFinishPart = PartLocation & {
  readonly type: 'step-finish';
  readonly reason: Finish;
  readonly cost: number;
  readonly tokens: MessageTokens;
};
export type RetryPart = PartLocation & {
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

/** Marks a call of an attempt that counts for nothing, because its step was begun anew. */
export const WITHDRAWN = { withdrawn: true } as const;

/** Whether a call counts for nothing. A backend that was asked anew may even have given its id to another one. */
export const isWithdrawn = ({ state }: ToolPart): boolean =>
  state.status === 'error' && state.metadata?.withdrawn === true;

/** Whether an answer was begun and not completed. */
export const isUnfinished = (message: Message): boolean =>
  message.role === 'assistant' && message.time.completed === undefined;

/** A question to a person: may this tool call be made? It lives until it is answered, its run ends or its time is over. */
export type PermissionRequest = {
  readonly id: string;
  readonly sessionID: string;
  /** The tool's name. */
  readonly permission: string;
  readonly patterns: readonly string[];
  /** What the person decides about: the tool's title and its arguments, and for a recharge the words of its preview. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Patterns that the answer `always` allows from then on. */
  readonly always: readonly string[];
  readonly tool?: { readonly messageID: string; readonly callID: string };
};

export type PermissionReply =
  | { readonly reply: 'once' }
  | { readonly reply: 'always' }
  | { readonly reply: 'reject'; readonly message?: string };
