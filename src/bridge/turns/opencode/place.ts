import { isNotFound } from '../../../core/fault.ts';
import { type Chain, extendChain } from '../../../core/http/history-digests.ts';
import { refused } from '../../errors.ts';
import type { BeginRequest, SentMessage } from '../port.ts';
import { markOf } from './marks.ts';
import { createSessionFor, openConversation } from './records.ts';
import { conversationAt, type KnownConversation, knownTurn, type TurnRecord, type TurnsState } from './state.ts';

/** A request with the digests of the beginnings of its history. */
export type PlacedRequest = {
  readonly request: BeginRequest;
  readonly owner: string;
  readonly beginnings: readonly Chain[];
  readonly signal: AbortSignal;
};

/** Where a turn begins: the messages that its session lacks, and the digest of the conversation before its input. */
export type BeginPlace = {
  readonly conversation: KnownConversation;
  readonly sessionID: string;
  readonly isNewSession: boolean;
  readonly replay: readonly SentMessage[];
  readonly chain: string | undefined;
};

/** The newest turn with this end of a history, if all such turns are of one session: of two equal chats neither is taken. */
const endingWith = (
  { turns }: TurnsState,
  { owner }: PlacedRequest,
  digest: string,
  sessionID?: string,
): TurnRecord | undefined => {
  const found = [...turns.values()].filter(
    (one) => one.owner === owner && one.endChain === digest && (sessionID ?? one.sessionID) === one.sessionID,
  );
  return new Set(found.map((one) => one.sessionID)).size === 1 ? found.at(-1) : undefined;
};

const wholeDigest = ({ beginnings }: PlacedRequest): string => beginnings.at(-1)?.digest ?? '';

/** The conversation of a request: one that is there, or a new one without a session. */
export const conversationFor = (state: TurnsState, placed: PlacedRequest): KnownConversation => {
  const { request, owner } = placed;
  const { conversation: place, isNew } = request;
  const create = (name?: string): KnownConversation =>
    openConversation(state, { owner, name, isOfClient: false, metadata: {} });
  if (place === undefined) {
    const known = isNew || request.history.length === 0 ? undefined : endingWith(state, placed, wholeDigest(placed));
    const { conversation } = known ?? {};
    const isIdle = conversation?.lastTurnID === known?.id && conversation?.openTurn === undefined;
    return conversation !== undefined && isIdle && state.queue.isFree(conversation.id) ? conversation : create();
  }
  if ('after' in place) {
    const { conversation } = knownTurn(state, place.after, owner);
    if (conversation === undefined) throw refused('turn_not_found');
    return conversation;
  }
  const found = conversationAt(state, place, owner);
  if (found !== undefined) return found;
  if ('name' in place) return create(place.name);
  throw refused('conversation_not_found');
};

/** A place in a new session, with all of the history that the request has. */
export const placeInNewSession = async (
  state: TurnsState,
  conversation: KnownConversation,
  placed: PlacedRequest,
): Promise<BeginPlace> => {
  const { history, title } = placed.request;
  const sessionID = await createSessionFor(state, conversation, title, placed.signal);
  return { conversation, sessionID, isNewSession: true, replay: history, chain: wholeDigest(placed) };
};

/** A copy of a session up to the end of a turn. Ids of messages ascend, so that what came later is known by them. */
const forkAfter = async (
  { turns, needs }: TurnsState,
  { sessionID, promptID, conversation: before }: TurnRecord,
  conversation: KnownConversation,
  signal: AbortSignal,
): Promise<string> => {
  const prompts = [...turns.values()].flatMap((one) => (one.sessionID === sessionID ? [one.promptID] : []));
  const later = [...prompts, ...(before?.addedIDs ?? [])].filter((id) => id > promptID).sort();
  return (await needs.agent.forkSession(sessionID, later[0], markOf(conversation), signal)).id;
};

/** A place after the longest beginning of the history that is known, in a copy of its session. */
const placeAfterBeginning = async (
  state: TurnsState,
  conversation: KnownConversation,
  placed: PlacedRequest,
): Promise<BeginPlace> => {
  const { request, beginnings, signal } = placed;
  for (const { digest, count } of beginnings.toReversed()) {
    const known = endingWith(state, placed, digest, conversation.sessionID === '' ? undefined : conversation.sessionID);
    if (known === undefined) continue;
    try {
      const sessionID = await forkAfter(state, known, conversation, signal);
      const replay = request.history.slice(count);
      return { conversation, sessionID, isNewSession: true, replay, chain: wholeDigest(placed) };
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return placeInNewSession(state, conversation, placed);
};

/** Where a request goes on in its conversation, once that is idle. */
export const placeIn = async (
  state: TurnsState,
  conversation: KnownConversation,
  placed: PlacedRequest,
): Promise<BeginPlace> => {
  const { request, owner, signal } = placed;
  const { conversation: wanted, history, isAppended, isCompared, isNew } = request;
  const { runInSlices, digest } = state.needs;
  const { sessionID, tip } = conversation;
  if (sessionID === '')
    return wanted === undefined && !isNew
      ? placeAfterBeginning(state, conversation, placed)
      : placeInNewSession(state, conversation, placed);
  const replay = isAppended ? history : [];
  const chainAfter = async (before: string | undefined): Promise<string | undefined> =>
    before && runInSlices(extendChain(before, replay, digest), signal);
  const after = wanted !== undefined && 'after' in wanted ? knownTurn(state, wanted.after, owner) : undefined;
  if (after !== undefined && conversation.lastTurnID !== after.id) {
    const { name: _name, ...unnamed } = conversation;
    const branch = openConversation(state, { ...unnamed, isOfClient: false });
    const forkID = await forkAfter(state, after, branch, signal);
    const chain = await chainAfter(after.endChain);
    return { conversation: branch, sessionID: forkID, isNewSession: true, replay, chain };
  }
  const on = { conversation, sessionID, isNewSession: false };
  if (isAppended || (!isCompared && history.length === 0))
    return { ...on, replay, chain: await chainAfter(tip?.digest) };
  const chain = wholeDigest(placed);
  // One from before a restart is not compared: nothing is known of its history.
  return tip === undefined || tip.digest === chain
    ? { ...on, replay: [], chain }
    : placeAfterBeginning(state, conversation, placed);
};
