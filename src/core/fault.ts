/**
 * The failures that every service expects. A service adds its own kinds in a union that starts with this one, and has one
 * function that answers them. Anything else that is thrown is a bug. Texts are our own: never a user's, never a backend's.
 */
export type CoreFault =
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'bad-input'; readonly code: string; readonly param: string | null; readonly message: string }
  /** `message` where a name was sent, by `notConfiguredText`; the error lists the valid names after it. */
  | { readonly kind: 'model-not-found'; readonly message?: string; readonly valid: readonly string[] }
  | { readonly kind: 'not-found'; readonly hint: string }
  /** It cannot be done as things stand now; later it may. `code` where a program has to know why. */
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
  /** A deadline was over, of whatever was waited for. */
  | { readonly kind: 'backend-timeout' }
  | { readonly kind: 'client-left' };

/** An expected failure on its way to the one place that answers it. */
export class Fault<Detail extends { readonly kind: string } = CoreFault> extends Error {
  /** TypeScript would narrow to `any` otherwise. A service with kinds of its own narrows with a guard of its own. */
  declare static readonly [Symbol.hasInstance]: (value: unknown) => value is Fault;
  override readonly name = 'Fault';
  readonly detail: Detail;

  constructor(detail: Detail) {
    super(detail.kind);
    this.detail = detail;
  }
}

/** Whether an error says that something is not there. */
export const isNotFound = (error: unknown): boolean => error instanceof Fault && error.detail.kind === 'not-found';
