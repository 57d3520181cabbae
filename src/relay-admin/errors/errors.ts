/** What became of the change that a failed call asked for. */
export type FailureOutcome = 'not_applied' | 'unknown';

/** Failures of `preview_recharge` and `recharge`. `reference` is the marker in the balance history. */
export type RechargeErrorDetail =
  | { readonly kind: 'amount-over-limit'; readonly amount: string; readonly limit: string }
  /** `least`: the smallest amount that the relay accepts. All three are decimal strings. */
  | {
      readonly kind: 'balance-stays-negative';
      readonly balance: string;
      readonly least: string;
      readonly limit: string;
      readonly isOverLimit: boolean;
    }
  | { readonly kind: 'token-unknown' }
  | { readonly kind: 'token-expired' }
  | { readonly kind: 'preview-stale'; readonly what: 'status' | 'balance' | 'identity' | 'recharge' }
  | {
      readonly kind: 'idempotency-conflict';
      readonly why: 'token-used' | 'key-used' | 'key-in-history' | 'key-in-relay';
      readonly reference: string;
    }
  /** `status`: of the relay's refusal; 0 when no connection could be made. */
  | { readonly kind: 'recharge-refused'; readonly status: number; readonly reference: string }
  | { readonly kind: 'recharge-not-sent'; readonly reference: string }
  | { readonly kind: 'doubt-not-acknowledged'; readonly reference: string }
  | { readonly kind: 'unresolved-recharge'; readonly retryAfterMs: number; readonly reference: string };

/**
 * Every expected failure of the tools. After adding a kind here, the compiler points to the place that needs its text
 * (`error-text.ts`). Anything else that is thrown is a bug. No field may hold text of the relay or of a user.
 */
export type RelayErrorDetail =
  | { readonly kind: 'invalid-argument'; readonly what: string; readonly next?: string }
  | { readonly kind: 'read-only' }
  | { readonly kind: 'no-admin-key'; readonly isMalformed: boolean }
  | { readonly kind: 'route-not-allowed' }
  | { readonly kind: 'not-found'; readonly what: 'user' | 'account' | 'resource' }
  | { readonly kind: 'no-such-user' }
  | { readonly kind: 'ambiguous-user'; readonly ids: readonly number[] }
  | { readonly kind: 'too-many-users'; readonly limit: number }
  | { readonly kind: 'list-moved' }
  | RechargeErrorDetail
  | { readonly kind: 'not-as-expected'; readonly fields: readonly string[] }
  | { readonly kind: 'change-unknown' }
  | { readonly kind: 'change-refused'; readonly status: number }
  | { readonly kind: 'busy' }
  /** `why`: the error code of the system, such as ENOSPC. */
  | { readonly kind: 'journal-unavailable'; readonly why: string; readonly outcome?: 'unknown' }
  | { readonly kind: 'upstream-auth' }
  | { readonly kind: 'upstream-forbidden' }
  | { readonly kind: 'terms-not-accepted' }
  | { readonly kind: 'upstream-refused'; readonly status: number }
  | { readonly kind: 'upstream-rate-limit'; readonly retryAfterMs: number }
  | { readonly kind: 'upstream-unavailable'; readonly why: string; readonly retryAfterMs?: number }
  /** A list that the relay has for composite groups alone: for any other group it fails. */
  | { readonly kind: 'not-composite' }
  | { readonly kind: 'upstream-redirect' }
  | { readonly kind: 'upstream-contract'; readonly why: 'not-json' | 'unexpected-shape' | 'too-large' }
  | { readonly kind: 'deadline' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'bug'; readonly outcome: FailureOutcome };

/** An expected failure. `errorTextFor` turns its detail into the text that callers see. */
export class RelayError extends Error {
  override readonly name = 'RelayError';
  readonly detail: RelayErrorDetail;

  constructor(detail: RelayErrorDetail) {
    super(detail.kind);
    this.detail = detail;
  }
}

/** The failure for an answer whose shape these tools do not know. */
export const unexpectedShape = (): RelayError => new RelayError({ kind: 'upstream-contract', why: 'unexpected-shape' });
