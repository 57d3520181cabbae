import type { ClientAnswer } from '../../turn/answers.ts';
import type { Endpoint } from '../endpoint.ts';
import { type ParsedChatRequest, parseChatRequest } from './request.ts';
import { createChatCompletion } from './response.ts';
import { type ChatStreamHeader, createChatEncoder } from './stream.ts';

/** `POST /v1/chat/completions`. `showsTools`: streams show the calls of the agent's tools. */
export const createChatEndpoint = ({ showsTools }: { readonly showsTools: boolean }): Endpoint<ParsedChatRequest> => {
  const headerOf = ({ model, includeUsage }: ParsedChatRequest, answer: ClientAnswer): ChatStreamHeader => ({
    id: `chatcmpl-${answer.token}`,
    model: model ?? answer.model,
    createdSeconds: answer.createdSeconds,
    fingerprint: answer.fingerprint,
    includeUsage,
    showsTools,
  });
  return {
    name: 'chat',
    effortMember: 'reasoning_effort',
    parse: parseChatRequest,
    toBody: (output, request, answer) => createChatCompletion(output, headerOf(request, answer)),
    createEncoder: (request, answer) => createChatEncoder(headerOf(request, answer)),
  };
};
