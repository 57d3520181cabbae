import { Fault } from '../../../core/fault.ts';
import { AnsweredFailure, type Handler } from '../../../core/http/handler.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import type { GatewayFault } from '../../errors.ts';
import { reasonOf } from '../no-verdict.ts';
import type { VerdictRoute } from '../observer.ts';
import type { RouteParts } from '../parts.ts';
import { createGuardrail } from './guardrail.ts';
import { createLitellmRoute, LITELLM_PATH, litellmFailure } from './litellm.ts';
import { createPortkeyRoute, PORTKEY_PATH, portkeyFailure } from './portkey.ts';

/** The answer to a failure in place of its error; undefined where the error is the answer. */
type AnswerFailure = (detail: GatewayFault | undefined) => Response | undefined;

const failingBy =
  (route: Handler, answerFailure: AnswerFailure): Handler =>
  async (request) => {
    try {
      return await route(request);
    } catch (error) {
      const answer = answerFailure(error instanceof Fault ? error.detail : undefined);
      throw answer === undefined ? error : new AnsweredFailure(error, answer);
    }
  };

/** Creates the routes for products that ask a guardrail by a contract of their own. `watched` wraps each route, so that its verdicts are published. */
export const createIntegrations = (parts: RouteParts, watched: (route: VerdictRoute) => Handler): RouteTable => {
  const ask = createGuardrail(parts);
  const answerPortkey: AnswerFailure = (detail) => {
    if (detail?.kind === 'client-left') return undefined;
    const reason = detail === undefined ? 'internal_error' : reasonOf(detail);
    parts.metrics.flaggedWithoutVerdict(reason);
    return portkeyFailure(reason);
  };
  return {
    [LITELLM_PATH]: { POST: failingBy(watched(createLitellmRoute(ask)), litellmFailure) },
    [PORTKEY_PATH]: { POST: failingBy(watched(createPortkeyRoute(ask)), answerPortkey) },
  };
};
