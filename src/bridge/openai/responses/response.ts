import type { AnswerEnd, AnswerFailure, OutputEvent, Usage } from '../../output.ts';
import { missingEndError, toFault } from '../../turn/failure.ts';
import { approvalsIn } from '../chat/response.ts';
import { createOutputItems, type OutputItem } from './items.ts';

/** What a request said that its response says again. */
export type ResponseEcho = {
  readonly instructions: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly previousResponseID: string | null;
  readonly conversationID: string | null;
  readonly effort: string | null;
  readonly isKept: boolean;
};

/** For a response whose request is not known any more. */
export const NO_ECHO: ResponseEcho = {
  instructions: null,
  metadata: {},
  previousResponseID: null,
  conversationID: null,
  effort: null,
  isKept: true,
};

export type ResponseFacts = {
  readonly id: string;
  readonly model: string;
  readonly createdSeconds: number;
  readonly echo: ResponseEcho;
};

/** How far a response has come. */
export type ResponseState =
  | { readonly kind: 'going'; readonly output: readonly OutputItem[] }
  | {
      readonly kind: 'ended';
      readonly output: readonly OutputItem[];
      readonly end: AnswerEnd;
      readonly endedSeconds: number;
    }
  | { readonly kind: 'failed'; readonly output: readonly OutputItem[]; readonly failure: AnswerFailure };

const responseUsage = ({ prompt, cached, completion, reasoning }: Usage) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: prompt + completion,
});

const REASONS = { length: 'max_output_tokens', content_filter: 'content_filter' } as const;

const endedPart = (end: AnswerEnd, endedSeconds: number) => ({
  ...(end.finish === 'stop'
    ? { status: 'completed' as const, completed_at: endedSeconds }
    : { status: 'incomplete' as const, incomplete_details: { reason: REASONS[end.finish] } }),
  usage: responseUsage(end.usage),
  ...approvalsIn(end),
});

const changingPart = (state: ResponseState) => {
  switch (state.kind) {
    case 'going':
      return { status: 'in_progress' as const };
    case 'ended':
      return endedPart(state.end, state.endedSeconds);
    case 'failed': {
      const { code, message } = state.failure;
      return { status: 'failed' as const, error: { code, message } };
    }
    default:
      return state satisfies never;
  }
};

/** A response as it is sent, with every member that official clients expect. What has no effect here says nothing of itself. */
export const responseObject = ({ id, model, createdSeconds, echo }: ResponseFacts, state: ResponseState) => ({
  id,
  object: 'response' as const,
  created_at: createdSeconds,
  access_programs: null,
  background: false,
  conversation: echo.conversationID === null ? null : { id: echo.conversationID },
  error: null,
  incomplete_details: null,
  instructions: echo.instructions,
  max_output_tokens: null,
  metadata: echo.metadata,
  model,
  output: state.output,
  parallel_tool_calls: true,
  previous_response_id: echo.previousResponseID,
  reasoning: { effort: echo.effort, summary: null },
  store: echo.isKept,
  temperature: null,
  text: { format: { type: 'text' as const } },
  tool_choice: 'auto' as const,
  tools: [],
  top_p: null,
  truncation: 'disabled' as const,
  ...changingPart(state),
});
export type ResponseObject = ReturnType<typeof responseObject>;

/** The answer to a response that was deleted. */
export const deletedResponse = (id: string) => ({ id, object: 'response' as const, deleted: true as const });

/** What is known of an answer before it has begun. */
export type ResponseStart = {
  /** Settled once the answer has begun. */
  readonly responseID: () => Promise<string>;
  readonly model: string;
  readonly echo: ResponseEcho;
  readonly nowSeconds: () => number;
};

/** The body of an answer in one piece. A failure is thrown, as the fault it is answered with. */
export const responseAnswer = async (
  sayings: AsyncIterable<OutputEvent>,
  { responseID, model, echo, nowSeconds }: ResponseStart,
): Promise<ResponseObject> => {
  const createdSeconds = nowSeconds();
  const id = await responseID();
  const { take, close, items } = createOutputItems(id);
  for await (const saying of sayings) {
    if (saying.kind === 'failure') throw toFault(saying.failure);
    take(saying);
    if (saying.kind !== 'end') continue;
    close(saying.end.finish === 'stop' ? 'completed' : 'incomplete');
    const ended = { kind: 'ended', output: items(), end: saying.end, endedSeconds: nowSeconds() } as const;
    return responseObject({ id, model, createdSeconds, echo }, ended);
  }
  throw missingEndError();
};
