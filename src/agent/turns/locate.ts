import { withConversationName } from '../protocol/conversation-name.ts';
import type { GivenMessage } from '../protocol/given-messages.ts';
import type { ChainEnd, Conversation, Turn } from '../protocol/turns.ts';
import type { Session } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { giveUpFork, prepareForkThrough } from '../session/fork.ts';
import type { SessionParts } from '../session/sessions.ts';
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

/** A request, and the directory of a session that is made for it. */
type Asked = { readonly request: AskedTurn; readonly directory: string };

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

const newConversation = (
  { ids, clock }: AgentRuntime,
  owner: string,
  known: Pick<Conversation, 'sessionID' | 'name' | 'originID'>,
): Conversation => ({
  id: ids('conversation'),
  owner,
  ...known,
  isOfClient: false,
  metadata: {},
  createdMs: clock.now(),
});

const on = async ({ store, sessions }: SessionParts, before: Conversation, request: AskedTurn): Promise<Located> => {
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
  needs: SessionParts,
  { request: { owner, body, history }, directory }: Asked,
  { before, name }: { readonly before?: Conversation; readonly name?: string } = {},
): Located => {
  const session = needs.sessions.build({ directory, title: body.title });
  const place = { sessionID: session.id, ...(name === undefined ? {} : { name }) };
  const conversation = before ? { ...before, sessionID: session.id } : newConversation(needs, owner, place);
  return { ...placeIn(session, conversation), before, opened: 'new', rest: history, chain: '' };
};

const inFork = async (
  needs: SessionParts,
  { owner, history }: AskedTurn,
  {
    end,
    before,
    count,
  }: {
    readonly end: Pick<ChainEnd, 'turnID' | 'sessionID'> & { readonly digest?: string | undefined };
    readonly before?: Conversation | undefined;
    /** How many messages of the history the fork has. */
    readonly count: number;
  },
): Promise<Located> => {
  const { store } = needs;
  const original = await needs.sessions.get(end.sessionID);
  const turn = await requireTurn(store, owner, end.turnID);
  const { originID = turn.conversationID } = (await store.turns.conversation(owner, turn.conversationID)) ?? {};
  const session = await prepareForkThrough(needs, original, await lastMessageOf(store, turn));
  const place = { sessionID: session.id, originID };
  const conversation = before ? { ...before, sessionID: session.id } : newConversation(needs, owner, place);
  return {
    ...placeIn(session, conversation),
    before,
    opened: 'forked',
    rest: history.slice(count),
    chain: end.digest,
  };
};

/** `moves`: where it does not go on in its session, the conversation moves. */
const at = (
  needs: SessionParts,
  asked: Asked,
  { place, before, moves }: { readonly place: Place; readonly before: Conversation; readonly moves: boolean },
) => {
  if (place.kind === 'on') return on(needs, before, asked.request);
  const moved = moves ? { before } : {};
  if (place.kind === 'forked') return inFork(needs, asked.request, { ...place, ...moved });
  return inNewSession(needs, asked, moved);
};

const knownEnds = ({ store }: AgentRuntime, { owner, chains }: AskedTurn): Promise<readonly ChainEnd[]> =>
  store.turns.chains(
    owner,
    chains.map(({ digest }) => digest),
  );

const isCompared = ({ history, body }: AskedTurn): boolean =>
  (history.length > 0 || body.isCompared) && !body.isAppended;

const afterTurn = async (needs: SessionParts, asked: Asked, turnID: string): Promise<Located> => {
  const { store } = needs;
  const { request } = asked;
  const { owner } = request;
  const turn = await requireTurn(store, owner, turnID);
  const { sessionID } = turn;
  const before = await store.turns.conversation(owner, turn.conversationID);
  if (before === undefined) throw turnRefusal('turn_not_found');
  const digest = (await store.turns.chainOf(turnID))?.digest;
  const place: Place = isCompared(request)
    ? placeInConversation(request.chains, await knownEnds(needs, request), { sessionID, tip: digest })
    : { kind: 'on' };
  const isLast = before.lastTurnID === turnID && before.sessionID === sessionID;
  if (place.kind !== 'on' || isLast) return at(needs, asked, { place, before, moves: false });
  const count = request.body.isAppended ? 0 : request.history.length;
  return inFork(needs, request, { end: { turnID, sessionID, digest }, count });
};

const inConversation = async (needs: SessionParts, asked: Asked, before: Conversation): Promise<Located> => {
  const { request } = asked;
  const { sessionID, lastTurnID } = before;
  if (!isCompared(request) || (request.history.length === 0 && lastTurnID === undefined))
    return on(needs, before, request);
  const tip = lastTurnID === undefined ? undefined : (await needs.store.turns.chainOf(lastTurnID))?.digest;
  const place = placeInConversation(request.chains, await knownEnds(needs, request), { sessionID, tip });
  return at(needs, asked, { place, before, moves: true });
};

/** Whether a session is as a turn has left it. */
const isTip = async (
  { store }: AgentRuntime,
  conversation: Conversation,
  { turnID, sessionID, promptID }: ChainEnd,
): Promise<boolean> => {
  if (conversation.lastTurnID !== turnID || conversation.sessionID !== sessionID) return false;
  if ((await store.owed(sessionID)).length > 0) return false;
  const [last] = await store.messageHeads(sessionID, { limit: 1 });
  return last?.info.role === 'assistant' && last.info.parentID === promptID;
};

/** The conversation that rests where a history ends: the only one, or the newest where all were forked from one. */
const restingAt = async (runtime: AgentRuntime, { owner, chains }: AskedTurn, ends: readonly ChainEnd[]) => {
  const { turns } = runtime.store;
  const whole = ends.filter(({ digest }) => digest === chains.at(-1)?.digest);
  // There may be more.
  if (whole.length >= CHAIN_ENDS) return undefined;
  const resting = await Promise.all(
    whole.map(async (end) => {
      const turn = await turns.turn(owner, end.turnID);
      const conversation = turn && (await turns.conversation(owner, turn.conversationID));
      return conversation && (await isTip(runtime, conversation, end)) ? [conversation] : [];
    }),
  );
  const [newest, ...others] = resting.flat().toSorted((one, two) => (one.id < two.id ? 1 : -1));
  const originOf = ({ id, originID = id }: Conversation): string => originID;
  return newest && others.every((one) => originOf(one) === originOf(newest)) ? newest : undefined;
};

const byHistory = async (needs: SessionParts, asked: Asked): Promise<Located> => {
  const { request } = asked;
  if (!isCompared(request) || request.body.isNew) return inNewSession(needs, asked);
  const ends = await knownEnds(needs, request);
  const resting = await restingAt(needs, request, ends);
  if (resting !== undefined) return on(needs, resting, request);
  const known = longestKnown(request.chains, ends);
  return known === undefined ? inNewSession(needs, asked) : inFork(needs, request, known);
};

/** Finds the place of a request, and prepares a fork where it needs one. */
export const locate = async (needs: SessionParts, request: AskedTurn, directory: string): Promise<Located> => {
  const asked = { request, directory };
  const { owner, body } = request;
  const given = body.conversation;
  if (given === undefined) return byHistory(needs, asked);
  if ('after' in given) return afterTurn(needs, asked, given.after);
  const { turns } = needs.store;
  const found = await ('id' in given
    ? turns.conversation(owner, given.id)
    : turns.conversationByName(owner, given.name));
  if (found !== undefined) return inConversation(needs, asked, found);
  if ('id' in given) throw turnRefusal('conversation_not_found');
  return inNewSession(needs, asked, { name: given.name });
};

/** Removes the session that was prepared for a request that failed. */
export const giveUpPlace = async ({ store }: AgentRuntime, { session, opened }: Located): Promise<void> => {
  if (opened !== undefined) await giveUpFork(store, session);
};
