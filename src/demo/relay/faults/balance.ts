import { backingOff, conflict, inProgress } from '../idempotency.ts';
import type { BalanceFault } from './names.ts';
import type { Trouble } from './responses.ts';

/** What a request gets before the platform does anything about it; undefined where nothing is wrong yet. */
export const earlyReply = (
  trouble: Trouble,
  fault: BalanceFault | undefined,
  request: Request,
): Response | Promise<Response> | undefined => {
  switch (fault) {
    case 'drop-before':
      return trouble.drop(request);
    case 'stuck-before':
      return trouble.never(request);
    case 'unavailable-before':
      return trouble.storeUnavailable();
    case 'bad-gateway-before':
      return trouble.badGateway();
    case 'html-before':
      return trouble.html();
    case 'redirect':
      return trouble.redirect(307);
    case 'rate-limited':
      return trouble.rateLimited();
    case 'unauthorized':
      return trouble.unauthorized();
    case 'terms':
      return trouble.terms();
    case 'echo-key-500':
      return trouble.echo(500, request);
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

/** What takes an answer's place once the credit is made and its key is told so: a repeated answer is lost too. */
export const damagedReply = (
  trouble: Trouble,
  fault: BalanceFault | undefined,
  request: Request,
): Response | undefined => {
  switch (fault) {
    case 'drop-after':
      return trouble.drop(request);
    case 'html-after':
      return trouble.html();
    case 'garbage-after':
      return trouble.garbage();
    case 'wrong-shape-after':
      return trouble.wrongShape();
    case 'misdirected-after':
      return trouble.misdirected();
    case 'bad-gateway-after':
      return trouble.badGateway();
    case 'huge-after':
      return trouble.huge();
    default:
      return undefined;
  }
};
