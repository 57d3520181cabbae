import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { readJson } from '../../core/http/body.ts';
import type { Handler } from '../../core/http/handler.ts';
import { jsonResponse } from '../../core/http/json-response.ts';
import { errorResponse, internalErrorResponse } from '../../core/http/response.ts';
import { createRoutes } from '../../core/http/router.ts';
import { isRecord } from '../../core/json.ts';
import { chatVoice } from './chat-completions.ts';
import { type AskedModel, createModelControl, type ModelControl, type ModelScript } from './control.ts';
import type { VoiceNeeds } from './dialect.ts';
import { messagesVoice } from './messages.ts';
import { refusal, type ScriptedAnswer, type ScriptedReply } from './reply.ts';
import { type DialectName, type Question, READERS } from './request.ts';
import { responsesVoice } from './responses.ts';
import { bodyOf, saidIn } from './stream.ts';

export type ScriptedModelNeeds = {
  readonly clock: Clock;
  /** Asked when the control has nothing to say. */
  readonly script?: ModelScript;
};
export type ScriptedModel = { readonly handler: Handler; readonly control: ModelControl };

/** The only model there is. Any other name is answered as well. */
export const DEMO_MODEL = 'demo-model';
const VERSION = '0.0.0-demo';
const BODY_LIMIT_BYTES = 32 * 1024 * 1024;
const VOICES = { chat: chatVoice, responses: responsesVoice, messages: messagesVoice } as const;

const questionIn = (dialect: DialectName, body: unknown): Question => {
  try {
    return READERS[dialect](body);
  } catch {
    const message = 'The demo model cannot read this request';
    throw new Fault({ kind: 'bad-input', code: 'invalid_type', param: null, message });
  }
};

/**
 * A model to talk to without one: OpenAI's chat completions and responses and Anthropic's messages, streamed or whole. It
 * says what its control or its script says, and misbehaves only when they make it. It reads whole bodies, so keep it on
 * loopback.
 */
export const createScriptedModel = ({ clock, script = () => undefined }: ScriptedModelNeeds): ScriptedModel => {
  const controlled = createModelControl();
  let replies = 0;

  const told = (reply: ScriptedAnswer, asked: AskedModel, leaving: AbortController): Response => {
    replies += 1;
    const { dialect, model, body } = asked;
    const id = `demo-${replies}`;
    const wantsUsage = isRecord(body.stream_options) && body.stream_options.include_usage === true;
    const needs: VoiceNeeds = { id, model, createdAt: Math.floor(clock.now() / 1000), wantsUsage };
    const voice = VOICES[dialect](needs);
    const said = saidIn(reply, { id: String(replies), asked: JSON.stringify(body) });
    if (!asked.isStreamed || reply.isWhole) return jsonResponse(200, voice.whole(said));
    const telling = { voice, clock, said, pieces: reply.pieces, left: leaving.signal };
    return new Response(
      bodyOf(telling, () => leaving.abort()),
      { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } },
    );
  };

  const replyWith = (
    reply: ScriptedReply,
    asked: AskedModel,
    leaving: AbortController,
  ): Response | Promise<Response> => {
    if (reply.kind === 'answer') return told(reply, asked, leaving);
    if (reply.kind === 'refusal') {
      const { status, headers = {}, body } = reply;
      return typeof body === 'string' ? new Response(body, { status, headers }) : jsonResponse(status, body, headers);
    }
    return new Promise((_, reject) => {
      leaving.signal.addEventListener('abort', () => reject(new Fault({ kind: 'client-left' })), { once: true });
    });
  };

  const answering =
    (dialect: DialectName) =>
    async (request: Request): Promise<Response> => {
      const body = await readJson(request, BODY_LIMIT_BYTES, request.signal);
      const leaving = new AbortController();
      request.signal.addEventListener('abort', () => leaving.abort(), { once: true });
      const asked: AskedModel = {
        ...questionIn(dialect, body),
        dialect,
        headers: Object.fromEntries(request.headers),
        body: isRecord(body) ? body : {},
        isLeft: () => leaving.signal.aborted,
      };
      const reply = controlled.script(asked) ?? script(asked) ?? refusal(400, 'nothing_scripted');
      return replyWith(reply, asked, leaving);
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
      '/v1/chat/completions': { POST: answering('chat') },
      '/v1/responses': { POST: answering('responses') },
      '/v1/messages': { POST: answering('messages') },
    },
    () => 'The demo model answers POST /v1/chat/completions, /v1/responses and /v1/messages',
  );
  return {
    control: controlled.control,
    async handler(request) {
      try {
        return await routes.handler(request);
      } catch (error) {
        return error instanceof Fault ? errorResponse(error.detail) : internalErrorResponse();
      }
    },
  };
};
