import type { TraceContext } from '../../core/http/tracing.ts';
import type { Finish, MessageTokens } from '../protocol/types.ts';

/** A message of a conversation with a model. */
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

/** A tool as a model sees it. */
export type ToolSpec = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
};

/** The address, adapter and options of a model: everything that the configuration says of it, merged. */
export type ModelTarget = {
  readonly providerID: string;
  /** The adapter package, one of those that are bundled. */
  readonly npm: string;
  readonly baseURL: string | undefined;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The provider's own name of the model. */
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
  /** `none`: the tools are only there to explain earlier calls, and must not be called. `required`: one must be called, or the one of a name. */
  readonly toolChoice?: 'none' | 'required' | { readonly name: string };
  /** Sent so that a backend can route the requests of a session to one place. */
  readonly sessionID: string;
  /** Called when the request was built and handed to the connection, if the model can tell: it makes no more copies of it then. */
  readonly onSent?: () => void;
};

/** A model's output, piece by piece. It ends with exactly one `finished`, or it throws a `ModelError`. */
export type ModelEvent =
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'reasoning'; readonly delta: string }
  | { readonly kind: 'call-begun'; readonly id: string; readonly name: string }
  /** `input` is undefined when `raw` is not JSON. */
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly input: unknown; readonly raw: string }
  | { readonly kind: 'finished'; readonly finish: Finish; readonly tokens: MessageTokens };

/**
 * Calls a model for one step. Never retries by itself, and ends the call when the signal aborts. The call is made in `trace`, where
 * there is one.
 */
export type ChatModel = (request: ModelRequest, signal: AbortSignal, trace?: TraceContext) => AsyncIterable<ModelEvent>;

export type ModelErrorKind = 'auth' | 'api' | 'network' | 'overflow' | 'content-filter' | 'cut-off' | 'unknown-adapter';

/** Why a model gave no whole answer. The message is our own, never a backend's. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly statusCode: number | undefined;
  /** The platform's code for a failure below HTTP, such as ECONNREFUSED. */
  readonly code: string | undefined;
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ModelErrorKind,
    message: string,
    more: {
      readonly statusCode?: number;
      readonly code?: string | undefined;
      readonly isRetryable?: boolean;
      readonly retryAfterMs?: number;
    } = {},
  ) {
    super(message);
    this.kind = kind;
    this.statusCode = more.statusCode;
    this.code = more.code;
    this.isRetryable = more.isRetryable ?? false;
    this.retryAfterMs = more.retryAfterMs;
  }
}
