import type { Clock } from '../../../core/clock.ts';
import type { ClientAnswer } from '../../turn/answers.ts';
import type { Endpoint } from '../endpoint.ts';
import { type ParsedChatRequest, parseChatRequest } from './request.ts';
import { createChatCompletion } from './response.ts';
import { type ChatStreamHeader, emptyChunk, streamChatChunks } from './stream.ts';

export type ChatFaceNeeds = {
  readonly clock: Clock;
  readonly newToken: () => string;
  readonly showsTools: boolean;
};

/** `POST /v1/chat/completions`. */
export const createChatEndpoint = ({ clock, newToken, showsTools }: ChatFaceNeeds): Endpoint<ParsedChatRequest> => {
  const known = new WeakMap<ClientAnswer, ChatStreamHeader>();
  /** The same for all that is made of one answer: chunks that only keep a stream awake belong to it too. */
  const factsOf = ({ model, includeUsage }: ParsedChatRequest, answer: ClientAnswer): ChatStreamHeader => {
    const facts = known.get(answer) ?? {
      id: `chatcmpl-${newToken()}`,
      model: model ?? answer.model,
      createdSeconds: Math.floor(clock.now() / 1000),
      includeUsage,
      showsTools,
    };
    known.set(answer, facts);
    return facts;
  };
  return {
    name: 'chat',
    parse: parseChatRequest,
    toBody: (sayings, asked, answer) => createChatCompletion(sayings, factsOf(asked, answer)),
    async *toEvents(sayings, asked, answer) {
      for await (const data of streamChatChunks(sayings, factsOf(asked, answer))) yield { data };
    },
    emptyEvent: (asked, answer) => ({ data: emptyChunk(factsOf(asked, answer)) }),
  };
};
