import type { RelayErrorDetail } from '../../../src/relay-admin/errors/errors.ts';

type Details = {
  readonly [Kind in RelayErrorDetail['kind']]: readonly Extract<RelayErrorDetail, { readonly kind: Kind }>[];
};

const REFERENCE = 'rc_0123456789abcdef';

/** Every kind of problem, in every variant that has words of its own: the compiler asks for the next kind here. */
export const EVERY_PROBLEM: Details = {
  'invalid-argument': [
    { kind: 'invalid-argument', what: 'user_id: expected a whole number' },
    { kind: 'invalid-argument', what: 'user_id: expected a whole number', next: 'call find_user.' },
  ],
  'read-only': [{ kind: 'read-only' }],
  'no-admin-key': [
    { kind: 'no-admin-key', isMalformed: false },
    { kind: 'no-admin-key', isMalformed: true },
  ],
  'route-not-allowed': [{ kind: 'route-not-allowed' }],
  'not-found': [
    { kind: 'not-found', what: 'user' },
    { kind: 'not-found', what: 'account' },
    { kind: 'not-found', what: 'resource' },
  ],
  'no-such-user': [{ kind: 'no-such-user' }],
  'ambiguous-user': [
    { kind: 'ambiguous-user', ids: [7, 12] },
    { kind: 'ambiguous-user', ids: Array.from({ length: 1000 }, (_, index) => Number.MAX_SAFE_INTEGER - index) },
  ],
  'too-many-users': [{ kind: 'too-many-users', limit: 2000 }],
  'list-moved': [{ kind: 'list-moved' }],
  'amount-over-limit': [{ kind: 'amount-over-limit', amount: '9999999.99999999', limit: '10000' }],
  'balance-stays-negative': [false, true].map((isOverLimit) => ({
    kind: 'balance-stays-negative',
    balance: '-12345678.00000001',
    least: '12345678.00000001',
    limit: '10000',
    isOverLimit,
  })),
  'doubt-not-acknowledged': [{ kind: 'doubt-not-acknowledged', reference: REFERENCE }],
  'token-unknown': [{ kind: 'token-unknown' }],
  'token-expired': [{ kind: 'token-expired' }],
  'preview-stale': [
    { kind: 'preview-stale', what: 'status' },
    { kind: 'preview-stale', what: 'balance' },
    { kind: 'preview-stale', what: 'identity' },
  ],
  'idempotency-conflict': [
    { kind: 'idempotency-conflict', why: 'token-used', reference: 'rc_0123456789abcdef' },
    { kind: 'idempotency-conflict', why: 'key-used', reference: 'rc_0123456789abcdef' },
    { kind: 'idempotency-conflict', why: 'key-in-history', reference: 'rc_0123456789abcdef' },
    { kind: 'idempotency-conflict', why: 'key-in-relay', reference: 'rc_0123456789abcdef' },
  ],
  'recharge-refused': [0, 400, 401, 403, 404, 413, 423, 429].map(
    (status) => ({ kind: 'recharge-refused', status, reference: REFERENCE }) as const,
  ),
  'recharge-not-sent': [{ kind: 'recharge-not-sent', reference: REFERENCE }],
  'unresolved-recharge': [
    { kind: 'unresolved-recharge', retryAfterMs: 1, reference: REFERENCE },
    { kind: 'unresolved-recharge', retryAfterMs: 120_000, reference: REFERENCE },
  ],
  'not-as-expected': [{ kind: 'not-as-expected', fields: ['rpm_limit', 'concurrency'] }],
  'change-unknown': [{ kind: 'change-unknown' }],
  'change-refused': [{ kind: 'change-refused', status: 400 }],
  busy: [{ kind: 'busy' }],
  'journal-unavailable': [{ kind: 'journal-unavailable', why: 'ENOSPC' }],
  'upstream-auth': [{ kind: 'upstream-auth' }],
  'upstream-forbidden': [{ kind: 'upstream-forbidden' }],
  'terms-not-accepted': [{ kind: 'terms-not-accepted' }],
  'upstream-refused': [{ kind: 'upstream-refused', status: 422 }],
  'upstream-rate-limit': [
    { kind: 'upstream-rate-limit', retryAfterMs: 0 },
    { kind: 'upstream-rate-limit', retryAfterMs: 3_600_000 },
  ],
  'upstream-unavailable': [
    { kind: 'upstream-unavailable', why: 'status 503' },
    { kind: 'upstream-unavailable', why: 'status 503', retryAfterMs: 7000 },
    { kind: 'upstream-unavailable', why: 'A'.repeat(64) },
  ],
  'not-composite': [{ kind: 'not-composite' }],
  'upstream-redirect': [{ kind: 'upstream-redirect' }],
  'upstream-contract': [
    { kind: 'upstream-contract', why: 'not-json' },
    { kind: 'upstream-contract', why: 'unexpected-shape' },
    { kind: 'upstream-contract', why: 'too-large' },
  ],
  deadline: [{ kind: 'deadline' }],
  cancelled: [{ kind: 'cancelled' }],
  bug: [
    { kind: 'bug', outcome: 'not_applied' },
    { kind: 'bug', outcome: 'unknown' },
  ],
};
