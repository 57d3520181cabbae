import type { Clock } from '../../../core/clock.ts';
import type { ClientAnswer } from '../../turn/answers.ts';
import type { Endpoint } from '../endpoint.ts';
import { type ParsedResponsesRequest, parseResponsesRequest } from './request.ts';
import { createResponse, createStartedResponse } from './response.ts';
import { createResponseEncoder } from './stream.ts';

/** `POST /v1/responses`. */
export const createResponsesEndpoint = ({ clock }: { readonly clock: Clock }): Endpoint<ParsedResponsesRequest> => {
  const nowSeconds = () => Math.floor(clock.now() / 1000);
  const startOf = ({ model, echo }: ParsedResponsesRequest, answer: ClientAnswer) => ({
    responseID: answer.responseID,
    model: model ?? answer.model,
    echo,
    createdSeconds: answer.createdSeconds,
    nowSeconds,
  });
  return {
    name: 'responses',
    effortMember: 'reasoning.effort',
    parse: parseResponsesRequest,
    async toBody(output, request, answer) {
      // A text of the bridge is complete at once, and cannot be looked at later.
      const isRunning = request.echo.isBackground && !(await answer.isOfBridge());
      return isRunning
        ? createStartedResponse(startOf(request, answer))
        : createResponse(output, startOf(request, answer));
    },
    createEncoder: (request, answer, startingAfter) =>
      createResponseEncoder({ ...startOf(request, answer), startingAfter }),
  };
};
