import type { FaultDetail } from '../core/fault.ts';
import type { Failure } from './turn/output.ts';

/** How a fault is told in a stream whose status was sent already. */
export const failureOf = (detail: FaultDetail): Failure => {
  switch (detail.kind) {
    case 'agent-failed':
      return { status: detail.status, code: detail.code, message: detail.message };
    case 'unavailable':
      return { status: 503, code: 'unavailable', message: detail.message };
    case 'backend-error':
      return {
        status: 502,
        code: 'agent_unreachable',
        message: `The agent server could not be reached: ${detail.reason}`,
      };
    case 'backend-timeout':
      return { status: 504, code: 'agent_timeout', message: 'The agent server did not answer in time' };
    case 'rate-limited':
    case 'overloaded':
      return { status: 429, code: 'rate_limit_exceeded', message: 'Too much is under way in this conversation' };
    case 'bad-input':
      return { status: 400, code: detail.code, message: detail.message };
    case 'not-found':
      return { status: 404, code: 'not_found', message: detail.hint };
    default:
      return { status: 500, code: 'internal_error', message: 'The bridge failed' };
  }
};
