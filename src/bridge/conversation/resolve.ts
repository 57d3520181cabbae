import { Fault } from '../../core/fault.ts';
import type { KeyedQueue } from '../../core/keyed-queue.ts';
import { isNotFound } from '../agent/errors.ts';
import type { Agent } from '../agent/types.ts';
import type { Asked, Place, Said } from '../request.ts';
import type { Digest } from './fingerprint.ts';
import type { GoingOn, Holding, Plan } from './lock.ts';
import type { ConversationIndex, StoppedAnswers } from './lookup.ts';
import { footingIn, type History, historyOf, isHistoryOf, mayStandFor } from './match.ts';
import { type Kept, promptIDsOf } from './record.ts';
import { type ResponsePlace, readResponseID } from './response-id.ts';
import type { ConversationKeeper } from './sync.ts';
import { saidUpTo } from './transcript.ts';
import type { Conversations, Owner, Placement } from './types.ts';

export type PlacingNeeds = {
  readonly agent: Agent;
  readonly index: ConversationIndex;
  readonly keeper: ConversationKeeper;
  readonly stopped: StoppedAnswers;
  readonly queue: KeyedQueue;
  readonly hold: Holding;
  readonly digest: Digest;
  readonly newName: () => string;
  readonly matching: 'prefix' | 'named';
};

type Named = Extract<Place, { readonly kind: 'named' }>;
type Request = { readonly asked: Asked; readonly owner: Owner; readonly history: History };

/** Where requests for a conversation stand in line. No owner has a line break in it. */
export const lineOf = ({ owner, name }: { readonly owner: Owner; readonly name: string }): string =>
  `${owner}\n${name}`;

const unknownResponse = (): Fault =>
  new Fault({
    kind: 'bad-input',
    code: 'previous_response_not_found',
    param: 'previous_response_id',
    message: 'No response with this id is known here to go on from',
  });

const isThrownAway = ({ isTask, isKept, place }: Asked): boolean => isTask || (!isKept && place.kind === 'unnamed');

/**
 * Says which conversation a request belongs to. Whoever names none goes on with one only if everything that was said in it is
 * the same; nothing else, such as who the user is, makes two requests one conversation. A history that does not fit is never
 * merged with what a session has heard: a new session is told it.
 */
export const createPlacing = (needs: PlacingNeeds): Conversations['place'] => {
  const { agent, index, keeper, stopped, queue, hold, digest, newName, matching } = needs;

  const placed = (plan: Plan): Placement => {
    const ticket = queue.join(lineOf(plan));
    return { name: plan.name, hold: (signal) => hold(plan, ticket, signal) };
  };
  const inNew = ({ asked, owner, history }: Request, given: Partial<Plan> = {}): Placement =>
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

  const placeNamed = (request: Request, { id: name, remembers }: Named): Placement => {
    const { owner, history } = request;
    const isReliant = remembers && history.entries.length === 0;
    const find = (): GoingOn | undefined => {
      const kept = index.byName(owner, name);
      if (kept === undefined) return undefined;
      if (isReliant) return { kept, footing: footingIn(kept) };
      const told = stopped.get(kept.sessionID);
      const fits = isHistoryOf(kept, history) || mayStandFor(kept, history, told);
      return fits ? { kept, footing: history.footing } : undefined;
    };
    const line = lineOf({ owner, name });
    const maySoon = queue.isNearlyFree(line) && find() !== undefined;
    if (queue.isFree(line) || isReliant || maySoon) return inNew(request, { name, isNamed: true, find });
    return inNew(request, { isNamed: true });
  };

  const placeUnnamed = async (request: Request, signal: AbortSignal): Promise<Placement> => {
    const { owner, history } = request;
    if (matching === 'named' || history.entries.length === 0) return inNew(request);
    const { head } = history.standing;
    const only = (): GoingOn | undefined => {
      const [kept, ...others] = index.byHead(owner, head).filter(({ isNamed }) => !isNamed);
      return kept === undefined || others.length > 0 ? undefined : { kept, footing: history.footing };
    };
    await keeper.sure(only, signal);
    const found = only();
    if (found === undefined || !queue.isFree(lineOf(found.kept))) return inNew(request);
    const { sessionID, name } = found.kept;
    const find = (): GoingOn | undefined => {
      const kept = index.bySession(sessionID);
      return kept?.said.head === head ? { ...found, kept } : undefined;
    };
    return inNew(request, { name, find });
  };

  /** What was said up to a response that is not the last word of its conversation any more. */
  const saidBefore = async (kept: Kept, place: number, signal: AbortSignal): Promise<readonly Said[]> => {
    const promptID = kept.exchanges.slice(0, place + 1).findLast((exchange) => exchange.promptID !== '')?.promptID;
    if (promptID === undefined) return [];
    const upTo = { promptID, known: promptIDsOf(kept), hasReplay: kept.hasReplay };
    try {
      const said = saidUpTo(await agent.messages(kept.sessionID, signal), upTo);
      if (said !== undefined) return said;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      index.remove(kept.sessionID);
    }
    throw unknownResponse();
  };
  const placeAfter = async (request: Request, response: ResponsePlace, signal: AbortSignal): Promise<Placement> => {
    const { asked, owner } = request;
    const { sessionID, token } = response;
    const find = (): GoingOn | undefined => {
      const kept = index.bySession(sessionID);
      return kept?.owner === owner ? { kept, footing: footingIn(kept) } : undefined;
    };
    await keeper.recall(sessionID, signal);
    await keeper.sure(find, signal);
    const kept = find()?.kept;
    const place = kept?.exchanges.findIndex((exchange) => exchange.token === token) ?? -1;
    if (kept === undefined || place === -1) throw unknownResponse();
    const { name, isNamed } = kept;
    if (place < kept.exchanges.length - 1 || !queue.isNearlyFree(lineOf(kept))) {
      const said = await saidBefore(kept, place, signal);
      return inNew(request, { isNamed, replay: historyOf([...said, ...asked.history], digest) });
    }
    const findLast = (): GoingOn => {
      const found = find();
      if (found?.kept.name === name && found.kept.exchanges.at(-1)?.token === token) return found;
      throw unknownResponse();
    };
    return inNew(request, { name, isNamed, find: findLast });
  };

  return async (asked, owner, signal) => {
    const request = { asked, owner, history: historyOf(asked.history, digest) };
    await keeper.load(signal);
    index.dropOld();
    if (isThrownAway(asked)) return inNew(request, { isKept: false });
    const { place } = asked;
    if (place.kind === 'named') return placeNamed(request, place);
    if (place.kind === 'unnamed') return placeUnnamed(request, signal);
    const response = readResponseID(place.responseID);
    if (response === undefined) throw unknownResponse();
    return placeAfter(request, response, signal);
  };
};
