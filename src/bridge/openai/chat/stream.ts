import { Fault } from '../../../core/fault.ts';
import { internalErrorResponse } from '../../../core/http/response.ts';
import { bridgeErrorResponse, isBridgeFault } from '../../errors.ts';
import { type AnswerEnd, createParagraphJoiner, type OutputEvent } from '../../output.ts';
import { missingEndError, toFault } from '../../turn/failure.ts';
import { approvalsMember, type ChatAnswerHeader, toChatUsage } from './response.ts';

export type ChatStreamHeader = ChatAnswerHeader & {
  readonly includeUsage: boolean;
  /** Whether calls of the agent's tools are shown, as lines of reasoning: as calls, clients would run them. */
  readonly showsTools: boolean;
};

const DONE = '[DONE]';

/** The chunks of one stream, as the data of its events. What all have in common is serialised once. */
const createChunks = ({ id, model, createdSeconds, includeUsage }: ChatStreamHeader) => {
  const opening = JSON.stringify({ id, object: 'chat.completion.chunk', created: createdSeconds, model }).slice(0, -1);
  const start = `${opening},"choices":[{"index":0,"delta":`;
  const usage = includeUsage ? ',"usage":null' : '';
  const chunk = (delta: string, finish: string, more = ''): string =>
    `${start}${delta},"logprobs":null,"finish_reason":${finish}}]${usage}${more}}`;
  return {
    first: (): string => chunk('{"role":"assistant","content":""}', 'null'),
    content: (text: string): string => chunk(`{"content":${JSON.stringify(text)}}`, 'null'),
    reasoning: (text: string): string => chunk(`{"reasoning_content":${JSON.stringify(text)}}`, 'null'),
    empty: (): string => chunk('{}', 'null'),
    last: (end: AnswerEnd): readonly string[] => {
      const more = JSON.stringify(approvalsMember(end)).slice(1, -1);
      const finish = chunk('{}', `"${end.finish}"`, more === '' ? '' : `,${more}`);
      const cost = `${opening},"choices":[],"usage":${JSON.stringify(toChatUsage(end.usage))}}`;
      return includeUsage ? [finish, cost, DONE] : [finish, DONE];
    },
  };
};

/** A chunk without content, for clients that ignore comments while they wait. */
export const emptyChunk = (facts: ChatStreamHeader): string => createChunks(facts).empty();

const createEncoder = (facts: ChatStreamHeader) => {
  const chunks = createChunks(facts);
  const beforeText = createParagraphJoiner();
  const beforeReasoning = createParagraphJoiner();
  let toolLines = 0;
  const chunksOfText = (gap: string, text: string, chunk: (text: string) => string): readonly string[] =>
    gap === '' ? [chunk(text)] : [chunk(gap), chunk(text)];
  const toolLine = (name: string, what: string): readonly string[] => {
    if (!facts.showsTools) return [];
    toolLines += 1;
    return chunksOfText(beforeReasoning(`tool line ${toolLines}`), `[tool ${name}] ${what}`, chunks.reasoning);
  };
  return {
    first: chunks.first,
    chunksFor(event: OutputEvent): readonly string[] {
      switch (event.kind) {
        case 'text':
          return chunksOfText(beforeText(event.id), event.text, chunks.content);
        case 'reasoning':
          return chunksOfText(beforeReasoning(event.id), event.text, chunks.reasoning);
        case 'call':
          return toolLine(event.call.name, 'started');
        case 'call-end':
          return toolLine(event.call.name, event.isError ? 'failed' : 'finished');
        case 'end':
          return chunks.last(event.end);
        case 'failure':
          throw toFault(event.failure);
        case 'text-end':
        case 'reasoning-end':
          return [];
        default:
          return event satisfies never;
      }
    },
  };
};

/** The data of the last event of a stream that failed, as the body of an error answer; empty for a client that has disconnected. */
const errorEvent = (error: unknown): Promise<string> =>
  (isBridgeFault(error) ? bridgeErrorResponse(error.detail) : internalErrorResponse()).text();

/**
 * The data of a stream's events. The first comes before any output. A failure is the last event, without a `[DONE]`: clients
 * that do not know such events see an answer that broke off, not a complete one. Errors that are no faults are thrown after it.
 */
export async function* streamChatChunks(
  output: AsyncIterable<OutputEvent>,
  facts: ChatStreamHeader,
): AsyncGenerator<string> {
  const { first, chunksFor } = createEncoder(facts);
  yield first();
  try {
    for await (const event of output) {
      for (const chunk of chunksFor(event)) yield chunk;
      if (event.kind === 'end') return;
    }
    throw missingEndError();
  } catch (error) {
    const data = await errorEvent(error);
    if (data !== '') yield data;
    if (!(error instanceof Fault)) throw error;
  }
}
