import type { ModelRef, Tokens } from './session.ts';

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
