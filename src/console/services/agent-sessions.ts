import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';
import type { ListedConversation } from '../protocol.ts';
import { fitting } from './fitting.ts';
import type { ServiceClient } from './service-client.ts';

const Count = v.fallback(v.number(), 0);
const Name = v.optional(v.fallback(v.optional(v.string()), undefined));
const SessionRecord = v.object({
  id: v.pipe(v.string(), v.regex(/^\w{1,128}$/)),
  title: v.fallback(v.string(), ''),
  parentID: Name,
  agent: Name,
  model: v.optional(v.fallback(v.optional(v.object({ id: v.string(), providerID: v.string() })), undefined)),
  time: v.object({ created: Count, updated: Count }),
  cost: v.optional(v.fallback(v.optional(v.number()), undefined)),
  tokens: v.optional(v.fallback(v.optional(v.object({ input: Count, output: Count })), undefined)),
});

export type SessionsQuery = { readonly search: string; readonly limit: number; readonly before: string };

/** Ids of the sessions that are not idle. */
const busyIn = (value: unknown): ReadonlySet<string> => new Set(isRecord(value) ? Object.keys(value) : []);

const toListed = (
  { id, title, time, cost = 0, tokens, parentID, agent: agentName, model }: v.InferOutput<typeof SessionRecord>,
  agent: number,
  busy: ReadonlySet<string>,
): ListedConversation => ({
  ...{ agent, id, title, created: time.created, updated: time.updated, cost },
  tokens: { input: tokens?.input ?? 0, output: tokens?.output ?? 0 },
  status: busy.has(id) ? 'busy' : 'idle',
  ...(parentID === undefined ? {} : { parent: parentID }),
  ...(agentName === undefined ? {} : { agentName }),
  ...(model === undefined ? {} : { model: `${model.providerID}/${model.id}` }),
});

const busySessions = async (client: ServiceClient, signal: AbortSignal): Promise<ReadonlySet<string>> =>
  busyIn((await client.call({ method: 'GET', path: '/session/status' }, signal)).value);

/** A page of the sessions of one agent server, the latest updated first. */
export const listSessions = async (
  client: ServiceClient,
  agent: number,
  { search, limit, before }: SessionsQuery,
  signal: AbortSignal,
): Promise<readonly ListedConversation[]> => {
  const query = new URLSearchParams({ roots: 'true', limit: String(limit), ...(search === '' ? {} : { search }) });
  if (before !== '') query.set('before', before);
  const [{ value }, busy] = await Promise.all([
    client.ask({ method: 'GET', path: `/session?${query}` }, signal),
    busySessions(client, signal),
  ]);
  return fitting(SessionRecord, value, limit).map((record) => toListed(record, agent, busy));
};

/** One session; undefined where the server's answer is none. */
export const readListedSession = async (
  client: ServiceClient,
  agent: number,
  id: string,
  signal: AbortSignal,
): Promise<ListedConversation | undefined> => {
  const [{ value }, busy] = await Promise.all([
    client.ask({ method: 'GET', path: `/session/${id}` }, signal),
    busySessions(client, signal),
  ]);
  const result = v.safeParse(SessionRecord, value);
  return result.success ? toListed(result.output, agent, busy) : undefined;
};
