import { missingEndError, toFault } from '../../answer/failure.ts';
import type { AnswerFailure } from '../../errors.ts';
import type { AnswerEnd, OutputEvent, Usage } from '../../output.ts';
import { approvalsMember, SERVICE_TIER } from '../chat/response.ts';
import type { ResponseEcho } from './echo.ts';
import { type AnswerPlace, createOutputItems, type OutputItem } from './items.ts';

type ResponseHeader = {
  readonly id: string;
  readonly model: string;
  readonly createdSeconds: number;
  readonly echo: ResponseEcho;
};

/** The state of a response: its items so far, and how it ended. */
export type ResponseState =
  /** Its prompt was not sent to the agent yet. */
  | { readonly kind: 'queued'; readonly output: readonly [] }
  | { readonly kind: 'running' | 'cancelled'; readonly output: readonly OutputItem[] }
  | {
      readonly kind: 'ended';
      readonly output: readonly OutputItem[];
      readonly end: AnswerEnd;
      readonly endedSeconds: number;
    }
  | { readonly kind: 'failed'; readonly output: readonly OutputItem[]; readonly failure: AnswerFailure };

const responseUsage = ({ prompt, cached, cacheWritten, completion, reasoning }: Usage) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWritten },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: prompt + completion,
});

const REASONS = { length: 'max_output_tokens', content_filter: 'content_filter' } as const;

/** Whether it is whole: a response that ends with calls for the client is, too. */
export const isCompleted = ({ finish }: Pick<AnswerEnd, 'finish'>): boolean =>
  finish === 'stop' || finish === 'tool_calls';

const statusMembers = ({ finish }: AnswerEnd, endedSeconds: number) =>
  finish === 'length' || finish === 'content_filter'
    ? { status: 'incomplete' as const, incomplete_details: { reason: REASONS[finish] } }
    : { status: 'completed' as const, completed_at: endedSeconds };

const endMembers = (end: AnswerEnd, endedSeconds: number) => ({
  ...statusMembers(end, endedSeconds),
  usage: responseUsage(end.usage),
  ...approvalsMember(end),
});

const stateMembers = (state: ResponseState) => {
  switch (state.kind) {
    case 'queued':
    case 'cancelled':
      return { status: state.kind };
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

/** A response as it is sent, with every member that official clients expect. It repeats settings that have no effect here, too. */
export const toResponseObject = ({ id, model, createdSeconds, echo }: ResponseHeader, state: ResponseState) => ({
  id,
  object: 'response' as const,
  created_at: createdSeconds,
  access_programs: null,
  background: echo.isBackground,
  conversation: echo.conversationID === null ? null : { id: echo.conversationID },
  error: null,
  incomplete_details: null,
  instructions: echo.instructions,
  metadata: echo.metadata,
  model,
  output: state.output,
  previous_response_id: echo.previousResponseID,
  reasoning: echo.reasoning,
  service_tier: SERVICE_TIER,
  store: echo.isStored,
  text: echo.text,
  ...echo.values,
  ...stateMembers(state),
});
export type ResponseObject = ReturnType<typeof toResponseObject>;

/** The body of the answer to a `DELETE`. */
export const toDeletedResponse = (id: string) => ({ id, object: 'response' as const, deleted: true as const });

/** What is known of a response before its first output. */
export type ResponseStart = {
  readonly place: AnswerPlace;
  readonly model: string;
  readonly echo: ResponseEcho;
  readonly createdSeconds: number;
  readonly nowSeconds: () => number;
  /** The number of the last event that its client has, of a response in the background. */
  readonly startingAfter?: number | undefined;
};

/** The body of a response in the background that has begun. */
export const createStartedResponse = ({ place, model, echo, createdSeconds }: ResponseStart): ResponseObject =>
  toResponseObject({ id: place.responseID, model, createdSeconds, echo }, { kind: 'running', output: [] });

/** The body of a response that is not streamed. Throws the fault of an answer that failed. */
export const createResponse = async (
  output: AsyncIterable<OutputEvent>,
  { place, model, echo, createdSeconds, nowSeconds }: ResponseStart,
): Promise<ResponseObject> => {
  const id = place.responseID;
  const items = createOutputItems(place);
  for await (const event of output) {
    if (event.kind === 'failure') throw toFault(event.failure);
    items.applyEvent(event);
    if (event.kind !== 'end') continue;
    items.close(isCompleted(event.end) ? 'completed' : 'incomplete');
    const ended = { kind: 'ended', output: items.list(), end: event.end, endedSeconds: nowSeconds() } as const;
    return toResponseObject({ id, model, createdSeconds, echo }, ended);
  }
  throw missingEndError();
};
