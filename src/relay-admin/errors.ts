/**
 * Every failure that the tools expect. Add a kind here and the compiler shows the one place that words it
 * (`problem-words.ts`). What is thrown otherwise is a bug. No field may hold a text of the relay's or of a user's.
 */
export type RelayErrorDetail =
  | { readonly kind: 'invalid-argument'; readonly what: string; readonly next?: string }
  | { readonly kind: 'read-only' }
  | { readonly kind: 'no-admin-key'; readonly isMalformed: boolean }
  | { readonly kind: 'route-not-allowed' }
  | { readonly kind: 'not-found'; readonly what: 'user' | 'account' | 'thing' }
  | { readonly kind: 'no-such-user' }
  | { readonly kind: 'ambiguous-user'; readonly ids: readonly number[] }
  | { readonly kind: 'too-many-users'; readonly limit: number }
  | { readonly kind: 'list-moved' }
  | { readonly kind: 'amount-over-limit'; readonly amount: string; readonly limit: string }
  | { readonly kind: 'token-unknown' }
  | { readonly kind: 'token-expired' }
  | { readonly kind: 'preview-stale'; readonly what: 'status' | 'balance' | 'identity' | 'recharge' }
  | {
      readonly kind: 'idempotency-conflict';
      readonly why: 'token-used' | 'key-used' | 'key-in-history' | 'key-in-relay';
      readonly reference: string;
    }
  | {
      readonly kind: 'recharge-refused';
      readonly status: number;
      readonly reference: string;
    }
  | { readonly kind: 'recharge-not-sent'; readonly reference: string }
  | { readonly kind: 'unresolved-recharge'; readonly retryAfterMs: number; readonly reference: string }
  | { readonly kind: 'not-as-expected'; readonly fields: readonly string[] }
  | { readonly kind: 'change-unknown'; readonly tool: string }
  | { readonly kind: 'change-refused'; readonly status: number }
  | { readonly kind: 'busy' }
  /** `why`: the system's own word for it, such as ENOSPC. */
  | { readonly kind: 'journal-unavailable'; readonly why: string; readonly outcome?: 'unknown' }
  | { readonly kind: 'upstream-auth' }
  | { readonly kind: 'terms-not-accepted' }
  | { readonly kind: 'upstream-refused'; readonly status: number }
  | { readonly kind: 'upstream-rate-limit'; readonly retryAfterMs: number }
  | { readonly kind: 'upstream-unavailable'; readonly why: string; readonly retryAfterMs?: number }
  | { readonly kind: 'upstream-redirect' }
  | { readonly kind: 'upstream-contract'; readonly why: 'not-json' | 'not-the-shape' | 'too-large' }
  | { readonly kind: 'deadline' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'bug'; readonly outcome: 'not_applied' | 'unknown' };

/** An expected failure on its way to the one place that words it. */
export class RelayError extends Error {
  override readonly name = 'Problem';
  readonly detail: RelayErrorDetail;

  constructor(detail: RelayErrorDetail) {
    super(detail.kind);
    this.detail = detail;
  }
}
