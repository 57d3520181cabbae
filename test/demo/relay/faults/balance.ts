import type { Clock } from '../../../../src/core/clock.ts';
import { invalid } from '../../../../src/demo/relay/envelope.ts';
import { backingOff, conflict, inProgress } from '../../../../src/demo/relay/idempotency.ts';
import type { BalanceHooks } from '../../../../src/demo/relay/interceptor.ts';
import type { BalanceFault } from './names.ts';
import { type FaultResponses, type FaultSettings, pause } from './responses.ts';

type Needs = {
  readonly clock: Clock;
  readonly settings: FaultSettings;
  readonly responses: FaultResponses;
  /** Takes the credit that was just made off the balance, as usage does. */
  readonly spendCredit: () => void;
  /** Lets the next read of the user who was just credited fail. */
  readonly hideUser: () => void;
};

/** The reply before the platform does anything; undefined where nothing is wrong yet. */
const replyBefore = (
  responses: FaultResponses,
  fault: BalanceFault,
  request: Request,
): Response | Promise<Response> | undefined => {
  switch (fault) {
    case 'drop-before':
      return responses.drop(request);
    case 'stuck-before':
      return responses.never(request);
    case 'unavailable-before':
      return responses.storeUnavailable();
    case 'bad-gateway-before':
      return responses.badGateway();
    case 'html-before':
      return responses.html();
    case 'redirect':
      return responses.redirect(307);
    case 'rate-limited':
      return responses.rateLimited();
    case 'unauthorized':
      return responses.unauthorized();
    case 'terms':
      return responses.terms();
    case 'echo-key-500':
      return responses.echo(500, request);
    case 'conflict':
      return conflict();
    case 'in-progress':
      return inProgress();
    case 'backoff':
      return backingOff();
    default:
      return undefined;
  }
};

/** What replaces the response once the credit is made and its key is completed: a replayed response is lost too. */
const damagedReply = (responses: FaultResponses, fault: BalanceFault, request: Request): Response | undefined => {
  switch (fault) {
    case 'drop-after':
      return responses.drop(request);
    case 'html-after':
      return responses.html();
    case 'garbage-after':
      return responses.garbage();
    case 'wrong-shape-after':
      return responses.wrongShape();
    case 'misdirected-after':
      return responses.misdirected();
    case 'bad-gateway-after':
      return responses.badGateway();
    case 'huge-after':
      return responses.huge();
    case 'refused-after':
    case 'refused-without-history':
    case 'refused-and-user-unreadable':
    case 'refused-and-spent':
      return invalid('balance failed on its tag');
    default:
      return undefined;
  }
};

const WITHOUT_HISTORY: ReadonlySet<BalanceFault> = new Set([
  'no-history',
  'refused-without-history',
  'refused-and-user-unreadable',
  'refused-and-spent',
  'late-without-history',
]);

/** The steps of a balance change with this fault. */
export const createBalanceHooks = (
  { clock, settings, responses, spendCredit, hideUser }: Needs,
  fault: BalanceFault,
  request: Request,
): BalanceHooks => ({
  before: () => replyBefore(responses, fault, request),
  async beforeCredit() {
    // A slow link behind the platform: the credit is made whether or not the caller still waits for it.
    if (fault === 'late' || fault === 'late-without-history')
      await pause(clock, settings.delayMs, new AbortController().signal);
  },
  hasHistory: !WITHOUT_HISTORY.has(fault),
  async afterCredit(run) {
    if (fault === 'refused-and-spent') spendCredit();
    if (fault === 'refused-and-user-unreadable') hideUser();
    // In these the key is never completed: it stays in progress for a day.
    if (fault === 'stuck' || fault === 'late-without-history') return responses.never(request);
    if (fault === 'unavailable-after') return responses.storeUnavailable();
    if (fault === 'error-after') {
      run.fail();
      return responses.internal();
    }
    // A caller who disconnects cancels the platform's work, the note about the key included.
    if (fault === 'slow' && !(await pause(clock, settings.delayMs, request.signal))) return responses.never(request);
    return undefined;
  },
  beforeResponse: () => damagedReply(responses, fault, request),
});
