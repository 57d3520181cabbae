import { Fault } from '../../core/fault.ts';
import type { KeyedQueue } from '../../core/keyed-queue.ts';
import { isNotFound } from '../agent/errors.ts';
import type { AgentClient } from '../agent/types.ts';
import type { BridgeRequest, ConversationReference, HistoryMessage } from '../request.ts';
import type { Digest } from './fingerprint.ts';
import type { ConversationMatch, ConversationPlan, LockConversation } from './lock.ts';
import type { ConversationIndex, StoppedAnswers } from './lookup.ts';

import { type ClientHistory, isPlausibleHistory, isSameHistory, readHistory, storedBase } from './match.ts';
import { promptIDsIn, type StoredConversation } from './record.ts';
import { type ResponsePlace, readResponseID } from './response-id.ts';
import type { ConversationSync } from './sync.ts';
import { messagesUpTo } from './transcript.ts';
import type { Conversations, Owner, ResolvedConversation } from './types.ts';

export type ResolverNeeds = {
  readonly agent: AgentClient;
  readonly index: ConversationIndex;
  readonly keeper: ConversationSync;
  readonly stopped: StoppedAnswers;
  readonly queue: KeyedQueue;
  readonly hold: LockConversation;
  readonly digest: Digest;
  readonly newName: () => string;
  readonly matching: 'prefix' | 'named';
};

type Named = Extract<ConversationReference, { readonly kind: 'named' }>;
type Request = { readonly asked: BridgeRequest; readonly owner: Owner; readonly history: ClientHistory };

/** Where requests for a conversation stand in line. No owner has a line break in it. */
export const queueKeyOf = ({ owner, name }: { readonly owner: Owner; readonly name: string }): string =>
  `${owner}\n${name}`;

const unknownResponse = (): Fault =>
  new Fault({
    kind: 'bad-input',
    code: 'previous_response_not_found',
    param: 'previous_response_id',
    message: 'No response with this id is known here to go on from',
  });

const isThrownAway = ({ isBackgroundTask: isTask, isStored: isKept, conversation: place }: BridgeRequest): boolean =>
  isTask || (!isKept && place.kind === 'unnamed');

/**
 * Says which conversation a request belongs to. Whoever names none goes on with one only if everything that was said in it is
 * the same; nothing else, such as who the user is, makes two requests one conversation. A history that does not fit is never
 * merged with what a session has heard: a new session is told it.
 */
export const createResolver = (needs: ResolverNeeds): Conversations['resolve'] => {
  const { agent, index, keeper, stopped, queue, hold, digest, newName, matching } = needs;

  const placed = (plan: ConversationPlan): ResolvedConversation => {
    const ticket = queue.join(queueKeyOf(plan));
    return { name: plan.name, lock: (signal) => hold(plan, ticket, signal) };
  };
  const inNew = ({ asked, owner, history }: Request, given: Partial<ConversationPlan> = {}): ResolvedConversation =>
    placed({
      owner,
      name: newName(),
      isNamed: false,
      isKept: true,
      prompt: asked.prompt,
      find: () => undefined,
      replay: history,
      ...given,
    });

  const placeNamed = (request: Request, { id: name, isIncremental: remembers }: Named): ResolvedConversation => {
    const { owner, history } = request;
    const isReliant = remembers && history.entries.length === 0;
    const find = (): ConversationMatch | undefined => {
      const kept = index.byName(owner, name);
      if (kept === undefined) return undefined;
      if (isReliant) return { conversation: kept, base: storedBase(kept) };
      const told = stopped.get(kept.sessionID);
      const fits = isSameHistory(kept, history) || isPlausibleHistory(kept, history, told);
      return fits ? { conversation: kept, base: history.base } : undefined;
    };
    const line = queueKeyOf({ owner, name });
    const maySoon = queue.isNearlyFree(line) && find() !== undefined;
    if (queue.isFree(line) || isReliant || maySoon) return inNew(request, { name, isNamed: true, find });
    return inNew(request, { isNamed: true });
  };

  const placeUnnamed = async (request: Request, signal: AbortSignal): Promise<ResolvedConversation> => {
    const { owner, history } = request;
    if (matching === 'named' || history.entries.length === 0) return inNew(request);
    const { head } = history.fingerprint;
    const only = (): ConversationMatch | undefined => {
      const [kept, ...others] = index.byHead(owner, head).filter(({ isNamed }) => !isNamed);
      return kept === undefined || others.length > 0 ? undefined : { conversation: kept, base: history.base };
    };
    await keeper.findUpToDate(only, signal);
    const found = only();
    if (found === undefined || !queue.isFree(queueKeyOf(found.conversation))) return inNew(request);
    const { sessionID, name } = found.conversation;
    const find = (): ConversationMatch | undefined => {
      const kept = index.bySession(sessionID);
      return kept?.fingerprint.head === head ? { ...found, conversation: kept } : undefined;
    };
    return inNew(request, { name, find });
  };

  /** What was said up to a response that is not the last word of its conversation any more. */
  const saidBefore = async (
    kept: StoredConversation,
    place: number,
    signal: AbortSignal,
  ): Promise<readonly HistoryMessage[]> => {
    const promptID = kept.exchanges.slice(0, place + 1).findLast((exchange) => exchange.promptID !== '')?.promptID;
    if (promptID === undefined) return [];
    const upTo = { promptID, known: promptIDsIn(kept), hasReplay: kept.hasReplay };
    try {
      const said = messagesUpTo(await agent.messages(kept.sessionID, signal), upTo);
      if (said !== undefined) return said;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      index.remove(kept.sessionID);
    }
    throw unknownResponse();
  };
  const placeAfter = async (
    request: Request,
    response: ResponsePlace,
    signal: AbortSignal,
  ): Promise<ResolvedConversation> => {
    const { asked, owner } = request;
    const { sessionID, token } = response;
    const find = (): ConversationMatch | undefined => {
      const kept = index.bySession(sessionID);
      return kept?.owner === owner ? { conversation: kept, base: storedBase(kept) } : undefined;
    };
    await keeper.loadSession(sessionID, signal);
    await keeper.findUpToDate(find, signal);
    const kept = find()?.conversation;
    const place = kept?.exchanges.findIndex((exchange) => exchange.token === token) ?? -1;
    if (kept === undefined || place === -1) throw unknownResponse();
    const { name, isNamed } = kept;
    if (place < kept.exchanges.length - 1 || !queue.isNearlyFree(queueKeyOf(kept))) {
      const said = await saidBefore(kept, place, signal);
      return inNew(request, { isNamed, replay: readHistory([...said, ...asked.history], digest) });
    }
    const findLast = (): ConversationMatch => {
      const found = find();
      if (found?.conversation.name === name && found.conversation.exchanges.at(-1)?.token === token) return found;
      throw unknownResponse();
    };
    return inNew(request, { name, isNamed, find: findLast });
  };

  return async (asked, owner, signal) => {
    const request = { asked, owner, history: readHistory(asked.history, digest) };
    await keeper.load(signal);
    index.dropOld();
    if (isThrownAway(asked)) return inNew(request, { isKept: false });
    const { conversation: place } = asked;
    if (place.kind === 'named') return placeNamed(request, place);
    if (place.kind === 'unnamed') return placeUnnamed(request, signal);
    const response = readResponseID(place.responseID);
    if (response === undefined) throw unknownResponse();
    return placeAfter(request, response, signal);
  };
};
