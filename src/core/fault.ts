/**
 * Every failure that a service expects. Add a kind here and the compiler shows the one place that must answer it
 * (`reply.ts`). Anything else that is thrown is a bug. Reasons are our own words: never a user's text, never a backend's.
 */
export type FaultDetail =
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'bad-input'; readonly code: string; readonly param: string | null; readonly message: string }
  /** `asked` is the name as the caller sent it, where the error may repeat it; quoted only if it is an identifier. */
  | { readonly kind: 'model-not-found'; readonly asked?: string | undefined; readonly valid: readonly string[] }
  | { readonly kind: 'not-found'; readonly hint: string }
  /** It cannot be done as things stand now; later it may. */
  | { readonly kind: 'conflict'; readonly message: string }
  | { readonly kind: 'method-not-allowed'; readonly allow: readonly string[] }
  /** `message` where the limit is not one of the body alone. */
  | { readonly kind: 'body-too-large'; readonly limitBytes: number; readonly message?: string }
  | { readonly kind: 'body-too-slow' }
  | { readonly kind: 'unsupported-media-type' }
  | { readonly kind: 'rate-limited'; readonly retryAfterMs: number }
  /** The service is not ready to answer yet, or is about to end. */
  | { readonly kind: 'unavailable'; readonly message: string; readonly retryAfterMs: number }
  | { readonly kind: 'overloaded'; readonly retryAfterMs: number }
  | { readonly kind: 'no-backend-key'; readonly retryAfterMs: number }
  | { readonly kind: 'backend-error'; readonly reason: string }
  | { readonly kind: 'backend-unusable'; readonly reason: string }
  | { readonly kind: 'backend-timeout' }
  /** The agent server refused, or its turn failed. `isRetryable`: nothing was begun, so asking again repeats nothing. */
  | {
      readonly kind: 'agent-failed';
      readonly status: number;
      readonly code: string;
      readonly message: string;
      readonly isRetryable: boolean;
    }
  | { readonly kind: 'client-left' };

/** An expected failure on its way to the one place that answers it. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly detail: FaultDetail;

  constructor(detail: FaultDetail) {
    super(detail.kind);
    this.detail = detail;
  }
}
