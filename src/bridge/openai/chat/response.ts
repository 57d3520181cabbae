import { missingEndError, toFault } from '../../answer/failure.ts';
import { type AnswerEnd, createParagraphJoiner, type OutputEvent, type Usage } from '../../output.ts';
import { customInput } from '../client-tools.ts';

/** Members that a body and every chunk of its stream have in common. */
export type ChatAnswerHeader = {
  readonly id: string;
  /** As the client named it. */
  readonly model: string;
  readonly createdSeconds: number;
  /** Of what has answered: `system_fingerprint`. */
  readonly fingerprint: string;
  /** The names of the client's custom tools. */
  readonly custom?: ReadonlySet<string>;
};

/** How a request was processed, in OpenAI's words: whichever tier is wished for, here is one. */
export const SERVICE_TIER = 'default' as const;

/** The first members of a body, and of every chunk of its stream. `object` says which of them it is. */
export const openingMembers = <Kind extends string>(
  { id, model, createdSeconds, fingerprint }: ChatAnswerHeader,
  object: Kind,
) => ({ id, object, created: createdSeconds, model, service_tier: SERVICE_TIER, system_fingerprint: fingerprint });

/** The token usage in the form of chat completions. */
export const toChatUsage = ({ prompt, cached, cacheWritten, completion, reasoning }: Usage) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWritten },
  completion_tokens_details: { reasoning_tokens: reasoning },
});

/** The member `gatehouse` of an answer that ends with approval requests; no member otherwise. */
export const approvalsMember = ({ approvalRequests }: AnswerEnd) =>
  approvalRequests.length === 0
    ? {}
    : { gatehouse: { approvals: approvalRequests.map(({ id, tool, input }) => ({ id, tool, input })) } };

/** A call that the client has to make. One that the agent does not wait for is the only one in its answer, and known by that. */
export const toToolCall = (
  header: Pick<ChatAnswerHeader, 'id' | 'custom'>,
  { id = `call_${header.id.replace(/^chatcmpl-/, '')}`, name, input }: Extract<OutputEvent, { kind: 'client-call' }>,
) =>
  header.custom?.has(name)
    ? { id, type: 'custom' as const, custom: { name, input: customInput(input) } }
    : { id, type: 'function' as const, function: { name, arguments: input } };
type ToolCall = ReturnType<typeof toToolCall>;

type CollectedOutput = {
  readonly content: string;
  readonly reasoning: string;
  readonly refusal: string | null;
  readonly calls: readonly ToolCall[];
  readonly end: AnswerEnd;
};

const collectOutput = async (
  output: AsyncIterable<OutputEvent>,
  header: ChatAnswerHeader,
): Promise<CollectedOutput> => {
  const beforeText = createParagraphJoiner();
  const beforeReasoning = createParagraphJoiner();
  let content = '';
  let reasoning = '';
  let refusal: string | null = null;
  const calls: ToolCall[] = [];
  for await (const event of output) {
    if (event.kind === 'text') content += beforeText(event.id) + event.text;
    else if (event.kind === 'reasoning') reasoning += beforeReasoning(event.id) + event.text;
    else if (event.kind === 'refusal') refusal = event.text;
    else if (event.kind === 'client-call') calls.push(toToolCall(header, event));
    else if (event.kind === 'failure') throw toFault(event.failure);
    else if (event.kind === 'end') return { content, reasoning, refusal, calls, end: event.end };
  }
  throw missingEndError();
};

/** The body of an answer that is not streamed. Throws the fault of an answer that failed. */
export const createChatCompletion = async (output: AsyncIterable<OutputEvent>, header: ChatAnswerHeader) => {
  const { content, reasoning, refusal, calls, end } = await collectOutput(output, header);
  return {
    ...openingMembers(header, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant' as const,
          content: refusal !== null || (calls.length > 0 && content === '') ? null : content,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
          ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
          refusal,
          annotations: [],
        },
        logprobs: null,
        finish_reason: calls.length === 0 ? end.finish : ('tool_calls' as const),
      },
    ],
    usage: toChatUsage(end.usage),
    ...approvalsMember(end),
  };
};
