import type { ErrorResponses } from '../../core/http/handler.ts';
import { internalErrorResponse } from '../../core/http/response.ts';
import { type BridgeFault, bridgeErrorResponse } from '../errors.ts';

/** A failure to reach the agent server under a code of its own. */
const withAgentCodes = (detail: BridgeFault): BridgeFault => {
  switch (detail.kind) {
    case 'backend-error':
      return {
        kind: 'agent-failed',
        status: 502,
        code: 'agent_unreachable',
        message: `The agent server could not be reached: ${detail.reason}`,
        isRetryable: true,
      };
    case 'backend-timeout':
      return {
        kind: 'agent-failed',
        status: 504,
        code: 'agent_timeout',
        message: 'The agent server did not answer in time',
        isRetryable: true,
      };
    default:
      return detail;
  }
};

/** How the bridge answers failures: in OpenAI's shape. */
export const BRIDGE_ERROR_RESPONSES = {
  forFault: (detail: BridgeFault) => bridgeErrorResponse(withAgentCodes(detail)),
  forBug: internalErrorResponse,
} satisfies ErrorResponses;
