import type { OutputEvent } from '../../output.ts';
import { type ChatAnswerHeader, createChatCompletion } from '../chat/response.ts';

/** The body of an answer that is not streamed: its text alone. Throws the fault of an answer that failed. */
export const createCompletion = async (output: AsyncIterable<OutputEvent>, header: ChatAnswerHeader) => {
  const { choices, ...answer } = await createChatCompletion(output, header);
  return {
    ...answer,
    object: 'text_completion' as const,
    choices: choices.map(({ index, message, finish_reason }) => ({
      index,
      text: message.content ?? '',
      logprobs: null,
      finish_reason,
    })),
  };
};
