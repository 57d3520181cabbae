import type { KeyedQueue } from '../../core/keyed-queue.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import { isNotFound } from '../agent/errors.ts';
import type { AgentClient } from '../agent/types.ts';
import { type BridgeRequest, type ConversationReference, type HistoryMessage, isOneOff } from '../request.ts';
import type { NewHash } from './digest.ts';
import { normalizeMessages } from './fingerprint.ts';
import type { LockConversation } from './lock.ts';
import { type ConversationIndex, queueKeyOf, type StoppedAnswers } from './lookup.ts';
import { type ClientHistory, formsOf, isPlausibleHistory, readHistory, sameHistory, storedBase } from './match.ts';
import type { ConversationMatch, ConversationPlan } from './open-session.ts';
import { promptIDsIn, type StoredConversation } from './record.ts';
import {
  conversationNotFound,
  previousResponseNotFound,
  readResponseID,
  responseTokenOf,
  sessionInConversationID,
} from './response-id.ts';
import { refuseDecided } from './stored/continued.ts';
import type { ConversationSync } from './sync.ts';
import { messagesUpTo } from './transcript.ts';
import type { Conversations, Owner, RequestMark, ResolvedConversation } from './types.ts';

type ResolverNeeds = {
  readonly agent: Pick<AgentClient, 'messages'>;
  readonly responseOfItem: Conversations['responseOfItem'];
  readonly index: ConversationIndex;
  readonly sync: ConversationSync;
  readonly stopped: StoppedAnswers;
  readonly queue: KeyedQueue;
  readonly lock: LockConversation;
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
  readonly newName: () => string;
  readonly matching: 'prefix' | 'named';
};

type NamedReference = Extract<ConversationReference, { readonly kind: 'named' }>;
type Sent = {
  readonly request: BridgeRequest;
  readonly owner: Owner;
  readonly mark: RequestMark | undefined;
  readonly history: ClientHistory;
  /** How many looks at the agent had begun when it came. */
  readonly looks: number;
};

/**
 * Finds the conversation that a request belongs to. A request that names none continues one only if all of its history is the
 * same; nothing else, such as the name of the user, joins two requests. A history that does not match is never merged into an
 * existing session: a new session receives it.
 */
export const createResolver = (needs: ResolverNeeds): Conversations['resolve'] => {
  const { agent, responseOfItem, index, sync, stopped, queue, lock, newHash, runInSlices, newName, matching } = needs;
  const readInSlices = (messages: readonly HistoryMessage[], signal: AbortSignal): Promise<ClientHistory> =>
    runInSlices(readHistory(messages, newHash), signal);

  /** A new conversation, but for what is given. Joins the queue. */
  const enqueue = (
    { request, owner, mark, history }: Sent,
    given: Partial<ConversationPlan> = {},
  ): ResolvedConversation => {
    const plan: ConversationPlan = {
      owner,
      name: newName(),
      isNamed: false,
      isStored: true,
      prompt: request.prompt,
      mark,
      find: () => undefined,
      // With a key the mark is stored first, and results of calls may need no prompt.
      claimsWithPrompt: mark?.keyDigest === undefined && request.toolResults === undefined,
      waitsForOthers: false,
      replay: async () => history,
      ...given,
    };
    const ticket = queue.join(queueKeyOf(plan));
    return { name: plan.name, lock: (signal) => lock(plan, ticket, signal) };
  };

  /** The messages up to a response that is not the last one of its conversation any more; undefined if they are lost. */
  const readMessagesUpTo = async (
    conversation: StoredConversation,
    { position, request }: { readonly position: number; readonly request?: BridgeRequest },
    signal: AbortSignal,
  ): Promise<readonly HistoryMessage[] | undefined> => {
    const { sessionID, exchanges, hasReplay } = conversation;
    const promptID = exchanges.slice(0, position + 1).findLast((exchange) => exchange.promptID !== '')?.promptID;
    if (promptID === undefined) return [];
    const answeredCallIDs = request?.toolResults?.results.map(({ callID }) => callID) ?? [];
    const turn = { promptID, known: promptIDsIn(conversation), hasReplay, answeredCallIDs };
    try {
      return messagesUpTo(await agent.messages(sessionID, signal), turn);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      index.remove(sessionID);
      return undefined;
    }
  };
  /** The last answer, if its client has left during it and another bridge gave it: the agent has all of it. */
  const readStoppedAnswer = async (
    conversation: StoredConversation | undefined,
    signal: AbortSignal,
  ): Promise<void> => {
    if (conversation?.stoppedAt === undefined || stopped.get(conversation) !== undefined) return;
    const messages = await readMessagesUpTo(conversation, { position: conversation.exchanges.length - 1 }, signal);
    const last = (await runInSlices(normalizeMessages(messages ?? []), signal)).at(-1);
    stopped.set(conversation, last?.role === 'assistant' ? last.text : '');
  };
  const resolveNamed = async (
    sent: Sent,
    { id: name, isIncremental }: NamedReference,
    signal: AbortSignal,
  ): Promise<ResolvedConversation> => {
    const { owner, history, looks } = sent;
    const reliesOnStored = isIncremental && history.entries.length === 0;
    const find = (): ConversationMatch | undefined => {
      const conversation = index.byName(owner, name);
      if (conversation === undefined) return undefined;
      if (reliesOnStored) return { conversation, base: storedBase(conversation) };
      const same = sameHistory(conversation, history);
      if (same !== undefined) return { conversation, base: same.base };
      const isMeant = isPlausibleHistory(conversation, history, stopped.get(conversation));
      return isMeant ? { conversation, base: history.base } : undefined;
    };
    const queueKey = queueKeyOf({ owner, name });
    // One that relies on what is stored looks when its turn has come.
    if (!reliesOnStored && find() === undefined && queue.isFree(queueKey)) {
      await sync.lookAfter(looks, signal);
      await readStoppedAnswer(index.byName(owner, name), signal);
    }
    // The name of a conversation that a client has created never passes to another session.
    const isCreated = sessionInConversationID(name) !== undefined;
    if (isCreated && find() === undefined) return enqueue(sent, { isNamed: true });
    const isMatchSoon = queue.isNearlyFree(queueKey) && find() !== undefined;
    if (queue.isFree(queueKey) || reliesOnStored || isMatchSoon)
      return enqueue(sent, { name, isNamed: true, find, waitsForOthers: reliesOnStored, isCreated });
    return enqueue(sent, { isNamed: true });
  };

  /** A conversation that a client has created: its id leads to its session, which has to be there. */
  const resolveCreated = async (
    sent: Sent,
    reference: NamedReference,
    sessionID: string,
    signal: AbortSignal,
  ): Promise<ResolvedConversation> => {
    const { id: name, appends = false } = reference;
    const find = (): ConversationMatch | undefined => {
      const conversation = index.bySession(sessionID);
      const isMeant = conversation?.owner === sent.owner && conversation.name === name;
      return isMeant ? { conversation, base: storedBase(conversation) } : undefined;
    };
    if (find() === undefined) await sync.refresh(sessionID, signal);
    if (find() === undefined) throw conversationNotFound(name);
    if (!appends) return resolveNamed(sent, reference, signal);
    return enqueue(sent, { name, isNamed: true, find, waitsForOthers: true, isCreated: true, appends });
  };

  const isNewAndUnnamed = ({ request, history }: Sent): boolean =>
    request.conversation.kind === 'unnamed' && (matching === 'named' || history.entries.length === 0);

  const resolveUnnamed = async (sent: Sent, signal: AbortSignal): Promise<ResolvedConversation> => {
    const { owner, history, looks } = sent;
    if (isNewAndUnnamed(sent)) return enqueue(sent);
    const findAll = (): readonly ConversationMatch[] =>
      formsOf(history).flatMap(({ fingerprint, base }) =>
        index.byHead(owner, fingerprint.head).map((conversation) => ({ conversation, base })),
      );
    const findOnly = (): ConversationMatch | undefined => {
      const [match, ...others] = findAll().filter(({ conversation }) => !conversation.isNamed);
      return others.length > 0 ? undefined : match;
    };
    if (findAll().length === 0) await sync.lookAfter(looks, signal);
    if (findOnly()?.conversation.claim === undefined) await sync.findUpToDate(findOnly, signal);
    const found = findOnly();
    if (found === undefined || found.conversation.claim !== undefined || !queue.isFree(queueKeyOf(found.conversation)))
      return enqueue(sent);
    const { sessionID, name, fingerprint } = found.conversation;
    const find = (): ConversationMatch | undefined => {
      const conversation = index.bySession(sessionID);
      return conversation?.fingerprint.head === fingerprint.head ? { ...found, conversation } : undefined;
    };
    return enqueue(sent, { name, find });
  };

  const resolveAfter = async (sent: Sent, responseID: string, signal: AbortSignal): Promise<ResolvedConversation> => {
    const { request, owner } = sent;
    const location = readResponseID(responseID);
    if (location === undefined) throw previousResponseNotFound(responseID);
    const { sessionID, token } = location;
    const find = (): ConversationMatch | undefined => {
      const conversation = index.bySession(sessionID);
      return conversation?.owner === owner ? { conversation, base: storedBase(conversation) } : undefined;
    };
    const positionIn = (conversation: StoredConversation | undefined): number =>
      conversation?.exchanges.findIndex((exchange) => exchange.token === token) ?? -1;
    const replay = async (replaySignal: AbortSignal, isLost: boolean): Promise<ClientHistory> => {
      if (isLost) return sent.history;
      const conversation = find()?.conversation;
      const position = positionIn(conversation);
      if (conversation === undefined || position === -1) throw previousResponseNotFound(responseID);
      const earlier = await readMessagesUpTo(conversation, { position, request }, replaySignal);
      if (earlier === undefined) throw previousResponseNotFound(responseID);
      return readInSlices([...earlier, ...request.history], replaySignal);
    };
    if (positionIn(find()?.conversation) === -1) await sync.refresh(sessionID, signal);
    if (find()?.conversation.claim === undefined) await sync.findUpToDate(find, signal);
    const conversation = find()?.conversation;
    const position = positionIn(conversation);
    if (conversation === undefined) throw previousResponseNotFound(responseID);
    const { name, isNamed, exchanges, claim, request: last } = conversation;
    // It is still made, or its bridge has ended: the request waits for its end.
    const isMade = last?.isBackground === true && responseTokenOf(last.token) === token;
    if (position === -1 && isMade) return enqueue(sent, { name, isNamed, find, waitsForOthers: true });
    if (position === -1) throw previousResponseNotFound(responseID);
    refuseDecided(conversation, position);
    if (position < exchanges.length - 1 || claim !== undefined || !queue.isNearlyFree(queueKeyOf(conversation))) {
      const history = await replay(signal, false);
      return enqueue(sent, { isNamed, replay: async () => history });
    }
    const findLast = (): ConversationMatch | undefined => {
      const found = find();
      return found?.conversation.exchanges.at(-1)?.token === token ? found : undefined;
    };
    return enqueue(sent, { name, isNamed, find: findLast, replay });
  };

  return async (request, owner, signal, mark) => {
    const looks = sync.looks();
    const { history: messages, toolResults } = request;
    const history = await runInSlices(readHistory(messages, newHash, toolResults?.withheld), signal);
    const sent = { request, owner, mark, history, looks };
    index.dropOld();
    if (isOneOff(request)) return enqueue(sent, { isStored: false });
    const { conversation } = request;
    const createdID = conversation.kind === 'named' ? sessionInConversationID(conversation.id) : undefined;
    if (conversation.kind === 'named' && createdID !== undefined)
      return resolveCreated(sent, conversation, createdID, signal);
    // What needs no search does not wait until all conversations are read.
    const isAfter = conversation.kind === 'after' || conversation.kind === 'after-item';
    if (!isAfter && !isNewAndUnnamed(sent)) await sync.load(signal);
    if (conversation.kind === 'named') return resolveNamed(sent, conversation, signal);
    if (conversation.kind === 'unnamed') return resolveUnnamed(sent, signal);
    if (conversation.kind === 'after') return resolveAfter(sent, conversation.responseID, signal);
    return resolveAfter(sent, await responseOfItem(conversation.itemID, owner, signal), signal);
  };
};
