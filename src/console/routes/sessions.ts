import { Fault } from '../../core/fault.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { isRecord } from '../../core/json.ts';
import type { SessionDetail, SessionPage } from '../protocol.ts';
import { listSessions, readListedSession, type SessionsQuery } from '../services/agent-sessions.ts';
import { askEveryAgent } from '../services/every-agent.ts';
import type { ServiceClient } from '../services/service-client.ts';
import { type ApiContext, agentIn, changing, pathSegment, reading } from './context.ts';
import { passLines } from './passed-stream.ts';

const SESSIONS_SHOWN = 50;
const MOST_SHOWN = 200;
const MESSAGES_LIMIT_BYTES = 32 * 1024 * 1024;

const badQuery = (param: string, message: string) =>
  new Fault({ kind: 'bad-input', code: 'invalid_query', param, message: `${param}: ${message}` });

const limitIn = (query: URLSearchParams): number => {
  const text = query.get('limit') ?? String(SESSIONS_SHOWN);
  if (!/^\d{1,4}$/.test(text) || Number(text) < 1) throw badQuery('limit', `expected 1 to ${MOST_SHOWN}`);
  return Math.min(MOST_SHOWN, Number(text));
};

/** Sessions over all agent servers: listed, read, exported, aborted and deleted. */
export const createSessionRoutes = (context: ApiContext): RouteTable => {
  const { reply, names, hide } = context;
  const { agents } = context.clients;
  const agentAt = (text: string): ServiceClient => agentIn(context, text);
  /** Of all servers that answer, and which do not. An error of the only one, or of all, is the answer. */
  const listAll = async (query: SessionsQuery, signal: AbortSignal) => {
    const list = (client: ServiceClient, agent: number) => listSessions(client, agent, query, signal);
    const { values, unread } = await askEveryAgent(agents, list);
    const found = values.filter((sessions) => sessions !== undefined);
    const byID = new Map(found.flat().map((one) => [one.id, one]));
    // Of servers that share a store the first one that answers.
    for (const one of found.toReversed().flat()) byID.set(one.id, one);
    const sessions = [...byID.values()]
      .sort((left, right) => right.updated - left.updated || (left.id < right.id ? -1 : 1))
      .slice(0, query.limit);
    return { sessions, unread };
  };
  return {
    '/api/sessions': {
      GET: reading(context, 'viewer', async ({ url, signal }) => {
        const { searchParams } = new URL(url);
        const limit = limitIn(searchParams);
        const search = (searchParams.get('search') ?? '').slice(0, 500);
        const query = { search, limit, before: searchParams.get('before') ?? '' };
        const agent = searchParams.get('agent') ?? '';
        if (agent !== '' || agents.length === 0) agentAt(agent);
        const { sessions, unread } =
          agent === ''
            ? await listAll(query, signal)
            : { sessions: await listSessions(agentAt(agent), Number(agent), query, signal), unread: [] };
        const last = sessions.length < limit ? undefined : sessions.at(-1);
        const next = last === undefined ? {} : { next: `${last.updated},${last.id}` };
        return reply.json({ sessions, unread, ...next } satisfies SessionPage);
      }),
    },
    '/api/sessions/:agent/:id': {
      GET: reading(context, 'viewer', async ({ signal }, { agent = '', id = '' }, { name }) => {
        const found = await readListedSession(agentAt(agent), Number(agent), pathSegment(id), signal);
        if (found === undefined) throw new Fault({ kind: 'not-found', hint: 'The agent server sends no such session' });
        const conversation = names.idIn(name, found.conversation);
        const detail: SessionDetail = { ...found.session, ...(conversation === undefined ? {} : { conversation }) };
        return reply.json(detail);
      }),
      DELETE: changing(context, 'admin', async ({ signal }, { agent = '', id = '' }) => {
        await agentAt(agent).ask({ method: 'DELETE', path: `/session/${pathSegment(id)}` }, signal);
        return new Response(null, { status: 204 });
      }),
    },
    '/api/sessions/:agent/:id/messages': {
      GET: reading(context, 'viewer', async ({ url, signal }, { agent = '', id = '' }) => {
        const { searchParams } = new URL(url);
        const limit = limitIn(searchParams);
        const before = searchParams.get('before');
        const query = new URLSearchParams({ limit: String(limit), ...(before === null ? {} : { before }) });
        const path = `/session/${pathSegment(id)}/message?${query}`;
        const call = { method: 'GET', path, limitBytes: MESSAGES_LIMIT_BYTES } as const;
        const { value, text } = await agentAt(agent).ask(call, signal);
        const messages: readonly unknown[] = Array.isArray(value) ? value : [];
        const [first] = messages;
        const info = isRecord(first) && isRecord(first.info) ? first.info : {};
        const next = messages.length < limit || typeof info.id !== 'string' ? '' : `,"next":${JSON.stringify(info.id)}`;
        // As they came: they may be megabytes, and nested more deeply than can be written.
        return reply.text(`{"messages":${messages.length === 0 ? '[]' : text}${next}}`);
      }),
    },
    '/api/sessions/:agent/:id/abort': {
      POST: changing(context, 'admin', async ({ signal }, { agent = '', id = '' }) => {
        await agentAt(agent).ask({ method: 'POST', path: `/session/${pathSegment(id)}/abort` }, signal);
        return new Response(null, { status: 204 });
      }),
    },
    '/api/sessions/:agent/:id/export': {
      GET: reading(context, 'viewer', async (request, { agent = '', id = '' }) => {
        const leaving = new AbortController();
        const leave = (): void => leaving.abort();
        request.signal.addEventListener('abort', leave, { once: true });
        const source = await agentAt(agent).open({ path: `/session/${pathSegment(id)}/export` }, leaving.signal);
        request.signal.removeEventListener('abort', leave);
        return passLines(
          { source, hide, abort: leave },
          {
            'content-type': 'application/x-ndjson',
            'content-disposition': `attachment; filename="${id}.jsonl"`,
          },
        );
      }),
    },
  };
};
