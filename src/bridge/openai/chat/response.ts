import { type AnswerEnd, createParagraphJoiner, type OutputEvent, type Usage } from '../../output.ts';
import { missingEndError, toFault } from '../../turn/failure.ts';

/** What every answer to one request says of itself. */
export type ChatAnswerHeader = {
  readonly id: string;
  /** As the client asked for it. */
  readonly model: string;
  readonly createdSeconds: number;
};

/** What an exchange cost, as chat completions tell it. */
export const chatUsage = ({ prompt, cached, completion, reasoning }: Usage) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
});

/** The member of ours that an answer has when it ends with questions; nothing otherwise. */
export const approvalsIn = ({ approvalRequests: asks }: AnswerEnd) =>
  asks.length === 0 ? {} : { gatehouse: { approvals: asks.map(({ id, tool, input }) => ({ id, tool, input })) } };

type Told = { readonly content: string; readonly reasoning: string; readonly end: AnswerEnd };

const toldBy = async (sayings: AsyncIterable<OutputEvent>): Promise<Told> => {
  const beforeText = createParagraphJoiner();
  const beforeReasoning = createParagraphJoiner();
  let content = '';
  let reasoning = '';
  for await (const saying of sayings) {
    if (saying.kind === 'text') content += beforeText(saying.id) + saying.text;
    else if (saying.kind === 'reasoning') reasoning += beforeReasoning(saying.id) + saying.text;
    else if (saying.kind === 'failure') throw toFault(saying.failure);
    else if (saying.kind === 'end') return { content, reasoning, end: saying.end };
  }
  throw missingEndError();
};

/** The body of an answer in one piece. A failure is thrown, as the fault it is answered with. */
export const chatAnswer = async (
  sayings: AsyncIterable<OutputEvent>,
  { id, model, createdSeconds }: ChatAnswerHeader,
) => {
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
