import type { Clock } from '../../../core/clock.ts';
import type { RunInSlices } from '../../../core/time-slices.ts';
import type { ClientAnswer } from '../../turn/answers.ts';
import type { Endpoint } from '../endpoint.ts';
import { type ParsedResponsesRequest, parseResponsesRequest } from './request.ts';
import { createResponse } from './response.ts';
import { streamResponse } from './stream.ts';

/** `POST /v1/responses`. */
export const createResponsesEndpoint = ({
  clock,
  runInSlices,
}: {
  readonly clock: Clock;
  readonly runInSlices: RunInSlices;
}): Endpoint<ParsedResponsesRequest> => {
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
    toBody: (output, request, answer) => createResponse(output, startOf(request, answer)),
    toEvents: (output, request, answer) => streamResponse(output, startOf(request, answer), runInSlices),
    // Every event of a response has a meaning, so a comment it is.
    emptyEvent: () => undefined,
  };
};
