import type { Clock } from '../../core/clock.ts';
import { withConversationName } from '../protocol/conversation-name.ts';
import type { Ids } from '../protocol/ids.ts';
import type { ChainEnd, Conversation, GivenMessage, Turn } from '../protocol/turns.ts';
import type { Session } from '../protocol/types.ts';
import { giveUpFork, prepareForkThrough } from '../session/fork.ts';
import type { Sessions } from '../session/sessions.ts';
import { CHAIN_ENDS, type Store } from '../store/store.ts';
import { longestKnown, type Place, placeInConversation } from './history/place.ts';
import { stepOf } from './output/log.ts';
import { requireTurn } from './records.ts';
import { turnRefusal } from './refusals.ts';
import type { AskedTurn } from './request.ts';

/** Where a request goes on. */
export type Located = {
  readonly conversation: Conversation;
  /** As it is stored; undefined for a new one. */
  readonly before: Conversation | undefined;
  readonly session: Session;
  /** The session is not stored yet, or hidden: it was forked. */
  readonly opened: 'new' | 'forked' | undefined;
  /** Messages of the history that the session does not have. */
  readonly rest: readonly GivenMessage[];
  /** The digest of the conversation so far, if it is known. */
  readonly chain: string | undefined;
};

type LocateNeeds = {
  readonly store: Store;
  readonly sessions: Pick<Sessions, 'get' | 'build'>;
  readonly ids: Ids;
  readonly clock: Clock;
};

/** The message with which a turn ended. */
const lastMessageOf = async (store: Pick<Store, 'messageHeads' | 'owed'>, turn: Turn): Promise<string> => {
  const { sessionID, promptID, until } = turn;
  const heads = await store.messageHeads(sessionID, { fromID: promptID });
  const steps = heads.flatMap(({ info }) => (info.role === 'assistant' && info.parentID === promptID ? [info] : []));
  const last = until === undefined ? steps.at(-1) : steps[stepOf(until)];
  const isOpen = until === undefined && (await store.owed(sessionID)).some((owed) => owed.promptID === promptID);
  if (isOpen || last?.time.completed === undefined) throw turnRefusal('turn_running');
  return last.id;
};

const placeIn = (session: Session, conversation: Conversation): Pick<Located, 'conversation' | 'session'> => ({
  conversation,
  session: withConversationName(session, conversation),
});

/** Creates the function that finds the place of a request, and prepares a fork where it needs one. */
export const createLocate = ({ store, sessions, ids, clock }: LocateNeeds) => {
  const newConversation = (
    owner: string,
    sessionID: string,
    known: Pick<Conversation, 'name' | 'originID'> = {},
  ): Conversation => ({
    id: ids('conversation'),
    owner,
    ...known,
    sessionID,
    isOfClient: false,
    metadata: {},
    createdMs: clock.now(),
  });
  const on = async (before: Conversation, request: AskedTurn): Promise<Located> => {
    const { lastTurnID, sessionID } = before;
    const isEmpty = lastTurnID === undefined && (await store.messageOutlines(sessionID, { limit: 1 })).length === 0;
    return {
      conversation: before,
      before,
      session: await sessions.get(sessionID),
      opened: undefined,
      rest: request.body.isAppended ? request.history : [],
      chain: lastTurnID === undefined ? (isEmpty ? '' : undefined) : (await store.turns.chainOf(lastTurnID))?.digest,
    };
  };
  /** `before`: the conversation that moves to the new session. */
  const inNewSession = (
    { owner, body, history }: AskedTurn,
    { before, name, directory }: { before?: Conversation; name?: string; directory: string },
  ): Located => {
    const session = sessions.build({ directory, title: body.title });
    const conversation = before
      ? { ...before, sessionID: session.id }
      : newConversation(owner, session.id, name === undefined ? {} : { name });
    return { ...placeIn(session, conversation), before, opened: 'new', rest: history, chain: '' };
  };
  const inFork = async (
    { owner, history }: AskedTurn,
    end: Pick<ChainEnd, 'turnID' | 'sessionID'> & { readonly digest?: string | undefined },
    { before, count }: { readonly before?: Conversation | undefined; readonly count: number },
  ): Promise<Located> => {
    const original = await sessions.get(end.sessionID);
    const turn = await requireTurn(store, owner, end.turnID);
    const { originID = turn.conversationID } = (await store.turns.conversation(owner, turn.conversationID)) ?? {};
    const session = await prepareForkThrough({ store, ids, clock }, original, await lastMessageOf(store, turn));
    const conversation = before
      ? { ...before, sessionID: session.id }
      : newConversation(owner, session.id, { originID });
    return {
      ...placeIn(session, conversation),
      before,
      opened: 'forked',
      rest: history.slice(count),
      chain: end.digest,
    };
  };
  const at = (place: Place, request: AskedTurn, before: Conversation, moves: boolean, directory: string) => {
    if (place.kind === 'on') return on(before, request);
    const moved = moves ? { before } : {};
    if (place.kind === 'forked') return inFork(request, place.end, { ...moved, count: place.count });
    return inNewSession(request, { ...moved, directory });
  };
  const compared = async (request: AskedTurn): Promise<readonly ChainEnd[]> =>
    store.turns.chains(
      request.owner,
      request.chains.map(({ digest }) => digest),
    );
  const isCompared = ({ history, body }: AskedTurn): boolean =>
    (history.length > 0 || body.isCompared) && !body.isAppended;

  const afterTurn = async (request: AskedTurn, turnID: string, directory: string): Promise<Located> => {
    const { owner } = request;
    const turn = await requireTurn(store, owner, turnID);
    const conversation = await store.turns.conversation(owner, turn.conversationID);
    if (conversation === undefined) throw turnRefusal('turn_not_found');
    const digest = (await store.turns.chainOf(turnID))?.digest;
    const within = { sessionID: turn.sessionID, tip: digest };
    const place: Place = isCompared(request)
      ? placeInConversation(request.chains, await compared(request), within)
      : { kind: 'on' };
    const isLast = conversation.lastTurnID === turnID && conversation.sessionID === turn.sessionID;
    if (place.kind !== 'on' || isLast) return at(place, request, conversation, false, directory);
    const count = request.body.isAppended ? 0 : request.history.length;
    return inFork(request, { turnID, sessionID: turn.sessionID, digest }, { count });
  };
  const inConversation = async (request: AskedTurn, before: Conversation, directory: string): Promise<Located> => {
    const { sessionID, lastTurnID } = before;
    if (!isCompared(request) || (request.history.length === 0 && lastTurnID === undefined)) return on(before, request);
    const tip = lastTurnID === undefined ? undefined : (await store.turns.chainOf(lastTurnID))?.digest;
    const place = placeInConversation(request.chains, await compared(request), { sessionID, tip });
    return at(place, request, before, true, directory);
  };
  /** Whether a session is as a turn has left it. */
  const isTip = async (conversation: Conversation, { turnID, sessionID, promptID }: ChainEnd): Promise<boolean> => {
    if (conversation.lastTurnID !== turnID || conversation.sessionID !== sessionID) return false;
    if ((await store.owed(sessionID)).length > 0) return false;
    const [last] = await store.messageHeads(sessionID, { limit: 1 });
    return last?.info.role === 'assistant' && last.info.parentID === promptID;
  };
  /** The conversation that rests where a history ends: the only one, or the newest where all were forked from one. */
  const restingAt = async ({ owner, chains }: AskedTurn, ends: readonly ChainEnd[]) => {
    const whole = ends.filter(({ digest }) => digest === chains.at(-1)?.digest);
    // There may be more.
    if (whole.length >= CHAIN_ENDS) return undefined;
    const resting = await Promise.all(
      whole.map(async (end) => {
        const turn = await store.turns.turn(owner, end.turnID);
        const conversation = turn && (await store.turns.conversation(owner, turn.conversationID));
        return conversation && (await isTip(conversation, end)) ? [conversation] : [];
      }),
    );
    const [newest, ...others] = resting.flat().toSorted((one, two) => (one.id < two.id ? 1 : -1));
    const originOf = ({ id, originID = id }: Conversation): string => originID;
    return newest && others.every((one) => originOf(one) === originOf(newest)) ? newest : undefined;
  };
  const byHistory = async (request: AskedTurn, directory: string): Promise<Located> => {
    const { body } = request;
    if (!isCompared(request) || body.isNew) return inNewSession(request, { directory });
    const ends = await compared(request);
    const resting = await restingAt(request, ends);
    if (resting !== undefined) return on(resting, request);
    const known = longestKnown(request.chains, ends);
    if (known === undefined) return inNewSession(request, { directory });
    return inFork(request, known.end, { count: known.count });
  };

  const find = async (request: AskedTurn, directory: string): Promise<Located> => {
    const { owner, body } = request;
    const asked = body.conversation;
    if (asked === undefined) return byHistory(request, directory);
    if ('after' in asked) return afterTurn(request, asked.after, directory);
    const found =
      'id' in asked
        ? await store.turns.conversation(owner, asked.id)
        : await store.turns.conversationByName(owner, asked.name);
    if (found !== undefined) return inConversation(request, found, directory);
    if ('id' in asked) throw turnRefusal('conversation_not_found');
    return inNewSession(request, { name: asked.name, directory });
  };
  return {
    find,
    /** Removes what was prepared in vain. */
    giveUp: ({ session, opened }: Located): Promise<void> =>
      opened === undefined ? Promise.resolve() : giveUpFork({ store }, session),
  };
};
