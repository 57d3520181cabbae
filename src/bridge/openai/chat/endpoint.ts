import type { Clock } from '../../../core/clock.ts';
import type { ClientAnswer } from '../../turn/answers.ts';
import type { Endpoint } from '../endpoint.ts';
import { type ParsedChatRequest, parseChatRequest } from './request.ts';
import { chatAnswer } from './response.ts';
import { chatChunks, emptyChunk, type StreamFacts } from './stream.ts';

export type ChatFaceNeeds = {
  readonly clock: Clock;
  readonly newToken: () => string;
  readonly showsTools: boolean;
};

/** `POST /v1/chat/completions`. */
export const chatFace = ({ clock, newToken, showsTools }: ChatFaceNeeds): Endpoint<ParsedChatRequest> => {
  const known = new WeakMap<ClientAnswer, StreamFacts>();
  /** The same for all that is made of one answer: chunks that only keep a stream awake belong to it too. */
  const factsOf = ({ model, includeUsage }: ParsedChatRequest, answer: ClientAnswer): StreamFacts => {
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
    endpoint: 'chat',
    read: parseChatRequest,
    whole: (sayings, asked, answer) => chatAnswer(sayings, factsOf(asked, answer)),
    async *events(sayings, asked, answer) {
      for await (const data of chatChunks(sayings, factsOf(asked, answer))) yield { data };
    },
    emptyEvent: (asked, answer) => ({ data: emptyChunk(factsOf(asked, answer)) }),
  };
};
