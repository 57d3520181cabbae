import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { isRecord } from '../../core/json.ts';
import type { ConsoleFault } from '../errors.ts';
import type { ListedConversation, OwnConversation } from '../protocol.ts';
import { findConversation } from '../services/agent-sessions.ts';
import { askEveryAgent } from '../services/every-agent.ts';
import { fitting } from '../services/fitting.ts';
import { type ApiContext, changing, parseGiven, reading, requireSet } from './context.ts';
import { passEvents } from './passed-stream.ts';

const Message = v.looseObject({ role: v.pipe(v.string(), v.maxLength(32)) });
/** With what stands before it at the bridge it is no longer than the bridge's names may be. */
const CONVERSATION_ID = /^[\x21-\x7e]{1,128}$/;
const ChatBody = v.object({
  text: v.optional(v.pipe(v.string(), v.maxLength(1_000_000))),
  messages: v.optional(v.pipe(v.array(Message), v.minLength(1), v.maxLength(1000))),
  conversation: v.optional(v.pipe(v.string(), v.regex(CONVERSATION_ID, 'expected printable characters'))),
  model: v.optional(v.pipe(v.string(), v.maxLength(200))),
});
const ModelRecord = v.object({ id: v.string() });

const MODELS_SHOWN = 1000;
const BROKEN_OFF = JSON.stringify({
  error: { message: 'The connection to the bridge broke off', code: 'service_down' },
});
/** Answers of one account that are written at the same time: each holds a connection here and a run of an agent. */
const ANSWERS_OF_ACCOUNT = 8;

/** An answer of the bridge that is read here, whether its page is there or not. */
type RunningAnswer = { readonly account: string; readonly name: string; readonly abort: () => void };

/**
 * Chats with the agent through the bridge: a stream is passed on as it comes, and read to its end also when its page is closed or
 * reloaded, as the bridge aborts a turn without a reader. `stop` aborts one.
 */
export const createChatRoutes = (context: ApiContext): RouteTable => {
  const { bodies, clock, newId, reply, names, hide, parts } = context;
  const { bridge, agents } = context.clients;
  const running = new Set<RunningAnswer>();
  const messagesOf = ({ text, messages }: v.InferOutput<typeof ChatBody>): unknown => {
    if (messages !== undefined) return messages;
    if (text !== undefined && text.trim() !== '') return [{ role: 'user', content: text }];
    const message = 'body: expected text, or messages';
    throw new Fault({ kind: 'bad-input', code: 'invalid_body', param: 'text', message });
  };
  const requirePlace = (account: string): void => {
    if ([...running].filter((answer) => answer.account === account).length < ANSWERS_OF_ACCOUNT) return;
    throw new Fault<ConsoleFault>({ kind: 'too-many-answers', limit: ANSWERS_OF_ACCOUNT });
  };
  const answersIn = (name: string) => [...running].filter((answer) => answer.name === name);
  /** Faults where it is not found and an agent server that may have it does not answer. */
  const sessionOf = async (name: string, signal: AbortSignal): Promise<ListedConversation | undefined> => {
    const { values, unread } = await askEveryAgent(agents, (client, agent) =>
      findConversation(client, agent, (stored) => names.isNamed(stored, name), signal),
    );
    const found = values.find((session) => session !== undefined);
    if (found !== undefined || unread.length === 0) return found;
    const reason = 'the conversation may be there';
    throw new Fault<ConsoleFault>({ kind: 'service-down', part: 'agent', reason });
  };
  const notFound = () => new Fault({ kind: 'not-found', hint: 'No such conversation of this account' });
  return {
    '/api/chat': {
      POST: changing(context, 'approver', async (request, _params, { name: account }) => {
        const client = requireSet(bridge, parts.chat);
        const given = parseGiven(ChatBody, await bodies.readJson(request));
        const { model, conversation = newId() } = given;
        const name = names.nameOf(account, conversation);
        const messages = messagesOf(given);
        requirePlace(account);
        const body = { ...(model === undefined ? {} : { model }), messages, stream: true };
        const leaving = new AbortController();
        const end = (): void => {
          running.delete(answer);
          leaving.abort();
        };
        const answer = { account, name, abort: end };
        running.add(answer);
        try {
          const headers = { 'x-session-id': name };
          const source = await client.open({ path: '/v1/chat/completions', body, headers }, leaving.signal);
          const response = passEvents({ source, hide, abort: end }, BROKEN_OFF, clock);
          response.headers.set('cache-control', 'no-store, no-transform');
          response.headers.set('x-session-id', conversation);
          return response;
        } catch (error) {
          end();
          throw error;
        }
      }),
    },
    '/api/chat/conversations/:id': {
      GET: reading(context, 'approver', async ({ signal }, { id = '' }, { name: account }) => {
        const name = names.nameOf(account, id);
        // First: an answer that has ended meanwhile has a session.
        const isAnswering = answersIn(name).length > 0;
        const session = await sessionOf(name, signal);
        if (session === undefined && !isAnswering) throw notFound();
        const found: OwnConversation = { isAnswering, ...(session === undefined ? {} : { session }) };
        return reply.json(found);
      }),
    },
    '/api/chat/conversations/:id/stop': {
      POST: changing(context, 'approver', async ({ signal }, { id = '' }, { name: account }) => {
        const name = names.nameOf(account, id);
        const answers = answersIn(name);
        try {
          const session = await sessionOf(name, signal);
          if (session !== undefined)
            await agents[session.agent]?.ask({ method: 'POST', path: `/session/${session.id}/abort` }, signal);
          else if (answers.length === 0) throw notFound();
        } finally {
          // The bridge waits a while for a reader that left: its turn has ended before.
          for (const { abort } of answers) abort();
        }
        return new Response(null, { status: 204 });
      }),
    },
    '/api/chat/models': {
      GET: reading(context, 'viewer', async ({ signal }) => {
        const { value } = await requireSet(bridge, parts.chat).ask({ method: 'GET', path: '/v1/models' }, signal);
        const found = fitting(ModelRecord, isRecord(value) ? value.data : undefined, MODELS_SHOWN);
        return reply.json({ models: found.map(({ id }) => ({ id })) });
      }),
    },
  };
};
