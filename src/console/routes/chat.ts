import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { isRecord } from '../../core/json.ts';
import type { ConsoleFault } from '../errors.ts';
import { fitting } from '../services/fitting.ts';
import type { SecretFilter } from '../services/secret-filter.ts';
import type { ServiceClient } from '../services/service-client.ts';
import { type ApiContext, changing, parseGiven, reading } from './context.ts';
import { passStream } from './passed-stream.ts';

type ChatRoutesNeeds = ApiContext & {
  /** The bridge; undefined where it is not set. */
  readonly bridge: ServiceClient | undefined;
  readonly notConfigured: string;
  readonly hide: SecretFilter;
};

const Message = v.looseObject({ role: v.pipe(v.string(), v.maxLength(32)) });
const ChatBody = v.object({
  text: v.optional(v.pipe(v.string(), v.maxLength(1_000_000))),
  messages: v.optional(v.pipe(v.array(Message), v.minLength(1), v.maxLength(1000))),
  conversation: v.optional(v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,200}$/, 'expected printable characters'))),
  model: v.optional(v.pipe(v.string(), v.maxLength(200))),
});
const ModelRecord = v.object({ id: v.string() });

const MODELS_SHOWN = 1000;
const BROKEN_OFF = `data: ${JSON.stringify({ error: { message: 'The connection to the bridge broke off', code: 'service_down' } })}\n\n`;

/** A chat with the agent through the bridge: its stream is passed on as it comes. */
export const createChatRoutes = (needs: ChatRoutesNeeds): RouteTable => {
  const { bodies, reply, bridge, notConfigured, hide } = needs;
  const configured = (): ServiceClient => {
    if (bridge === undefined) throw new Fault<ConsoleFault>({ kind: 'not-configured', message: notConfigured });
    return bridge;
  };
  const messagesOf = ({ text, messages }: v.InferOutput<typeof ChatBody>): unknown => {
    if (messages !== undefined) return messages;
    if (text !== undefined && text.trim() !== '') return [{ role: 'user', content: text }];
    const message = 'body: expected text, or messages';
    throw new Fault({ kind: 'bad-input', code: 'invalid_body', param: 'text', message });
  };
  return {
    '/api/chat': {
      POST: changing(needs, 'approver', async (request) => {
        const client = configured();
        const given = parseGiven(ChatBody, await bodies.readJson(request));
        const { model, conversation } = given;
        const messages = messagesOf(given);
        const body = { ...(model === undefined ? {} : { model }), messages, stream: true };
        const leaving = new AbortController();
        const leave = (): void => leaving.abort();
        request.signal.addEventListener('abort', leave, { once: true });
        const headers: Readonly<Record<string, string>> =
          conversation === undefined ? {} : { 'x-session-id': conversation };
        const source = await client.open({ path: '/v1/chat/completions', body, headers }, leaving.signal);
        // Once the answer has begun, its own stream knows when the client leaves.
        request.signal.removeEventListener('abort', leave);
        const name = source.header('x-session-id') ?? '';
        return passStream({
          ...{ source, hide, brokenOff: BROKEN_OFF, abort: leave },
          headers: {
            'content-type': 'text/event-stream',
            'cache-control': 'no-store, no-transform',
            'x-accel-buffering': 'no',
            ...(/^[\x21-\x7e]{1,200}$/.test(name) ? { 'x-session-id': name } : {}),
          },
        });
      }),
    },
    '/api/chat/models': {
      GET: reading(needs, 'viewer', async ({ signal }) => {
        const { value } = await configured().ask({ method: 'GET', path: '/v1/models' }, signal);
        const found = fitting(ModelRecord, isRecord(value) ? value.data : undefined, MODELS_SHOWN);
        return reply.json({ models: found.map(({ id }) => ({ id })) });
      }),
    },
  };
};
