import { Fault } from '../../../core/fault.ts';
import type { Handler } from '../../../core/http/handler.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import type { GatewayFault } from '../../errors.ts';
import type { GatewayMetrics } from '../../metrics.ts';
import { reasonOf } from '../no-verdict.ts';
import type { VerdictRoute } from '../observer.ts';
import { createGuardrail, type GuardrailNeeds } from './guardrail.ts';
import { createLitellmRoute, LITELLM_PATH, litellmFailure } from './litellm.ts';
import { createPortkeyRoute, PORTKEY_PATH, portkeyFailure } from './portkey.ts';

/** The answer to a failure in place of its error; undefined where the error is the answer. */
type AnswerFailure = (detail: GatewayFault | undefined) => Response | undefined;

type Integrations = {
  readonly routes: RouteTable;
  readonly answerFailure: (request: Request, error: unknown) => Response | undefined;
};

type IntegrationsNeeds = GuardrailNeeds & {
  readonly metrics: Pick<GatewayMetrics, 'flaggedWithoutVerdict'>;
  /** Wraps a route, so that its failures and its time are known where somebody wants to know. */
  readonly watched: (route: VerdictRoute) => Handler;
};

/** Creates the routes for products that ask a guardrail by a contract of their own, and the answers to their failures. */
export const createIntegrations = (needs: IntegrationsNeeds): Integrations => {
  const ask = createGuardrail(needs);
  const failures = new WeakMap<Request, AnswerFailure>();
  const failingBy = (answerFailure: AnswerFailure, route: VerdictRoute) => {
    const watched = needs.watched(route);
    return {
      POST(request: Request): Promise<Response> {
        failures.set(request, answerFailure);
        return watched(request);
      },
    };
  };
  const answerPortkey: AnswerFailure = (detail) => {
    if (detail?.kind === 'client-left') return undefined;
    const reason = detail === undefined ? 'internal_error' : reasonOf(detail);
    needs.metrics.flaggedWithoutVerdict(reason);
    return portkeyFailure(reason);
  };
  return {
    routes: {
      [LITELLM_PATH]: failingBy(litellmFailure, createLitellmRoute(ask)),
      [PORTKEY_PATH]: failingBy(answerPortkey, createPortkeyRoute(ask)),
    },
    answerFailure: (request, error) => failures.get(request)?.(error instanceof Fault ? error.detail : undefined),
  };
};
