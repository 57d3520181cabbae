import { internalErrorResponse } from '../../../core/http/response.ts';
import type { ClientAnswer } from '../../answer/client-answer.ts';
import { toFault } from '../../answer/failure.ts';
import { bridgeErrorResponse, isBridgeFault } from '../../errors.ts';
import { type AnswerEnd, createParagraphJoiner } from '../../output.ts';
import { customNamesIn } from '../client-tools.ts';
import type { EncodedEvent, Endpoint, StreamEncoder } from '../endpoint.ts';
import { type ParsedChatRequest, parseChatRequest } from './request.ts';
import {
  approvalsMember,
  type ChatAnswerHeader,
  createChatCompletion,
  openingMembers,
  toChatUsage,
  toToolCall,
} from './response.ts';

type ChatStreamHeader = ChatAnswerHeader & {
  readonly includeUsage: boolean;
  /** Whether calls of the agent's tools are shown, as lines of reasoning: as calls, clients would run them. */
  readonly showsTools: boolean;
};

const DONE = '[DONE]';

/** The chunks of one stream, as the data of its events. What all have in common is serialised once. */
const createChunks = (header: ChatStreamHeader) => {
  const { includeUsage } = header;
  const opening = JSON.stringify(openingMembers(header, 'chat.completion.chunk')).slice(0, -1);
  const start = `${opening},"choices":[{"index":0,"delta":`;
  const usage = includeUsage ? ',"usage":null' : '';
  const chunk = (delta: string, finish: string, more = ''): string =>
    `${start}${delta},"logprobs":null,"finish_reason":${finish}}]${usage}${more}}`;
  return {
    first: (): string => chunk('{"role":"assistant","content":""}', 'null'),
    content: (text: string): string => chunk(`{"content":${JSON.stringify(text)}}`, 'null'),
    reasoning: (text: string): string => chunk(`{"reasoning_content":${JSON.stringify(text)}}`, 'null'),
    refusal: (text: string): string => chunk(`{"refusal":${JSON.stringify(text)}}`, 'null'),
    call: (index: number, call: object): string => chunk(JSON.stringify({ tool_calls: [{ index, ...call }] }), 'null'),
    empty: (): string => chunk('{}', 'null'),
    last: (end: AnswerEnd, hasCall: boolean): readonly string[] => {
      const more = JSON.stringify(approvalsMember(end)).slice(1, -1);
      const finish = chunk('{}', `"${hasCall ? 'tool_calls' : end.finish}"`, more === '' ? '' : `,${more}`);
      const cost = `${opening},"choices":[],"usage":${JSON.stringify(toChatUsage(end.usage))}}`;
      return includeUsage ? [finish, cost, DONE] : [finish, DONE];
    },
  };
};

/** The body of an error answer, as the data of an event; nothing for a client that has disconnected. */
export const errorEvents = async (error: unknown): Promise<readonly EncodedEvent[]> => {
  const response = isBridgeFault(error) ? bridgeErrorResponse(error.detail) : internalErrorResponse();
  const data = await response.text();
  return data === '' ? [] : [{ data }];
};

/**
 * Encodes a streamed chat completion. The first chunk comes before any output. A failure is the last event, without a
 * `[DONE]`: clients that do not know such events see an answer that broke off, not a complete one.
 */
export const createChatEncoder = (header: ChatStreamHeader): StreamEncoder => {
  const chunks = createChunks(header);
  const beforeText = createParagraphJoiner();
  const beforeReasoning = createParagraphJoiner();
  let toolLines = 0;
  let calls = 0;
  const eventsOfText = (gap: string, text: string, chunk: (text: string) => string): readonly EncodedEvent[] =>
    gap === '' ? [{ data: chunk(text) }] : [{ data: chunk(gap) }, { data: chunk(text) }];
  const toolLine = (name: string, what: string): readonly EncodedEvent[] => {
    if (!header.showsTools) return [];
    toolLines += 1;
    return eventsOfText(beforeReasoning(`tool line ${toolLines}`), `[tool ${name}] ${what}`, chunks.reasoning);
  };
  return {
    first: async () => [{ data: chunks.first() }],
    eventsFor(event) {
      switch (event.kind) {
        case 'text':
          return eventsOfText(beforeText(event.id), event.text, chunks.content);
        case 'reasoning':
          return eventsOfText(beforeReasoning(event.id), event.text, chunks.reasoning);
        case 'call':
          return toolLine(event.call.name, 'started');
        case 'call-end':
          return toolLine(event.call.name, event.isWaiting ? 'waiting' : event.isError ? 'failed' : 'finished');
        case 'client-call':
          calls += 1;
          return [{ data: chunks.call(calls - 1, toToolCall(header, event)) }];
        case 'refusal':
          return [{ data: chunks.refusal(event.text) }];
        case 'end':
          return chunks.last(event.end, calls > 0).map((data) => ({ data }));
        case 'failure':
          throw toFault(event.failure);
        case 'text-end':
        case 'reasoning-end':
          return [];
        default:
          return event satisfies never;
      }
    },
    errorEvents,
    empty: () => ({ data: chunks.empty() }),
  };
};

/** `POST /v1/chat/completions`. `showsTools`: streams show the calls of the agent's tools. */
export const createChatEndpoint = ({ showsTools }: { readonly showsTools: boolean }): Endpoint<ParsedChatRequest> => {
  const headerOf = (
    { model, includeUsage, clientTools }: ParsedChatRequest,
    answer: ClientAnswer,
  ): ChatStreamHeader => ({
    id: `chatcmpl-${answer.answerID}`,
    model: model ?? answer.model,
    createdSeconds: answer.createdSeconds,
    fingerprint: answer.fingerprint,
    includeUsage,
    showsTools,
    custom: customNamesIn(clientTools),
  });
  return {
    name: 'chat',
    effortMember: 'reasoning_effort',
    parse: parseChatRequest,
    toBody: (output, request, answer) => createChatCompletion(output, headerOf(request, answer)),
    createEncoder: (request, answer) => createChatEncoder(headerOf(request, answer)),
  };
};
