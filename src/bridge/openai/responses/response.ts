import { missingEndError, toFault } from '../../answer/failure.ts';
import type { AnswerFailure } from '../../errors.ts';
import type { AnswerEnd, OutputEvent, Usage } from '../../output.ts';
import { approvalsMember, SERVICE_TIER } from '../chat/response.ts';
import type { ResponseEcho } from './echo.ts';
import { type AnswerPlace, createOutputItems, type OutputItem } from './items.ts';

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

/** The last event of an answer. */
export type LastEvent = Extract<OutputEvent, { readonly kind: 'end' | 'failure' }>;

/** How far a response is. `queued`: its prompt was not sent to the agent yet. */
export type ResponseState =
  | { readonly status: 'queued' | 'in_progress' | 'cancelled' }
  | { readonly end: AnswerEnd; readonly endedSeconds: number }
  | { readonly failure: AnswerFailure };

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

const stateMembers = (state: ResponseState) => {
  if ('status' in state) return state;
  if ('end' in state) {
    const { end, endedSeconds } = state;
    return { ...statusMembers(end, endedSeconds), usage: responseUsage(end.usage), ...approvalsMember(end) };
  }
  const { code, message } = state.failure;
  return { status: 'failed' as const, error: { code, message } };
};

/** The state after an answer's last event. `cancels`: whether an aborted turn is a cancelled response. */
export const stateAfter = (last: LastEvent, endedSeconds: number, cancels: boolean): ResponseState => {
  if (last.kind === 'failure') return last;
  return cancels && last.end.isAborted === true ? { status: 'cancelled' } : { end: last.end, endedSeconds };
};

/** The status of items that are open when the answer ends. */
export const openItemsAfter = (last: LastEvent) =>
  last.kind === 'end' && isCompleted(last.end) ? 'completed' : 'incomplete';

/** A response as it is sent, with every member that official clients expect. It repeats settings that have no effect here, too. */
export const toResponseObject = (
  { place, model, createdSeconds, echo }: Omit<ResponseStart, 'nowSeconds'>,
  output: readonly OutputItem[],
  state: ResponseState,
) => ({
  id: place.responseID,
  object: 'response' as const,
  created_at: createdSeconds,
  access_programs: null,
  error: null,
  incomplete_details: null,
  model,
  output,
  service_tier: SERVICE_TIER,
  ...echo,
  ...stateMembers(state),
});
export type ResponseObject = ReturnType<typeof toResponseObject>;

/** The body of a response that is not streamed. Throws the fault of an answer that failed. */
export const createResponse = async (
  output: AsyncIterable<OutputEvent>,
  start: ResponseStart,
): Promise<ResponseObject> => {
  const items = createOutputItems(start.place);
  for await (const event of output) {
    if (event.kind === 'failure') throw toFault(event.failure);
    items.applyEvent(event);
    if (event.kind !== 'end') continue;
    items.close(openItemsAfter(event));
    return toResponseObject(start, items.list(), stateAfter(event, start.nowSeconds(), false));
  }
  throw missingEndError();
};
