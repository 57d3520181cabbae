import { type BridgeFault, bridgeErrorResponse } from '../../../../src/bridge/errors.ts';
import { type GatewayFault, gatewayErrorResponse } from '../../../../src/gateway/errors.ts';

/** The kinds that every service has, and those of the two that answer in this shape. */
export type FaultDetail = GatewayFault | BridgeFault;
/** The answer of a service to a fault of this kind. */
export const errorResponse = (detail: FaultDetail): Response =>
  // The gateway has a status of its own for a large body.
  detail.kind === 'agent-failed' || detail.kind === 'turn-refused' || detail.kind === 'body-too-large'
    ? bridgeErrorResponse(detail)
    : gatewayErrorResponse(detail);

/** The type of an error that the caller can mend. */
export const REFUSAL = 'invalid_request_error';
