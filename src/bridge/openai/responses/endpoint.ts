import type { Clock } from '../../../core/clock.ts';
import type { ClientAnswer } from '../../turn/answers.ts';
import type { Endpoint } from '../endpoint.ts';
import { type ParsedResponsesRequest, parseResponsesRequest } from './request.ts';
import { responseAnswer } from './response.ts';
import { responseEvents } from './stream.ts';

/** `POST /v1/responses`. */
export const responsesFace = ({ clock }: { readonly clock: Clock }): Endpoint<ParsedResponsesRequest> => {
  const nowSeconds = () => Math.floor(clock.now() / 1000);
  const startOf = ({ model, echo }: ParsedResponsesRequest, answer: ClientAnswer) => ({
    responseID: answer.responseID,
    model: model ?? answer.model,
    echo,
    nowSeconds,
  });
  return {
    endpoint: 'responses',
    read: parseResponsesRequest,
    whole: (sayings, asked, answer) => responseAnswer(sayings, startOf(asked, answer)),
    events: (sayings, asked, answer) => responseEvents(sayings, startOf(asked, answer)),
    // Every event of a response has a meaning, so a comment it is.
    emptyEvent: () => undefined,
  };
};
