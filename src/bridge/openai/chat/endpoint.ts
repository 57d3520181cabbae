import type { Clock } from '../../../core/clock.ts';
import type { ClientAnswer } from '../../turn/answers.ts';
import type { Endpoint } from '../endpoint.ts';
import { type ParsedChatRequest, parseChatRequest } from './request.ts';
import { createChatCompletion } from './response.ts';
import { type ChatStreamHeader, emptyChunk, streamChatChunks } from './stream.ts';

type ChatEndpointOptions = {
  readonly clock: Clock;
  readonly newToken: () => string;
  readonly showsTools: boolean;
};

/** `POST /v1/chat/completions`. */
export const createChatEndpoint = ({
  clock,
  newToken,
  showsTools,
}: ChatEndpointOptions): Endpoint<ParsedChatRequest> => {
  const known = new WeakMap<ClientAnswer, ChatStreamHeader>();
  /** The same for all that is made of one answer: chunks that only keep a stream awake belong to it too. */
  const headerOf = ({ model, includeUsage }: ParsedChatRequest, answer: ClientAnswer): ChatStreamHeader => {
    const header = known.get(answer) ?? {
      id: `chatcmpl-${newToken()}`,
      model: model ?? answer.model,
      createdSeconds: Math.floor(clock.now() / 1000),
      includeUsage,
      showsTools,
    };
    known.set(answer, header);
    return header;
  };
  return {
    name: 'chat',
    parse: parseChatRequest,
    toBody: (output, request, answer) => createChatCompletion(output, headerOf(request, answer)),
    async *toEvents(output, request, answer) {
      for await (const data of streamChatChunks(output, headerOf(request, answer))) yield { data };
    },
    emptyEvent: (request, answer) => ({ data: emptyChunk(headerOf(request, answer)) }),
  };
};
