import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { readJson } from '../../core/http/body.ts';
import type { Handler } from '../../core/http/handler.ts';
import { errorResponse, internalErrorResponse, jsonResponse } from '../../core/http/response.ts';
import { createRoutes } from '../../core/http/router.ts';
import { isRecord } from '../../core/json.ts';
import { createChatWriter } from './chat-completions.ts';
import { createMessagesWriter } from './messages.ts';
import { type ModelScript, refusal, type ScriptedAnswer } from './reply.ts';
import { type DemoModelRequest, type ModelDialect, REQUEST_PARSERS, type ReceivedRequest } from './request.ts';
import { createResponsesWriter } from './responses.ts';
import { completeAnswer, createStreamBody } from './stream.ts';

/** The only model there is. Any other name is answered as well. */
export const DEMO_MODEL = 'demo-model';
const VERSION = '0.0.0-demo';
const BODY_LIMIT_BYTES = 32 * 1024 * 1024;
const WRITERS = { chat: createChatWriter, responses: createResponsesWriter, messages: createMessagesWriter } as const;

const parseModelRequest = (dialect: ModelDialect, body: unknown): DemoModelRequest => {
  try {
    return REQUEST_PARSERS[dialect](body);
  } catch {
    const message = 'The demo model cannot read this request';
    throw new Fault({ kind: 'bad-input', code: 'invalid_type', param: null, message });
  }
};

type ScriptedModelNeeds = { readonly clock: Clock; readonly script: ModelScript };

/**
 * Creates a model that follows a script: OpenAI's chat completions and responses and Anthropic's messages, streamed or
 * whole. It fails only when the script makes it. It reads whole bodies, so keep it on loopback.
 */
export const createScriptedModel = ({ clock, script }: ScriptedModelNeeds): Handler => {
  let answers = 0;

  const send = (reply: ScriptedAnswer, request: ReceivedRequest, disconnect: AbortController): Response => {
    answers += 1;
    const { dialect, model, body } = request;
    const wantsUsage = isRecord(body.stream_options) && body.stream_options.include_usage === true;
    const createdAt = Math.floor(clock.now() / 1000);
    const writer = WRITERS[dialect]({ id: `demo-${answers}`, model, createdAt, wantsUsage });
    const answer = completeAnswer(reply, { id: String(answers), prompt: JSON.stringify(body) });
    if (!request.isStreamed || reply.isWhole) return jsonResponse(200, writer.whole(answer));
    const stream = { writer, clock, answer, pieces: reply.pieces, aborted: disconnect.signal };
    return new Response(
      createStreamBody(stream, () => disconnect.abort()),
      { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } },
    );
  };

  const routeFor =
    (dialect: ModelDialect) =>
    async (request: Request): Promise<Response> => {
      const body = await readJson(request, { limitBytes: BODY_LIMIT_BYTES, signal: request.signal });
      const disconnect = new AbortController();
      request.signal.addEventListener('abort', () => disconnect.abort(), { once: true });
      const received: ReceivedRequest = {
        ...parseModelRequest(dialect, body),
        dialect,
        headers: Object.fromEntries(request.headers),
        body: isRecord(body) ? body : {},
        isAborted: () => disconnect.signal.aborted,
      };
      const reply = script(received) ?? refusal(400, 'nothing_scripted');
      if (reply.kind === 'answer') return send(reply, received, disconnect);
      if (reply.kind === 'refusal') {
        const { status, headers = {}, body } = reply;
        return typeof body === 'string' ? new Response(body, { status, headers }) : jsonResponse(status, body, headers);
      }
      return new Promise((_, reject) => {
        disconnect.signal.addEventListener('abort', () => reject(new Fault({ kind: 'client-left' })), { once: true });
      });
    };

  const routes = createRoutes(
    {
      '/health': { GET: () => jsonResponse(200, { status: 'ok', service: DEMO_MODEL, version: VERSION }) },
      '/v1/models': {
        GET: () =>
          jsonResponse(200, {
            object: 'list',
            data: [{ id: DEMO_MODEL, object: 'model', created: 1767225600, owned_by: 'gatehouse' }],
          }),
      },
      '/v1/chat/completions': { POST: routeFor('chat') },
      '/v1/responses': { POST: routeFor('responses') },
      '/v1/messages': { POST: routeFor('messages') },
    },
    () => 'The demo model answers POST /v1/chat/completions, /v1/responses and /v1/messages',
  );
  return async (request) => {
    try {
      return await routes.handler(request);
    } catch (error) {
      return error instanceof Fault ? errorResponse(error.detail) : internalErrorResponse();
    }
  };
};
