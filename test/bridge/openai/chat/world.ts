import { bridgeErrorResponse } from '../../../../src/bridge/errors.ts';
import { type ParsedChatRequest, parseChatRequest } from '../../../../src/bridge/openai/chat/request.ts';
import { createChatCompletion } from '../../../../src/bridge/openai/chat/response.ts';
import { createChatEncoder } from '../../../../src/bridge/openai/chat/stream.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { sseResponse } from '../../../../src/core/http/sse.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { streamedEvents } from '../../harness/polled.ts';
import { type Reported, reporting } from '../../harness/recorded-outputs.ts';

export type ChatWorld = {
  readonly baseURL: string;
  readonly fetch: typeof fetch;
  /** What was asked, in order. */
  readonly asked: readonly ParsedChatRequest[];
};

const neverLate = { clock: createFakeClock(), heartbeat: () => ({ data: '' }) };

/** Chat completions without an agent and without a network: whatever is asked is answered with these sayings. */
export const createChatWorld = (...outputEvents: readonly Reported[]): ChatWorld => {
  const asked: ParsedChatRequest[] = [];
  const answer = async (request: Request): Promise<Response> => {
    const wanted = parseChatRequest(await request.json(), request.headers);
    asked.push(wanted);
    const model = wanted.model ?? 'acme/small';
    const facts = { id: 'chatcmpl-1', model, createdSeconds: 1_700_000_000, fingerprint: 'fp_1' };
    if (!wanted.isStreamed) return Response.json(await createChatCompletion(reporting(...outputEvents), facts));
    const encoder = createChatEncoder({ ...facts, includeUsage: wanted.includeUsage, showsTools: true });
    return sseResponse(() => streamedEvents(reporting(...outputEvents), encoder), {
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
