import type { Finish, MessageTokens } from '../protocol/types.ts';

/** What is said to a model, in the order in which it was said. */
export type ModelMessage =
  | {
      readonly role: 'user';
      readonly content: readonly (
        | { readonly kind: 'text'; readonly text: string }
        | { readonly kind: 'file'; readonly mime: string; readonly url: string; readonly filename?: string }
      )[];
    }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
    }
  | {
      readonly role: 'tool';
      readonly results: readonly {
        readonly id: string;
        readonly name: string;
        readonly output: string;
        readonly isError: boolean;
      }[];
    };

/** A tool as a model is told of it. */
export type ToolSpec = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
};

/** Where a model is and how it is spoken to: all that the configuration says of it, with every option merged. */
export type ModelTarget = {
  readonly providerID: string;
  /** The adapter package, one of those that are bundled. */
  readonly npm: string;
  readonly baseURL: string | undefined;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The name that the provider knows it by. */
  readonly upstreamID: string;
  /** Merged into the request's body: `store`, `reasoningEffort` and what else an adapter or a backend takes. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
};

export type ModelRequest = {
  readonly target: ModelTarget;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  /** The tools are there to understand what was said, and not to be called. */
  readonly toolChoice?: 'none';
  /** Sent along so that a backend can keep what belongs together in one place. */
  readonly sessionID: string;
};

/** What a model says, piece by piece. It ends with exactly one `finished`, or it throws a `ModelError`. */
export type ModelEvent =
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'reasoning'; readonly delta: string }
  | { readonly kind: 'call-begun'; readonly id: string; readonly name: string }
  /** `input` is undefined when `raw` is not JSON. */
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly input: unknown; readonly raw: string }
  | { readonly kind: 'finished'; readonly finish: Finish; readonly tokens: MessageTokens };

/** Asks a model for one step. Never tries again by itself, and stops asking when the signal aborts. */
export type ChatModel = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>;

export type ModelErrorKind = 'auth' | 'api' | 'network' | 'overflow' | 'content-filter' | 'cut-off' | 'unknown-adapter';

/** Why a model gave no whole answer. Its message is our own words, never a backend's. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly statusCode: number | undefined;
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ModelErrorKind,
    message: string,
    more: { readonly statusCode?: number; readonly isRetryable?: boolean; readonly retryAfterMs?: number } = {},
  ) {
    super(message);
    this.kind = kind;
    this.statusCode = more.statusCode;
    this.isRetryable = more.isRetryable ?? false;
    this.retryAfterMs = more.retryAfterMs;
  }
}
