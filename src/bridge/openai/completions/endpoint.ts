import type { ClientAnswer } from '../../answer/client-answer.ts';
import type { ParsedChatRequest } from '../chat/request.ts';
import type { Endpoint } from '../endpoint.ts';
import { parseCompletionRequest } from './request.ts';
import { createCompletion } from './response.ts';
import { createCompletionEncoder } from './stream.ts';

const headerOf = ({ model, includeUsage }: ParsedChatRequest, answer: ClientAnswer) => ({
  id: `cmpl-${answer.answerID}`,
  model: model ?? answer.model,
  createdSeconds: answer.createdSeconds,
  fingerprint: answer.fingerprint,
  includeUsage,
});

/** `POST /v1/completions`, for clients that still send it: a chat of one message, answered with text alone. */
export const completionsEndpoint: Endpoint<ParsedChatRequest> = {
  name: 'completions',
  effortMember: 'reasoning_effort',
  parse: parseCompletionRequest,
  toBody: (output, request, answer) => createCompletion(output, headerOf(request, answer)),
  createEncoder: (request, answer) => createCompletionEncoder(headerOf(request, answer)),
};
