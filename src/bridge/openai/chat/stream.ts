import { Fault } from '../../../core/fault.ts';
import { internalErrorResponse } from '../../../core/http/response.ts';
import { bridgeErrorResponse, isBridgeFault } from '../../errors.ts';
import { type AnswerEnd, createParagraphJoiner, type OutputEvent } from '../../output.ts';
import { missingEndError, toFault } from '../../turn/failure.ts';
import { approvalsIn, type ChatAnswerHeader, chatUsage } from './response.ts';

export type StreamFacts = ChatAnswerHeader & {
  readonly includeUsage: boolean;
  /** Whether calls of the agent's tools are told of, in the reasoning: nobody else is to run them. */
  readonly showsTools: boolean;
};

const DONE = '[DONE]';

/** Chunks of one stream, as the data of its events. Most of a chunk is always the same and written only once. */
const createChunks = ({ id, model, createdSeconds, includeUsage }: StreamFacts) => {
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
      const more = JSON.stringify(approvalsIn(end)).slice(1, -1);
      const finish = chunk('{}', `"${end.finish}"`, more === '' ? '' : `,${more}`);
      const cost = `${opening},"choices":[],"usage":${JSON.stringify(chatUsage(end.usage))}}`;
      return includeUsage ? [finish, cost, DONE] : [finish, DONE];
    },
  };
};

/** A chunk that says nothing, for clients that take no notice of comments while they wait. */
export const emptyChunk = (facts: StreamFacts): string => createChunks(facts).empty();

const createEncoder = (facts: StreamFacts) => {
  const chunks = createChunks(facts);
  const beforeText = createParagraphJoiner();
  const beforeReasoning = createParagraphJoiner();
  let toolLines = 0;
  const told = (gap: string, text: string, chunk: (text: string) => string): readonly string[] =>
    gap === '' ? [chunk(text)] : [chunk(gap), chunk(text)];
  const toolLine = (name: string, what: string): readonly string[] => {
    if (!facts.showsTools) return [];
    toolLines += 1;
    return told(beforeReasoning(`tool line ${toolLines}`), `[tool ${name}] ${what}`, chunks.reasoning);
  };
  return {
    first: chunks.first,
    chunksFor(saying: OutputEvent): readonly string[] {
      switch (saying.kind) {
        case 'text':
          return told(beforeText(saying.id), saying.text, chunks.content);
        case 'reasoning':
          return told(beforeReasoning(saying.id), saying.text, chunks.reasoning);
        case 'call':
          return toolLine(saying.call.name, 'started');
        case 'call-end':
          return toolLine(saying.call.name, saying.isError ? 'failed' : 'finished');
        case 'end':
          return chunks.last(saying.end);
        case 'failure':
          throw toFault(saying.failure);
        case 'text-end':
        case 'reasoning-end':
          return [];
        default:
          return saying satisfies never;
      }
    },
  };
};

/** What went wrong as the data of a last event, in the words of an answer's body; empty for a client that left. */
const errorEvent = (error: unknown): Promise<string> =>
  (isBridgeFault(error) ? bridgeErrorResponse(error.detail) : internalErrorResponse()).text();

/**
 * The data of a stream's events. The first is there before anything of the source is waited for. Of a failure the last event
 * tells, and no `[DONE]` follows: who does not know such events sees an answer that broke off, and not one that is whole.
 * What is no fault is thrown after that event.
 */
export async function* chatChunks(sayings: AsyncIterable<OutputEvent>, facts: StreamFacts): AsyncGenerator<string> {
  const { first, chunksFor } = createEncoder(facts);
  yield first();
  try {
    for await (const saying of sayings) {
      for (const chunk of chunksFor(saying)) yield chunk;
      if (saying.kind === 'end') return;
    }
    throw missingEndError();
  } catch (error) {
    const event = await errorEvent(error);
    if (event !== '') yield event;
    if (!(error instanceof Fault)) throw error;
  }
}
