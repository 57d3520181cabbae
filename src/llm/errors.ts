import type { CoreFault } from '../core/fault.ts';

/** What a call of a backend over several keys can come to, beside what every service expects. */
export type BackendFault =
  /** Every key is cooling down. */
  | { readonly kind: 'no-backend-key'; readonly retryAfterMs: number }
  /**
   * The host failed with every key, or is being left alone. `reason` is our own text. `isFinal`: a repeat fails as well.
   * `isRejected`: the host is there and refused this call, so that the text may have led to it.
   */
  | {
      readonly kind: 'backend-error';
      readonly reason: string;
      readonly isFinal?: boolean;
      readonly isRejected?: boolean;
    };

export type LlmFault = CoreFault | BackendFault;
