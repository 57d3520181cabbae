import { faultOf, unended } from '../../answer-fault.ts';
import { type AnswerFacts, approvalsIn, chatUsage } from '../../chat-members.ts';
import { createJoiner } from '../../joiner.ts';
import type { AnswerEnd, Saying } from '../../turn/output.ts';

type Told = { readonly content: string; readonly reasoning: string; readonly end: AnswerEnd };

const toldBy = async (sayings: AsyncIterable<Saying>): Promise<Told> => {
  const beforeText = createJoiner();
  const beforeReasoning = createJoiner();
  let content = '';
  let reasoning = '';
  for await (const saying of sayings) {
    if (saying.kind === 'text') content += beforeText(saying.id) + saying.text;
    else if (saying.kind === 'reasoning') reasoning += beforeReasoning(saying.id) + saying.text;
    else if (saying.kind === 'failure') throw faultOf(saying.failure);
    else if (saying.kind === 'end') return { content, reasoning, end: saying.end };
  }
  throw unended();
};

/** The body of an answer in one piece. A failure is thrown, as the fault it is answered with. */
export const chatAnswer = async (sayings: AsyncIterable<Saying>, { id, model, createdSeconds }: AnswerFacts) => {
  const { content, reasoning, end } = await toldBy(sayings);
  return {
    id,
    object: 'chat.completion' as const,
    created: createdSeconds,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant' as const,
          content,
          ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
          refusal: null,
          annotations: [],
        },
        logprobs: null,
        finish_reason: end.finish,
      },
    ],
    usage: chatUsage(end.usage),
    ...approvalsIn(end),
  };
};
