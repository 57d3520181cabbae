import type { FaultDetail } from '../../core/fault.ts';
import type { ErrorResponses } from '../../core/http/handler.ts';
import { errorResponse, internalErrorResponse } from '../../core/http/response.ts';

/** Faults in the words of a bridge. Where the house's own words fit they are kept. */
const inOurWords = (detail: FaultDetail): FaultDetail => {
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
export const BRIDGE_REPLIES: ErrorResponses = {
  forFault: (detail) => errorResponse(inOurWords(detail)),
  forBug: internalErrorResponse,
};
