import type { RelayErrorDetail } from './errors.ts';

/** What became of the change that was asked for. */
export type FailureOutcome = 'not_applied' | 'unknown';

/** A failure in words for a model: what happened, what became of the change, whether to try again, and one next step. */
export type ErrorText = {
  readonly code: string;
  readonly what: string;
  readonly outcome: FailureOutcome;
  readonly retry: string;
  readonly next: string;
  readonly reference?: string;
};

type Short = Partial<Pick<ErrorText, 'outcome' | 'retry' | 'reference'>>;

const words = (code: string, what: string, next: string, more: Short = {}): ErrorText => ({
  code,
  what,
  next,
  outcome: 'not_applied',
  retry: 'no',
  ...more,
});

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

const IDS_SHOWN = 10;

/** As many ids as fit into a sentence. */
const idsIn = (ids: readonly number[]): string =>
  `ids ${ids.slice(0, IDS_SHOWN).join(', ')}${ids.length > IDS_SHOWN ? ' and more' : ''}`;

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

const CONTRACTS = {
  'not-json': 'something that is not JSON',
  'not-the-shape': 'JSON of a shape that these tools do not know',
  'too-large': 'more than these tools take in one answer',
} as const;

const NOT_FOUND = {
  user: ['the relay has no user with this id', 'look the user up with find_user.'],
  account: ['the relay has no account with this id', 'list accounts with read and path "accounts".'],
  thing: [
    'the relay has nothing at this path, or the feature is switched off there',
    'check the id, or pick another route from describe.',
  ],
} as const;

/** The one place in which a failure gets its words. Only our own templates, numbers and codes are in them. */
export const errorTextFor = (detail: RelayErrorDetail): ErrorText => {
  switch (detail.kind) {
    case 'invalid-argument':
      return words('INVALID_ARGUMENT', detail.what, detail.next ?? 'correct the argument and call again.');
    case 'read-only':
      return words(
        'READ_ONLY',
        'this server runs in read-only mode, which has no tool that changes anything',
        'tell the operator that RELAY_READ_ONLY is set.',
      );
    case 'no-admin-key':
      return words(
        'NO_ADMIN_KEY',
        detail.isMalformed
          ? 'RELAY_ADMIN_API_KEY is not of the form admin- and 64 lower-case hexadecimal digits'
          : 'RELAY_ADMIN_API_KEY is not set',
        'ask the operator to set the key and restart this server; describe, health and model_control_options work without it.',
      );
    case 'route-not-allowed':
      return words(
        'ROUTE_NOT_ALLOWED',
        'this path is not on the allow-list, and no request was sent',
        'pick a route that describe lists.',
      );
    case 'not-found': {
      const [what, next] = NOT_FOUND[detail.what];
      return words('NOT_FOUND', what, next);
    }
    case 'no-such-user':
      return words(
        'NOT_FOUND',
        'no user has exactly this e-mail',
        'ask for the right e-mail and call find_user again.',
      );
    case 'ambiguous-user':
      return words(
        'AMBIGUOUS_USER',
        `${detail.ids.length} users have this e-mail when case and blanks are ignored: ${idsIn(detail.ids)}`,
        'ask the operator which id is meant.',
      );
    case 'too-many-users':
      return words(
        'TOO_MANY_USERS',
        `more than ${detail.limit} users match, too many to be sure of one`,
        'ask the operator for the user id.',
      );
    case 'list-moved':
      return words('LIST_MOVED', 'the list of users changed while it was read', 'call find_user again.', {
        retry: 'same_call',
      });
    case 'amount-over-limit':
      return words(
        'AMOUNT_OVER_LIMIT',
        `${detail.amount} is above the limit of ${detail.limit} for one recharge`,
        `ask for an amount of at most ${detail.limit} and call preview_recharge.`,
      );
    case 'token-unknown':
      return words(
        'CONFIRM_TOKEN_UNKNOWN',
        'this preview_token was not made by this server for this relay, or was altered',
        'when a recharge with this preview was tried before, repeat that call with its very preview_token and idempotency_key; otherwise call preview_recharge.',
      );
    case 'token-expired':
      return words(
        'CONFIRM_TOKEN_EXPIRED',
        'this preview_token is older than 5 minutes',
        'call preview_recharge again and confirm the new preview.',
      );
    case 'preview-stale':
      return words(
        'PREVIEW_STALE',
        `${STALE[detail.what]} since the preview`,
        'call preview_recharge again and confirm the new preview.',
      );
    case 'idempotency-conflict':
      return words(
        'IDEMPOTENCY_CONFLICT',
        `${CONFLICTS[detail.why]}; this call changed nothing, but the earlier one may have been credited`,
        'look for the reference in the balance history of the user with read before anything else.',
        { reference: detail.reference },
      );
    case 'recharge-refused':
      return words(
        'RECHARGE_REFUSED',
        detail.status === 0
          ? 'no connection to the relay could be made, so nothing was credited'
          : `the relay refused the recharge with status ${detail.status} and credited nothing`,
        refusedNext(detail.status),
        { reference: detail.reference },
      );
    case 'recharge-not-sent':
      return words(
        'RECHARGE_NOT_SENT',
        'the call was cancelled, its time was over or another recharge of this user came first, so this one was not sent, and its preview_token is used up',
        'when it is still wanted, call preview_recharge and confirm anew with a new idempotency_key.',
        { reference: detail.reference },
      );
    case 'unresolved-recharge':
      return words(
        'UNRESOLVED_RECHARGE',
        'an earlier recharge of this user was sent and its outcome is not known yet',
        'look for the reference in the balance history of the user with read.',
        { retry: `after_${secondsOf(detail.retryAfterMs)}s`, reference: detail.reference },
      );
    case 'not-as-expected':
      return words(
        'NOT_AS_EXPECTED',
        `the value now differs from the expected one: ${detail.fields.join(', ')}`,
        'read the current value and decide again.',
      );
    case 'change-unknown':
      return words(
        'OUTCOME_UNKNOWN',
        'the change was sent and the relay gave no usable answer',
        'read the current value before anything else.',
        { outcome: 'unknown' },
      );
    case 'change-refused':
      return words(
        'CHANGE_REFUSED',
        `the relay refused the change with status ${detail.status}`,
        'read the current value and decide again.',
      );
    case 'busy':
      return words(
        'BUSY',
        'too much is under way for this user or this server',
        'wait until the calls under way are answered.',
        { retry: 'after_10s' },
      );
    case 'journal-unavailable':
      return words(
        'JOURNAL_UNAVAILABLE',
        `the journal cannot be read or written (${detail.why}), and without it nothing is sent`,
        'ask the operator to look at RELAY_JOURNAL.',
        detail.outcome === undefined ? {} : { outcome: detail.outcome },
      );
    case 'upstream-auth':
      return words(
        'UPSTREAM_AUTH',
        'the relay refused the admin key; a newly generated key ends the old one at once',
        'ask the operator to set the current key and restart this server.',
      );
    case 'terms-not-accepted':
      return words(
        'TERMS_NOT_ACCEPTED',
        'the relay wants its terms accepted by a person before it answers any admin call',
        'ask an administrator to accept them in the relay web interface; no tool can do it.',
      );
    case 'upstream-refused':
      return words(
        'UPSTREAM_REFUSED',
        `the relay refused the request with status ${detail.status}`,
        'check the arguments against describe.',
      );
    case 'upstream-rate-limit':
      return words('UPSTREAM_RATE_LIMIT', 'the relay limits the rate of admin calls', 'wait, then call again.', {
        retry: `after_${secondsOf(detail.retryAfterMs)}s`,
      });
    case 'upstream-unavailable':
      return words('UPSTREAM_UNAVAILABLE', `the relay could not be asked (${detail.why})`, 'call health.', {
        retry: `after_${secondsOf(detail.retryAfterMs ?? 10_000)}s`,
      });
    case 'upstream-redirect':
      return words(
        'UPSTREAM_REDIRECT',
        'the relay answered with a redirect, which is never followed',
        'ask the operator whether RELAY_BASE_URL is the address of the relay itself.',
      );
    case 'upstream-contract':
      return words(
        'UPSTREAM_CONTRACT',
        `the relay answered with ${CONTRACTS[detail.why]}`,
        detail.why === 'too-large'
          ? 'ask for less with page_size or a narrower route.'
          : 'call health, then ask the operator which version the relay has.',
      );
    case 'deadline':
      return words('DEADLINE', 'the time for this call is over', 'call health, then call again.', {
        retry: 'same_call',
      });
    case 'cancelled':
      return words('CANCELLED', 'the call was cancelled before anything was sent', 'call again when it is wanted.', {
        retry: 'same_call',
      });
    case 'bug':
      return words(
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

const refusedNext = (status: number): string => {
  if (status === 401 || status === 403) return 'ask the operator to set the current admin key and restart this server.';
  if (status === 423) return 'ask an administrator to accept the relay terms in its web interface; no tool can do it.';
  return 'when it is still wanted, call preview_recharge and confirm anew with a new idempotency_key.';
};

/** One line for a model. The code comes first, because some clients show nothing but the beginning. */
export const formatErrorText = ({ code, what, outcome, retry, next, reference }: ErrorText): string =>
  `${code}: ${what}. outcome=${outcome} retry=${retry}. Next: ${next}${reference === undefined ? '' : ` ref=${reference}`}`;
