import type { ClientAnswer } from '../../answer/client-answer.ts';
import { customNamesIn } from '../client-tools.ts';
import type { Endpoint } from '../endpoint.ts';
import { type ParsedChatRequest, parseChatRequest } from './request.ts';
import { createChatCompletion } from './response.ts';
import { type ChatStreamHeader, createChatEncoder } from './stream.ts';

/** `POST /v1/chat/completions`. `showsTools`: streams show the calls of the agent's tools. */
export const createChatEndpoint = ({ showsTools }: { readonly showsTools: boolean }): Endpoint<ParsedChatRequest> => {
  const headerOf = (
    { model, includeUsage, clientTools }: ParsedChatRequest,
    answer: ClientAnswer,
  ): ChatStreamHeader => ({
    id: `chatcmpl-${answer.answerID}`,
    model: model ?? answer.model,
    createdSeconds: answer.createdSeconds,
    fingerprint: answer.fingerprint,
    includeUsage,
    showsTools,
    custom: customNamesIn(clientTools),
  });
  return {
    name: 'chat',
    effortMember: 'reasoning_effort',
    parse: parseChatRequest,
    toBody: (output, request, answer) => createChatCompletion(output, headerOf(request, answer)),
    createEncoder: (request, answer) => createChatEncoder(headerOf(request, answer)),
  };
};
