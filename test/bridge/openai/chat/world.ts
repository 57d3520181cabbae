import { bridgeErrorResponse } from '../../../../src/bridge/errors.ts';
import { type ParsedChatRequest, parseChatRequest } from '../../../../src/bridge/openai/chat/request.ts';
import { createChatCompletion } from '../../../../src/bridge/openai/chat/response.ts';
import { streamChatChunks } from '../../../../src/bridge/openai/chat/stream.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { type SseEvent, sseResponse } from '../../../../src/core/http/sse.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { type Reported, reporting } from '../../harness/recorded-outputs.ts';

export type ChatWorld = {
  readonly baseURL: string;
  readonly fetch: typeof fetch;
  /** What was asked, in order. */
  readonly asked: readonly ParsedChatRequest[];
};

async function* eventsOf(data: AsyncIterable<string>): AsyncGenerator<SseEvent> {
  for await (const one of data) yield { data: one };
}

const neverLate = { clock: createFakeClock(), heartbeat: () => ({ data: '' }) };

/** Chat completions without an agent and without a network: whatever is asked is answered with these sayings. */
export const createChatWorld = (...outputEvents: readonly Reported[]): ChatWorld => {
  const asked: ParsedChatRequest[] = [];
  const answer = async (request: Request): Promise<Response> => {
    const wanted = parseChatRequest(await request.json(), request.headers);
    asked.push(wanted);
    const facts = { id: 'chatcmpl-1', model: wanted.model ?? 'acme/small', createdSeconds: 1_700_000_000 };
    if (!wanted.isStreamed) return Response.json(await createChatCompletion(reporting(...outputEvents), facts));
    const data = streamChatChunks(reporting(...outputEvents), {
      ...facts,
      includeUsage: wanted.includeUsage,
      showsTools: true,
    });
    return sseResponse(() => eventsOf(data), {
      ...neverLate,
      onBug(error) {
        throw error;
      },
    });
  };
  return {
    baseURL: 'http://bridge.test/v1',
    asked,
    async fetch(input, init) {
      try {
        return await answer(new Request(input as string, init));
      } catch (error) {
        if (error instanceof Fault) return bridgeErrorResponse(error.detail);
        throw error;
      }
    },
  };
};
