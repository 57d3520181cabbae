import type { Clock } from '../../../core/clock.ts';
import { Fault } from '../../../core/fault.ts';
import type { RequestBodies } from '../../../core/http/request-bodies.ts';
import { jsonResponse, jsonTextResponse } from '../../../core/http/response.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import { writeJson } from '../../../core/json.ts';
import type { RunInSlices } from '../../../core/time-slices.ts';
import { ignoreNotFound, isNotFound } from '../../agent/errors.ts';
import type { ModelCatalog } from '../../agent/models.ts';
import type { AgentClient } from '../../agent/types.ts';
import type { StoredConversation } from '../../conversation/record.ts';
import { conversationNotFound } from '../../conversation/response-id.ts';
import type { ClientConversations } from '../../conversation/stored/created.ts';
import { holdsItem, isStoredItem, promptOfItem, type StoredItem } from '../../conversation/stored/items.ts';
import type { Owner } from '../../conversation/types.ts';
import { withinLimit } from '../../conversation/writes.ts';
import { badInput, isSentAgain } from '../../request.ts';
import { parseBodyObject } from '../body.ts';
import type { TrackRequest } from '../tracked.ts';
import { type HistoryItem, messageOfItem, readHistoryItems, toStoredHistoryItem } from './history.ts';
import { parseMetadata } from './metadata.ts';
import { parseNewItems } from './new-items.ts';
import { parsePageQuery, toItemPage } from './page.ts';

type ConversationRoutesOptions = {
  readonly tracked: TrackRequest;
  readonly authenticate: (request: Request) => Owner;
  readonly conversations: ClientConversations;
  readonly agent: Pick<AgentClient, 'session' | 'messages' | 'busySessions' | 'prompt' | 'deleteMessage'>;
  readonly catalog: Pick<ModelCatalog, 'find'>;
  readonly bodies: Pick<RequestBodies, 'readJson' | 'readJsonIfAny'>;
  readonly clock: Clock;
  readonly runInSlices: RunInSlices;
  readonly showsReasoning: boolean;
};

/** A client that has left by then waits for nothing, and the rest of the writing is short. */
const never = new AbortController().signal;

const toConversation = ({ name, createdAt, clientMetadata = {} }: StoredConversation) => ({
  id: name,
  object: 'conversation' as const,
  created_at: Math.floor(createdAt / 1000),
  metadata: clientMetadata,
});

/** How long the agent may take to store one item. */
const STORED_WITHIN_MS = 20_000;

const WAITING = new Fault({
  kind: 'conflict',
  message:
    'The agent is at work in this conversation, or waits for an approval there: answer that first, or wait for the end',
});

const AWAITED_CALLS = new Fault({
  kind: 'conflict',
  message:
    'The agent waits here for results of your functions: send them with a request for a response in this conversation',
});

const ITEM_OF_TURN = badInput(
  'unsupported_value',
  null,
  'The agent keeps a prompt and its answer together: delete the conversation, or put the items that you want into a new one',
);

const itemNotFound = (): Fault =>
  new Fault({ kind: 'not-found', hint: 'There is no item with this id in this conversation' });

/** `/v1/conversations` and the items of one. A conversation is a session of the agent, and so is what it holds. */
export const createConversationRoutes = (options: ConversationRoutesOptions): RouteTable => {
  const { tracked, authenticate, conversations, agent, catalog, bodies, clock, runInSlices, showsReasoning } = options;
  const toResponse = async (value: object): Promise<Response> =>
    jsonTextResponse(200, await runInSlices(writeJson(value), never));

  const readItems = async (
    { sessionID, exchanges, name }: StoredConversation,
    signal: AbortSignal,
  ): Promise<readonly HistoryItem[]> => {
    try {
      const messages = await agent.messages(sessionID, signal);
      return await runInSlices(readHistoryItems({ sessionID, exchanges, messages, showsReasoning }), signal);
    } catch (error) {
      throw isNotFound(error) ? conversationNotFound(name) : error;
    }
  };
  /** Does something in a conversation in which nothing runs. `changedAtMs`: until then, by the agent's clock. */
  const whileHeld = async <T>(
    conversation: StoredConversation,
    signal: AbortSignal,
    work: (sessionID: string, changedAtMs: number) => Promise<T>,
  ): Promise<T> => {
    const { sessionID, name } = conversation;
    const { release } = await conversations.hold(conversation, signal);
    try {
      if ((await agent.busySessions(signal)).has(sessionID)) throw WAITING;
      const { awaitedCalls, time } = await agent.session(sessionID, signal);
      // A new message, or one that is deleted, ends them.
      if (awaitedCalls !== undefined) throw AWAITED_CALLS;
      return await work(sessionID, time.updated);
    } catch (error) {
      throw isNotFound(error) ? conversationNotFound(name) : error;
    } finally {
      release();
    }
  };
  const toJson = async (items: readonly StoredItem[], signal: AbortSignal): Promise<readonly string[]> => {
    const written: string[] = [];
    for (const item of items) written.push(await runInSlices(writeJson(item), signal));
    return written;
  };
  /** The message of an item whose connection broke before the agent's answer came, if it is there: it is newer than `sinceMs`. */
  const findInDoubt = async (sessionID: string, json: string, sinceMs: number): Promise<readonly string[]> => {
    const last = (await agent.messages(sessionID, never).catch(() => [])).at(-1);
    const createdMs = last?.info.time?.created ?? 0;
    return last !== undefined && createdMs >= sinceMs && holdsItem(last, json) ? [last.info.id] : [];
  };
  /** Stores all of the items, or none of them. `sinceMs`: when the session was changed before. */
  const addItems = async (
    sessionID: string,
    items: readonly string[],
    { sinceMs, signal }: { readonly sinceMs: number; readonly signal: AbortSignal },
  ): Promise<readonly HistoryItem[]> => {
    const { providerID, modelID } = await catalog.find(undefined);
    const added: string[] = [];
    try {
      const made: HistoryItem[] = [];
      for (const item of items) {
        signal.throwIfAborted();
        const prompt = promptOfItem(item, { providerID, modelID });
        // A prompt has no time limit of its own.
        const record = await withinLimit(clock, STORED_WITHIN_MS, (limited) =>
          agent.prompt(sessionID, prompt, limited),
        );
        added.push(record.info.id);
        made.push(...[toStoredHistoryItem(record) ?? []].flat());
      }
      return made;
    } catch (error) {
      const inDoubt = await findInDoubt(sessionID, items[added.length] ?? '', sinceMs);
      for (const id of new Set([...added, ...inDoubt])) await agent.deleteMessage(sessionID, id, never).catch(() => {});
      throw error;
    }
  };
  /** The items of a request that was sent before, if they were added then and nothing has come after them. */
  const findAdded = async (
    sessionID: string,
    items: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly HistoryItem[] | undefined> => {
    const last = (await agent.messages(sessionID, signal)).slice(-items.length);
    const areSame =
      last.length === items.length && last.every((record, index) => holdsItem(record, items[index] ?? ''));
    return areSame ? last.flatMap((record) => toStoredHistoryItem(record) ?? []) : undefined;
  };
  const listOf = (items: readonly HistoryItem[]): object =>
    toItemPage(items, { limit: Math.max(1, items.length), order: 'asc', after: undefined });

  return {
    '/v1/conversations': {
      POST: tracked(async (request, _params, signal) => {
        const owner = authenticate(request);
        const body = parseBodyObject((await bodies.readJsonIfAny(request)) ?? {});
        const metadata = parseMetadata(body.metadata);
        const items = await toJson(parseNewItems(body.items ?? []), signal);
        const created = await conversations.create(owner, metadata, signal);
        try {
          if (items.length > 0) await addItems(created.sessionID, items, { sinceMs: 0, signal });
        } catch (error) {
          await conversations.delete(created, never).catch(() => {});
          throw error;
        }
        return jsonResponse(200, toConversation(created));
      }),
    },
    '/v1/conversations/:id': {
      GET: tracked(async (request, { id = '' }, signal) => {
        return jsonResponse(200, toConversation(await conversations.find(authenticate(request), id, signal)));
      }),
      POST: tracked(async (request, { id = '' }, signal) => {
        const owner = authenticate(request);
        const body = parseBodyObject(await bodies.readJson(request));
        if (body.metadata === undefined)
          throw badInput('missing_required_parameter', 'metadata', "Missing required parameter: 'metadata'");
        const metadata = parseMetadata(body.metadata);
        const found = await conversations.find(owner, id, signal);
        return jsonResponse(200, toConversation(await conversations.setMetadata(found, metadata)));
      }),
      DELETE: tracked(async (request, { id = '' }, signal) => {
        const found = await conversations.find(authenticate(request), id, signal);
        await conversations.delete(found, signal);
        return jsonResponse(200, { id: found.name, object: 'conversation.deleted', deleted: true });
      }),
    },
    '/v1/conversations/:id/items': {
      GET: tracked(async (request, { id = '' }, signal) => {
        const owner = authenticate(request);
        const query = parsePageQuery(request);
        const found = await conversations.find(owner, id, signal);
        return toResponse(toItemPage(await readItems(found, signal), query));
      }),
      POST: tracked(async (request, { id = '' }, signal) => {
        const owner = authenticate(request);
        const given = parseNewItems(parseBodyObject(await bodies.readJson(request)).items);
        const items = await toJson(given, signal);
        if (items.length === 0) throw badInput('empty_array', 'items', "Expected at least one item at 'items'");
        const found = await conversations.find(owner, id, signal);
        const isRepeated = isSentAgain(request.headers);
        const added = await whileHeld(found, signal, async (sessionID, sinceMs) => {
          const before = isRepeated ? await findAdded(sessionID, items, signal) : undefined;
          return before ?? addItems(sessionID, items, { sinceMs, signal });
        });
        return toResponse(listOf(added));
      }),
    },
    '/v1/conversations/:id/items/:item': {
      GET: tracked(async (request, { id = '', item: itemID = '' }, signal) => {
        const found = await conversations.find(authenticate(request), id, signal);
        const item = (await readItems(found, signal)).find((one) => one.id === itemID);
        if (item === undefined) throw itemNotFound();
        return toResponse(item);
      }),
      DELETE: tracked(async (request, { id = '', item: itemID = '' }, signal) => {
        const found = await conversations.find(authenticate(request), id, signal);
        const messageID = messageOfItem(itemID);
        const outcome = await whileHeld(found, signal, async (sessionID) => {
          const messages = await agent.messages(sessionID, signal);
          const record = messages.find(({ info }) => info.id === messageID);
          if (record !== undefined && isStoredItem(record)) {
            await agent.deleteMessage(sessionID, record.info.id, signal).catch(ignoreNotFound);
            return 'deleted';
          }
          const history = { sessionID, exchanges: found.exchanges, messages, showsReasoning };
          const items = await runInSlices(readHistoryItems(history), signal);
          return items.some((one) => one.id === itemID) ? 'of a turn' : 'unknown';
        });
        if (outcome === 'unknown') throw itemNotFound();
        if (outcome === 'of a turn') throw ITEM_OF_TURN;
        return jsonResponse(200, toConversation(found));
      }),
    },
  };
};
