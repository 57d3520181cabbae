import type { Clock } from '../../../core/clock.ts';
import type { ClientAnswer } from '../../answer/client-answer.ts';
import { customNamesIn } from '../client-tools.ts';
import type { Endpoint } from '../endpoint.ts';
import { type ParsedResponsesRequest, parseResponsesRequest } from './request.ts';
import { createResponse, type ResponseStart, toResponseObject } from './response.ts';
import { createResponseEncoder } from './stream.ts';

/** `POST /v1/responses`. */
export const createResponsesEndpoint = ({ clock }: { readonly clock: Clock }): Endpoint<ParsedResponsesRequest> => {
  const startOf = (
    { model, echo, clientTools }: ParsedResponsesRequest,
    { responseID, sessionID, ...answer }: ClientAnswer,
  ): ResponseStart => ({
    place: { responseID, sessionID, custom: customNamesIn(clientTools) },
    model: model ?? answer.model,
    echo,
    createdSeconds: answer.createdSeconds,
    nowSeconds: () => Math.floor(clock.now() / 1000),
  });
  return {
    name: 'responses',
    effortMember: 'reasoning.effort',
    parse: parseResponsesRequest,
    async toBody(output, request, answer) {
      // A text of the bridge is complete at once, and cannot be looked at later.
      const isRunning = request.echo.isBackground && answer.sessionID !== undefined;
      const start = startOf(request, answer);
      return isRunning ? toResponseObject(start, [], { status: 'in_progress' }) : createResponse(output, start);
    },
    createEncoder: (request, answer) => createResponseEncoder(startOf(request, answer)),
  };
};
