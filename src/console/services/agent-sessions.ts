import * as v from 'valibot';
import { GATEHOUSE_METADATA_KEY } from '../../core/http/agent-api.ts';
import { isRecord } from '../../core/json.ts';
import type { ListedConversation } from '../protocol.ts';
import type { StoredName } from './conversation-names.ts';
import { fitting, OptionalText } from './fitting.ts';
import type { ServiceClient } from './service-client.ts';

const Count = v.fallback(v.number(), 0);
const SessionRecord = v.object({
  id: v.pipe(v.string(), v.regex(/^\w{1,128}$/)),
  title: v.fallback(v.string(), ''),
  parentID: OptionalText,
  agent: OptionalText,
  model: v.optional(v.fallback(v.optional(v.object({ id: v.string(), providerID: v.string() })), undefined)),
  time: v.object({ created: Count, updated: Count }),
  metadata: v.optional(v.fallback(v.record(v.string(), v.unknown()), {})),
  cost: v.optional(v.fallback(v.optional(v.number()), undefined)),
  tokens: v.optional(v.fallback(v.optional(v.object({ input: Count, output: Count })), undefined)),
});

type SessionRecord = v.InferOutput<typeof SessionRecord>;

const StoredNameRecord = v.object({ name: v.string(), owner: v.string() });

export type SessionsQuery = { readonly search: string; readonly limit: number; readonly before: string };

/** Ids of the sessions that are not idle. */
const busyIn = (value: unknown): ReadonlySet<string> => new Set(isRecord(value) ? Object.keys(value) : []);

const toListed = (
  { id, title, time, cost = 0, tokens, parentID, agent: agentName, model }: SessionRecord,
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

const readPage = async (
  client: ServiceClient,
  { search, limit, before }: SessionsQuery,
  signal: AbortSignal,
): Promise<readonly SessionRecord[]> => {
  const query = new URLSearchParams({ roots: 'true', limit: String(limit), ...(search === '' ? {} : { search }) });
  if (before !== '') query.set('before', before);
  const { value } = await client.ask({ method: 'GET', path: `/session?${query}` }, signal);
  return fitting(SessionRecord, value, limit);
};

/** A page of the sessions of one agent server, the latest updated first. */
export const listSessions = async (
  client: ServiceClient,
  agent: number,
  query: SessionsQuery,
  signal: AbortSignal,
): Promise<readonly ListedConversation[]> => {
  const [records, busy] = await Promise.all([readPage(client, query, signal), busySessions(client, signal)]);
  return records.map((record) => toListed(record, agent, busy));
};

/** A session, and what its conversation is called at the bridge that has made it. */
type NamedSession = { readonly session: ListedConversation; readonly conversation: StoredName | undefined };

const storedNameIn = ({ metadata }: SessionRecord): StoredName | undefined => {
  const result = v.safeParse(StoredNameRecord, metadata?.[GATEHOUSE_METADATA_KEY]);
  return result.success ? result.output : undefined;
};

/** One session; undefined where the server's answer is none. */
export const readListedSession = async (
  client: ServiceClient,
  agent: number,
  id: string,
  signal: AbortSignal,
): Promise<NamedSession | undefined> => {
  const [{ value }, busy] = await Promise.all([
    client.ask({ method: 'GET', path: `/session/${id}` }, signal),
    busySessions(client, signal),
  ]);
  const result = v.safeParse(SessionRecord, value);
  if (!result.success) return undefined;
  return { session: toListed(result.output, agent, busy), conversation: storedNameIn(result.output) };
};

const SEARCHED_AT_ONCE = 200;
const SEARCHED_PAGES = 10;

/** The session of a conversation, by what the bridge has stored with it, among the 2,000 that were updated last. */
export const findConversation = async (
  client: ServiceClient,
  agent: number,
  isIt: (stored: StoredName | undefined) => boolean,
  signal: AbortSignal,
): Promise<ListedConversation | undefined> => {
  let before = '';
  for (let page = 0; page < SEARCHED_PAGES; page += 1) {
    const records = await readPage(client, { search: '', limit: SEARCHED_AT_ONCE, before }, signal);
    const found = records.find((record) => isIt(storedNameIn(record)));
    if (found !== undefined) return toListed(found, agent, await busySessions(client, signal));
    const last = records.at(-1);
    if (last === undefined || records.length < SEARCHED_AT_ONCE) return undefined;
    before = `${last.time.updated},${last.id}`;
  }
  return undefined;
};
