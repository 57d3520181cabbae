import type { AnswerFailure } from '../../errors.ts';
import type { AnswerEnd, OutputEvent, Usage } from '../../output.ts';
import { missingEndError, toFault } from '../../turn/failure.ts';
import { approvalsMember } from '../chat/response.ts';
import { createOutputItems, type OutputItem } from './items.ts';

/** The form of the text, as a request names it. */
export type TextFormat =
  | { readonly type: 'text' | 'json_object' }
  | { readonly type: 'json_schema'; readonly name: string; readonly schema: Readonly<Record<string, unknown>> };

/** Members of a request that its response repeats. */
export type ResponseEcho = {
  readonly instructions: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly previousResponseID: string | null;
  readonly conversationID: string | null;
  readonly effort: string | null;
  readonly isStored: boolean;
  readonly textFormat: TextFormat;
};

/** For a response whose request is no longer known. */
export const NO_ECHO: ResponseEcho = {
  instructions: null,
  metadata: {},
  previousResponseID: null,
  conversationID: null,
  effort: null,
  isStored: true,
  textFormat: { type: 'text' },
};

type ResponseHeader = {
  readonly id: string;
  readonly model: string;
  readonly createdSeconds: number;
  readonly echo: ResponseEcho;
};

/** The state of a response: its items so far, and how it ended. */
export type ResponseState =
  | { readonly kind: 'running'; readonly output: readonly OutputItem[] }
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

const endMembers = (end: AnswerEnd, endedSeconds: number) => ({
  ...(end.finish === 'stop'
    ? { status: 'completed' as const, completed_at: endedSeconds }
    : { status: 'incomplete' as const, incomplete_details: { reason: REASONS[end.finish] } }),
  usage: responseUsage(end.usage),
  ...approvalsMember(end),
});

const stateMembers = (state: ResponseState) => {
  switch (state.kind) {
    case 'running':
      return { status: 'in_progress' as const };
    case 'ended':
      return endMembers(state.end, state.endedSeconds);
    case 'failed': {
      const { code, message } = state.failure;
      return { status: 'failed' as const, error: { code, message } };
    }
    default:
      return state satisfies never;
  }
};

/** A response as it is sent, with every member that official clients expect. Settings without effect here have their defaults. */
export const toResponseObject = ({ id, model, createdSeconds, echo }: ResponseHeader, state: ResponseState) => ({
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
  store: echo.isStored,
  temperature: null,
  text: { format: echo.textFormat },
  tool_choice: 'auto' as const,
  tools: [],
  top_p: null,
  truncation: 'disabled' as const,
  ...stateMembers(state),
});
export type ResponseObject = ReturnType<typeof toResponseObject>;

/** The body of the answer to a `DELETE`. */
export const toDeletedResponse = (id: string) => ({ id, object: 'response' as const, deleted: true as const });

/** What is known of a response before its first output. */
export type ResponseStart = {
  /** Resolves once the answer has started. */
  readonly responseID: () => Promise<string>;
  readonly model: string;
  readonly echo: ResponseEcho;
  readonly createdSeconds: number;
  readonly nowSeconds: () => number;
};

/** The body of a response that is not streamed. Throws the fault of an answer that failed. */
export const createResponse = async (
  output: AsyncIterable<OutputEvent>,
  { responseID, model, echo, createdSeconds, nowSeconds }: ResponseStart,
): Promise<ResponseObject> => {
  const id = await responseID();
  const items = createOutputItems(id);
  for await (const event of output) {
    if (event.kind === 'failure') throw toFault(event.failure);
    items.applyEvent(event);
    if (event.kind !== 'end') continue;
    items.close(event.end.finish === 'stop' ? 'completed' : 'incomplete');
    const ended = { kind: 'ended', output: items.list(), end: event.end, endedSeconds: nowSeconds() } as const;
    return toResponseObject({ id, model, createdSeconds, echo }, ended);
  }
  throw missingEndError();
};
