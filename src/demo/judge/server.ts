import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { issueOf, readJson } from '../../core/http/body.ts';
import type { Handler } from '../../core/http/handler.ts';
import { errorResponse, internalErrorResponse } from '../../core/http/response.ts';
import { createRoutes } from '../../core/http/router.ts';
import { JUDGE_MODEL } from './judge.ts';
import { OLLAMA_MODELS, OllamaChat, replyAsOllama } from './ollama.ts';
import { OPENAI_MODELS, OpenAiChat, replyAsOpenAi } from './openai.ts';

const VERSION = '0.0.0-demo';
/** Enough for the largest image that OpenAI's clients may send, in base64. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024;

const parseRequest = async <Schema extends v.GenericSchema>(
  schema: Schema,
  request: Request,
): Promise<v.InferOutput<Schema>> => {
  const result = v.safeParse(schema, await readJson(request, { limitBytes: BODY_LIMIT_BYTES, signal: request.signal }));
  if (result.success) return result.output;
  const { path, expected } = issueOf(result.issues[0]);
  const message = `Expected ${expected}${path === '' ? '' : ` at ${path}`}`;
  throw new Fault({ kind: 'bad-input', code: 'invalid_type', param: path === '' ? null : path, message });
};

const ErrorBody = v.object({ error: v.object({ message: v.string() }) });

/** An error in Ollama's form: a string where OpenAI has an object. */
const toOllamaError = async (reply: Response): Promise<Response> => {
  // The response to a disconnected client has no body.
  if (reply.body === null) return reply;
  const { error } = v.parse(ErrorBody, await reply.json());
  return new Response(JSON.stringify({ error: error.message }), { status: reply.status, headers: reply.headers });
};

const isOllamaPath = ({ url }: Request): boolean => /^\w+:\/\/[^/]*\/api(?:[/?#]|$)/.test(url);

/**
 * Creates a backend with Ollama's and OpenAI's dialects and judges by the table, so that the gateway runs without a
 * model. It needs no keys and no network, stores nothing, never rejects, and reads text only: every image counts as
 * harmless, so use it for demos alone.
 */
export const createDemoJudge = (): Handler => {
  const routes = createRoutes(
    {
      '/health': { GET: () => Response.json({ status: 'ok', service: JUDGE_MODEL, version: VERSION }) },
      '/api/version': { GET: () => Response.json({ version: VERSION }) },
      '/api/tags': { GET: () => Response.json(OLLAMA_MODELS) },
      '/api/chat': { POST: async (request) => replyAsOllama(await parseRequest(OllamaChat, request)) },
      '/v1/models': { GET: () => Response.json(OPENAI_MODELS) },
      '/v1/chat/completions': { POST: async (request) => replyAsOpenAi(await parseRequest(OpenAiChat, request)) },
    },
    () => 'The demo judge answers POST /api/chat and POST /v1/chat/completions',
  );
  return async (request) => {
    try {
      return await routes.handler(request);
    } catch (error) {
      const reply = error instanceof Fault ? errorResponse(error.detail) : internalErrorResponse();
      return isOllamaPath(request) ? toOllamaError(reply) : reply;
    }
  };
};
