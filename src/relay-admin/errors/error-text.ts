import type { RelayErrorDetail } from './errors.ts';
import { type ErrorText, errorText, formatRetryAfter } from './format.ts';
import { rechargeErrorText } from './recharge-error-text.ts';

const IDS_SHOWN = 10;

const listIds = (ids: readonly number[]): string =>
  `ids ${ids.slice(0, IDS_SHOWN).join(', ')}${ids.length > IDS_SHOWN ? ' and more' : ''}`;

const CONTRACTS = {
  'not-json': 'something that is not JSON',
  'unexpected-shape': 'JSON of a shape that these tools do not know',
  'too-large': 'more than these tools take in one answer',
} as const;

const NOT_FOUND = {
  user: ['the relay has no user with this id', 'look the user up with find_user.'],
  account: ['the relay has no account with this id', 'list accounts with read and path "accounts".'],
  resource: [
    'the relay has nothing at this path, or the feature is switched off there',
    'check the id, or pick another route from describe.',
  ],
} as const;

/** The text of a failure. It holds only our own templates, numbers and codes, never text of the relay or of a user. */
export const errorTextFor = (detail: RelayErrorDetail): ErrorText => {
  switch (detail.kind) {
    case 'invalid-argument':
      return errorText('INVALID_ARGUMENT', detail.what, detail.next ?? 'correct the argument and call again.');
    case 'read-only':
      return errorText(
        'READ_ONLY',
        'this server runs in read-only mode, which has no tool that changes anything',
        'tell the operator that RELAY_READ_ONLY is set.',
      );
    case 'no-admin-key':
      return errorText(
        'NO_ADMIN_KEY',
        detail.isMalformed
          ? 'RELAY_ADMIN_API_KEY is not one word of 16 to 256 letters, digits and . _ ~ + / = : @ -'
          : 'RELAY_ADMIN_API_KEY is not set',
        'ask the operator to set the key and restart this server; describe, health and model_control_options work without it.',
      );
    case 'route-not-allowed':
      return errorText(
        'ROUTE_NOT_ALLOWED',
        'this path is not on the allow-list, and no request was sent',
        'pick a route that describe lists.',
      );
    case 'not-found': {
      const [what, next] = NOT_FOUND[detail.what];
      return errorText('NOT_FOUND', what, next);
    }
    case 'no-such-user':
      return errorText(
        'NOT_FOUND',
        'no user has exactly this e-mail',
        'ask for the right e-mail and call find_user again.',
      );
    case 'ambiguous-user':
      return errorText(
        'AMBIGUOUS_USER',
        `${detail.ids.length} users have this e-mail when case and blanks are ignored: ${listIds(detail.ids)}`,
        'ask the operator which id is meant.',
      );
    case 'too-many-users':
      return errorText(
        'TOO_MANY_USERS',
        `more than ${detail.limit} users match, too many to be sure of one`,
        'ask the operator for the user id.',
      );
    case 'list-moved':
      return errorText('LIST_MOVED', 'the list of users changed while it was read', 'call find_user again.', {
        retry: 'same_call',
      });
    case 'amount-over-limit':
    case 'balance-stays-negative':
    case 'doubt-not-acknowledged':
    case 'token-unknown':
    case 'token-expired':
    case 'preview-stale':
    case 'idempotency-conflict':
    case 'recharge-refused':
    case 'recharge-not-sent':
    case 'unresolved-recharge':
      return rechargeErrorText(detail);
    case 'not-as-expected':
      return errorText(
        'NOT_AS_EXPECTED',
        `the value now differs from the expected one: ${detail.fields.join(', ')}`,
        'read the current value and decide again.',
      );
    case 'change-unknown':
      return errorText(
        'OUTCOME_UNKNOWN',
        'the change was sent and the relay gave no usable answer',
        'read the current value before anything else.',
        { outcome: 'unknown' },
      );
    case 'change-refused':
      return errorText(
        'CHANGE_REFUSED',
        `the relay refused the change with status ${detail.status}`,
        'read the current value and decide again.',
      );
    case 'busy':
      return errorText(
        'BUSY',
        'too much is under way for this user or this server',
        'wait until the calls under way are answered.',
        { retry: 'after_10s' },
      );
    case 'journal-unavailable':
      return errorText(
        'JOURNAL_UNAVAILABLE',
        `the journal cannot be read or written (${detail.why}), and without it nothing is sent`,
        'ask the operator to look at RELAY_JOURNAL.',
        detail.outcome === undefined ? {} : { outcome: detail.outcome },
      );
    case 'upstream-auth':
      return errorText(
        'UPSTREAM_AUTH',
        'the relay does not know the admin key (401): it was replaced, has expired or was never one',
        'ask the operator to set the current key and restart this server.',
      );
    case 'upstream-forbidden':
      return errorText(
        'UPSTREAM_FORBIDDEN',
        'this admin key may not do this (403): it has fewer rights, or a server before the relay refuses it',
        'ask the operator to give the key this right, if it should have it; other tools may work.',
      );
    case 'terms-not-accepted':
      return errorText(
        'TERMS_NOT_ACCEPTED',
        'the relay wants its terms accepted by a person before it answers any admin call',
        'ask an administrator to accept them in the relay web interface; no tool can do it.',
      );
    case 'upstream-refused':
      return errorText(
        'UPSTREAM_REFUSED',
        `the relay refused the request with status ${detail.status}`,
        'check the arguments against describe.',
      );
    case 'upstream-rate-limit':
      return errorText('UPSTREAM_RATE_LIMIT', 'the relay limits the rate of admin calls', 'wait, then call again.', {
        retry: formatRetryAfter(detail.retryAfterMs),
      });
    case 'upstream-unavailable':
      return errorText('UPSTREAM_UNAVAILABLE', `the relay could not be asked (${detail.why})`, 'call health.', {
        retry: formatRetryAfter(detail.retryAfterMs ?? 10_000),
      });
    case 'not-composite':
      return errorText(
        'NOT_COMPOSITE',
        'the relay failed with status 500, as it does for the composite routes of a group that is not composite',
        'read the group itself: only one whose platform is composite has such routes.',
      );
    case 'upstream-redirect':
      return errorText(
        'UPSTREAM_REDIRECT',
        'the relay answered with a redirect, which is never followed',
        'ask the operator whether RELAY_BASE_URL is the address of the relay itself.',
      );
    case 'upstream-contract':
      return errorText(
        'UPSTREAM_CONTRACT',
        `the relay answered with ${CONTRACTS[detail.why]}`,
        detail.why === 'too-large'
          ? 'ask for less with page_size or a narrower route.'
          : 'call health, then ask the operator which version the relay has.',
      );
    case 'deadline':
      return errorText('DEADLINE', 'the time for this call is over', 'call health, then call again.', {
        retry: 'same_call',
      });
    case 'cancelled':
      return errorText(
        'CANCELLED',
        'the call was cancelled before anything was sent',
        'call again when it is wanted.',
        {
          retry: 'same_call',
        },
      );
    case 'bug':
      return errorText(
        'INTERNAL',
        'this server failed in a way it should not',
        detail.outcome === 'unknown'
          ? 'look at the current state with read before anything else.'
          : 'tell the operator; the server log has the place.',
        { outcome: detail.outcome },
      );
    default:
      return detail satisfies never;
  }
};
