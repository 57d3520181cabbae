import { toFault } from '../../answer/failure.ts';
import { createParagraphJoiner } from '../../output.ts';
import { approvalsMember, type ChatAnswerHeader, openingMembers, toChatUsage } from '../chat/response.ts';
import { errorEvents } from '../chat/stream.ts';
import type { StreamEncoder } from '../stream-encoder.ts';

type CompletionStreamHeader = ChatAnswerHeader & { readonly includeUsage: boolean };

/**
 * Encodes a streamed completion: the answer's text alone. A failure is the last event, without a `[DONE]`, as in a chat.
 */
export const createCompletionEncoder = (header: CompletionStreamHeader): StreamEncoder => {
  const { includeUsage } = header;
  const opening = JSON.stringify(openingMembers(header, 'text_completion')).slice(0, -1);
  const beforeText = createParagraphJoiner();
  const chunk = (text: string, finish: string | null = null, more: object = {}) => {
    const choices = [{ index: 0, text, logprobs: null, finish_reason: finish }];
    const members = JSON.stringify({ choices, ...(includeUsage ? { usage: null } : {}), ...more });
    return { data: `${opening},${members.slice(1)}` };
  };
  return {
    first: async () => [],
    eventsFor(event) {
      switch (event.kind) {
        case 'text':
          return [chunk(beforeText(event.id) + event.text)];
        case 'end': {
          const usage = { data: `${opening},"choices":[],"usage":${JSON.stringify(toChatUsage(event.end.usage))}}` };
          const last = chunk('', event.end.finish, approvalsMember(event.end));
          return [last, ...(includeUsage ? [usage] : []), { data: '[DONE]' }];
        }
        case 'failure':
          throw toFault(event.failure);
        default:
          return [];
      }
    },
    errorEvents,
    empty: () => chunk(''),
  };
};
