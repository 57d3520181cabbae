import type { RechargeErrorDetail } from './errors.ts';
import { type ErrorText, errorText, formatRetryAfter } from './format.ts';

const CONFLICTS = {
  'token-used': 'this preview_token was already used with another idempotency_key',
  'key-used': 'this idempotency_key was already used with another preview_token',
  'key-in-history': 'the history of this user already has a credit with the marker of this idempotency_key',
  'key-in-relay': 'the relay already knows this idempotency_key for another payload, and credited nothing for this one',
} as const;

const STALE = {
  status: "the user's status or role has changed",
  balance: "the user's balance has risen",
  identity: "the user's e-mail has changed",
  recharge: 'another recharge of this user was sent',
} as const;

/** The text of a failed recharge or preview. */
export const rechargeErrorText = (detail: RechargeErrorDetail): ErrorText => {
  switch (detail.kind) {
    case 'amount-over-limit':
      return errorText(
        'AMOUNT_OVER_LIMIT',
        `${detail.amount} is above the limit of ${detail.limit} for one recharge`,
        `ask for an amount of at most ${detail.limit} and call preview_recharge.`,
      );
    case 'balance-stays-negative':
      return errorText(
        'BALANCE_STAYS_NEGATIVE',
        `the balance of ${detail.balance} would stay below zero, and the relay refuses that`,
        detail.isOverLimit
          ? `it takes ${detail.least}, over the limit of ${detail.limit} for one recharge: ask an administrator to correct the balance in the relay web interface.`
          : `ask for an amount of at least ${detail.least} and call preview_recharge.`,
      );
    case 'doubt-not-acknowledged':
      return errorText(
        'DOUBT_NOT_ACKNOWLEDGED',
        'an earlier recharge of this user and amount was sent and not verified; this one would be credited on top of it',
        'show a person that earlier recharge, what its balance and history show, and this reference; only when that person decides to credit again, call recharge with the reference as acknowledge_doubt.',
        { reference: detail.reference },
      );
    case 'token-unknown':
      return errorText(
        'CONFIRM_TOKEN_UNKNOWN',
        'this preview_token was not made by this server for this relay, or was altered',
        'when a recharge with this preview was tried before, repeat that call with its very preview_token and idempotency_key; otherwise call preview_recharge.',
      );
    case 'token-expired':
      return errorText(
        'CONFIRM_TOKEN_EXPIRED',
        'this preview_token is older than 5 minutes',
        'call preview_recharge again and confirm the new preview.',
      );
    case 'preview-stale':
      return errorText(
        'PREVIEW_STALE',
        `${STALE[detail.what]} since the preview`,
        'call preview_recharge again and confirm the new preview.',
      );
    case 'idempotency-conflict':
      return errorText(
        'IDEMPOTENCY_CONFLICT',
        `${CONFLICTS[detail.why]}; this call changed nothing, but the earlier one may have been credited`,
        'look for the reference in the balance history of the user with read before anything else.',
        { reference: detail.reference },
      );
    case 'recharge-refused':
      return errorText(
        'RECHARGE_REFUSED',
        detail.status === 0
          ? 'no connection to the relay could be made, so nothing was credited'
          : `the relay refused the recharge with status ${detail.status} and credited nothing`,
        nextAfterRefusal(detail.status),
        { reference: detail.reference },
      );
    case 'recharge-not-sent':
      return errorText(
        'RECHARGE_NOT_SENT',
        'the call was cancelled, its time was over or another recharge of this user came first, so this one was not sent, and its preview_token is used up',
        'when it is still wanted, call preview_recharge and confirm anew with a new idempotency_key.',
        { reference: detail.reference },
      );
    case 'unresolved-recharge':
      return errorText(
        'UNRESOLVED_RECHARGE',
        'an earlier recharge of this user was sent and its outcome is not known yet',
        'look for the reference in the balance history of the user with read.',
        { retry: formatRetryAfter(detail.retryAfterMs), reference: detail.reference },
      );
    default:
      return detail satisfies never;
  }
};

const nextAfterRefusal = (status: number): string => {
  if (status === 401) return 'ask the operator to set the current admin key and restart this server.';
  if (status === 403) return 'ask the operator to give the admin key the right to recharge, if it should have it.';
  if (status === 423) return 'ask an administrator to accept the relay terms in its web interface; no tool can do it.';
  return 'when it is still wanted, call preview_recharge and confirm anew with a new idempotency_key.';
};
