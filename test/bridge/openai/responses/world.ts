import { bridgeErrorResponse } from '../../../../src/bridge/errors.ts';
import { NO_ECHO } from '../../../../src/bridge/openai/responses/echo.ts';
import { type ParsedResponsesRequest, parseResponsesRequest } from '../../../../src/bridge/openai/responses/request.ts';
import { createResponse, type ResponseStart } from '../../../../src/bridge/openai/responses/response.ts';
import { createResponseEncoder } from '../../../../src/bridge/openai/responses/stream.ts';
import type { AgentToolCall, OutputEvent } from '../../../../src/bridge/output.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { sseResponse } from '../../../../src/core/http/sse.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { streamedEvents } from '../../harness/polled.ts';
import { type Reported, reporting } from '../../harness/recorded-outputs.ts';

/** What every response is called here. The second one of a world ends in 2, and so on. */
export const responseID = (count = 1): string => `resp_${String(count).padStart(12, '0')}Abcdefghijklmn`;
/** Where its items are. */
export const placeOf = (id: string, custom: readonly string[] = []) => ({
  responseID: id,
  sessionID: 'ses_00000000000bSessionsess12',
  custom: new Set(custom),
});
export const NOW_SECONDS = 1_800_000_000;

export const callOf = (id: string, name: string, input: object = {}): AgentToolCall => ({
  id,
  name,
  input: JSON.stringify(input),
});
export const began = (call: AgentToolCall): OutputEvent => ({ kind: 'call', call });
export const returned = (call: AgentToolCall, output: string, isError = false): OutputEvent => ({
  kind: 'call-end',
  call,
  output,
  isError,
});

const LIST = callOf('call_1', 'relay-admin_list_users', { page: 1 });
const SHELL = callOf('call_2', 'bash', { command: 'ls' });
/** Two calls beside each other. The second one ends first, and fails. */
export const BESIDE: readonly OutputEvent[] = [
  began(LIST),
  began(SHELL),
  returned(SHELL, 'no such', true),
  returned(LIST, '5'),
];

export const startOf = (more: Partial<ResponseStart> = {}): ResponseStart => ({
  place: placeOf(responseID()),
  model: 'acme/small',
  echo: NO_ECHO,
  createdSeconds: NOW_SECONDS,
  nowSeconds: () => NOW_SECONDS,
  ...more,
});

export type ResponsesWorld = {
  readonly baseURL: string;
  readonly fetch: typeof fetch;
  /** What was asked, in order, and the bodies that asked it. */
  readonly asked: readonly ParsedResponsesRequest[];
  readonly bodies: readonly Record<string, unknown>[];
};

const neverLate = { clock: createFakeClock(), heartbeat: undefined };

/** Responses without an agent and without a network: whatever is asked is answered with these sayings. */
export const createResponsesWorld = (...outputEvents: readonly Reported[]): ResponsesWorld => {
  const asked: ParsedResponsesRequest[] = [];
  const bodies: Record<string, unknown>[] = [];
  const answer = async (request: Request): Promise<Response> => {
    const body = (await request.json()) as Record<string, unknown>;
    bodies.push(body);
    const wanted = parseResponsesRequest(body, request.headers);
    asked.push(wanted);
    const count = asked.length;
    const start = startOf({ place: placeOf(responseID(count)), echo: wanted.echo });
    if (!wanted.isStreamed) return Response.json(await createResponse(reporting(...outputEvents), start));
    return sseResponse(() => streamedEvents(reporting(...outputEvents), createResponseEncoder(start)), {
      ...neverLate,
      onBug(error) {
        throw error;
      },
    });
  };
  return {
    baseURL: 'http://bridge.test/v1',
    asked,
    bodies,
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
