import { isNotFound } from '../../core/fault.ts';
import type { Publication } from '../events/publisher.ts';
import type { Turn } from '../protocol/turns.ts';
import type { Session, UserMessage } from '../protocol/types.ts';
import { sessionCreation } from '../session/sessions.ts';
import { StaleTurnError } from '../store/errors.ts';
import { ask, storePrepared } from './ask.ts';
import { reopenCalls } from './history/reopen.ts';
import { joinsResults } from './joining.ts';
import type { Located } from './locate.ts';
import { type BeginAttempt, type Begun, createTurn, joinTurn, type TurnNeeds, turnChanges } from './new-turn.ts';
import { endOfStep } from './output/log.ts';
import { findCandidate, readFacts } from './output/view.ts';
import { turnRefusal } from './refusals.ts';
import { type AskedTurn, chainWith } from './request.ts';

const EARLIER_TURNS = 20;

/** Stores a session that was prepared, without a prompt: its calls get results then. */
const reveal = async (needs: TurnNeeds, request: AskedTurn, located: Located): Promise<Session> => {
  const { session, opened } = located;
  if (opened === undefined) return session;
  await storePrepared(needs, request, located);
  await needs.publisher.publish(session.directory, sessionCreation(session));
  return session;
};

/** The turn that earlier results of the same calls have begun. */
const turnWithResults = async (
  { store }: TurnNeeds,
  { owner }: AskedTurn,
  { before }: Located,
  callIDs: readonly string[],
) => {
  if (before === undefined) return undefined;
  const turns = await store.turns.ofConversation(owner, before.id, { limit: EARLIER_TURNS });
  return turns.find((turn) => callIDs.every((id) => turn.callIDs.includes(id)));
};

/** The same after the whole history, or after the turn with the calls. */
export const turnAfterCalls = async (
  needs: TurnNeeds,
  { owner, body, chains, results, questions }: AskedTurn,
): Promise<Turn | undefined> => {
  if (results.length === 0 || questions.length > 0) return undefined;
  const { turns } = needs.store;
  const { conversation: place } = body;
  const isAfter = place !== undefined && 'after' in place;
  const whole = chains.slice(-1).map(({ digest }) => digest);
  const ends = isAfter ? [] : await turns.chains(owner, whole);
  for (const id of isAfter ? [place.after] : ends.map(({ turnID }) => turnID)) {
    const { continuedBy } = (await turns.turn(owner, id)) ?? {};
    const turn = continuedBy && (await turns.turn(owner, continuedBy));
    if (!turn || !results.every(({ callID }) => turn.callIDs.includes(callID))) continue;
    const found = await turns.conversation(owner, turn.conversationID);
    const isThere =
      place === undefined || isAfter || ('id' in place ? found?.id === place.id : found?.name === place.name);
    const candidate = isThere ? await findCandidate(needs, turn) : undefined;
    if (candidate !== undefined && joinsResults(candidate, needs.clock.now())) return turn;
  }
  return undefined;
};

/** What a prompt that goes on had so far. */
const continuedOf = async ({ store }: TurnNeeds, session: Session) => {
  const { messageID = '' } = session.awaitedCalls ?? {};
  const info = (await store.message(session.id, messageID))?.info;
  // Somebody else has given the results.
  if (info?.role !== 'assistant') throw new StaleTurnError();
  const promptID = info.parentID;
  const heads = await store.messageHeads(session.id, { fromID: promptID });
  const steps = heads.filter((head) => head.info.role === 'assistant' && head.info.parentID === promptID);
  const continued = (await store.turns.ofPrompt(session.id, promptID)).at(-1);
  return { from: endOfStep(steps.length - 1), continued };
};

const refuseMissing = (waiting: readonly string[]): void => {
  if (waiting.length > 0) throw turnRefusal('missing_results', { callIDs: waiting });
};

/** Gives results to a session that waits for them. */
const withResults = async (
  needs: TurnNeeds,
  request: AskedTurn,
  located: Located,
  attempt: BeginAttempt,
): Promise<Begun> => {
  const { body, results, questions } = request;
  const { session, conversation } = located;
  const { reader, released, span, signal } = attempt;
  const given = results.map(({ isError = false, ...result }) => ({ ...result, isError }));
  if (questions.length > 0) {
    refuseMissing((await needs.takeClientResults(session.id, { results: given, noReply: true })).waiting);
    const now = await needs.sessions.get(session.id);
    return ask(needs, request, { ...located, session: now, opened: undefined, rest: [] }, attempt);
  }
  const { from, continued } = await continuedOf(needs, session);
  const chain = await needs.runInSlices(chainWith(request, located.chain, needs.digest), signal);
  const id = needs.ids('turn');
  let turn: Turn | undefined;
  const also = (user: UserMessage | undefined): Publication => {
    if (user === undefined) return {};
    const place = { sessionID: session.id, promptID: user.id, conversationID: conversation.id };
    const createdMs = needs.clock.now();
    turn = createTurn(request, { ...place, id, from, messageIDs: [], createdMs, chain, reader });
    return { changes: turnChanges(turn, located, { released, continued }) };
  };
  const { system, clientTools, format } = body;
  const replaced = { results: given, noReply: false, system, clientTools, format };
  const { waiting, resumed } = await needs.takeClientResults(session.id, replaced, also);
  refuseMissing(waiting);
  if (resumed === undefined || turn === undefined) throw new StaleTurnError();
  const facts = await readFacts(needs, turn);
  const start = () => void needs.runs.run(resumed.session, resumed.user, { span }).catch(needs.onBug);
  return { outcome: 'begun', reader, facts, isFresh: false, start };
};

/** Gives the results of the client's calls, and stores the turn that goes on with them. */
export const giveResults = async (
  needs: TurnNeeds,
  request: AskedTurn,
  located: Located,
  attempt: BeginAttempt,
): Promise<Begun> => {
  const { results, questions } = request;
  if (located.opened === 'new' && questions.length > 0) return ask(needs, request, located, attempt);
  const callIDs = results.map(({ callID }) => callID);
  const session = await reveal(needs, request, located);
  const awaited = session.awaitedCalls?.callIDs ?? [];
  try {
    if (callIDs.some((id) => awaited.includes(id)))
      return await withResults(needs, request, { ...located, session }, attempt).catch((error: unknown) => {
        const isUnknown = isNotFound(error);
        const unknown = callIDs.filter((id) => !awaited.includes(id));
        throw isUnknown ? turnRefusal('unknown_call', { callIDs: unknown }) : error;
      });
    const earlier = questions.length > 0 ? undefined : await turnWithResults(needs, request, located, callIDs);
    const isGivenAgain = located.opened === undefined && earlier !== undefined;
    if (isGivenAgain) return await joinTurn(needs, earlier, attempt.reader);
    const waiting = await reopenCalls(needs, session, callIDs);
    return await withResults(needs, request, { ...located, session: waiting }, attempt);
  } catch (error) {
    if (located.opened !== undefined) await needs.sessions.remove(session.id).catch(needs.onBug);
    throw error;
  }
};
