import { Fault } from '../../core/fault.ts';
import type { Publication } from '../events/publisher.ts';
import type { Turn } from '../protocol/turns.ts';
import type { Session, UserMessage } from '../protocol/types.ts';
import { sessionCreation } from '../session/sessions.ts';
import { StaleTurnError } from '../store/errors.ts';
import type { createAsk } from './ask.ts';
import { reopenCalls } from './history/reopen.ts';
import { joinsResults } from './joining.ts';
import type { Located } from './locate.ts';
import { type BeginAttempt, type Begun, createTurn, joinTurn, type TurnNeeds, turnChanges } from './new-turn.ts';
import { endOfStep } from './output/log.ts';
import { findCandidate, readFacts } from './output/view.ts';
import { turnRefusal } from './refusals.ts';
import { type AskedTurn, chainWith } from './request.ts';

const EARLIER_TURNS = 20;

/** Gives results of the client's calls to turns that wait for them. */
export const createGiveResults = (needs: TurnNeeds, { ask, storePrepared }: ReturnType<typeof createAsk>) => {
  const { store, publisher, sessions, runs, ids, clock, digest, takeClientResults, onBug } = needs;

  /** Stores a session that was prepared, without a prompt: its calls get results then. */
  const reveal = async (request: AskedTurn, located: Located): Promise<Session> => {
    const { session, opened } = located;
    if (opened === undefined) return session;
    await storePrepared(request, located);
    await publisher.publish(session.directory, sessionCreation(session));
    return session;
  };
  /** The turn that earlier results of the same calls have begun. */
  const turnWithResults = async ({ owner }: AskedTurn, { before }: Located, callIDs: readonly string[]) => {
    if (before === undefined) return undefined;
    const turns = await store.turns.ofConversation(owner, before.id, { limit: EARLIER_TURNS });
    return turns.find((turn) => callIDs.every((id) => turn.callIDs.includes(id)));
  };
  /** The same after the whole history, or after the turn with the calls. */
  const turnAfterCalls = async ({ owner, body, chains, results, questions }: AskedTurn): Promise<Turn | undefined> => {
    if (results.length === 0 || questions.length > 0) return undefined;
    const { conversation: place } = body;
    const isAfter = place !== undefined && 'after' in place;
    const ends = isAfter
      ? []
      : await store.turns.chains(
          owner,
          chains.slice(-1).map(({ digest }) => digest),
        );
    for (const id of isAfter ? [place.after] : ends.map(({ turnID }) => turnID)) {
      const { continuedBy } = (await store.turns.turn(owner, id)) ?? {};
      const turn = continuedBy && (await store.turns.turn(owner, continuedBy));
      if (!turn || !results.every(({ callID }) => turn.callIDs.includes(callID))) continue;
      const found = await store.turns.conversation(owner, turn.conversationID);
      const isThere =
        place === undefined || isAfter || ('id' in place ? found?.id === place.id : found?.name === place.name);
      const candidate = isThere ? await findCandidate(needs, turn) : undefined;
      if (candidate !== undefined && joinsResults(candidate, clock.now())) return turn;
    }
    return undefined;
  };
  /** What a prompt that goes on had so far. */
  const continuedOf = async (session: Session) => {
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
  const withResults = async (request: AskedTurn, located: Located, session: Session, attempt: BeginAttempt) => {
    const { body, results, questions } = request;
    const { reader, released, span, signal } = attempt;
    const given = results.map(({ isError = false, ...result }) => ({ ...result, isError }));
    const { system, clientTools, format } = body;
    if (questions.length > 0) {
      const { waiting } = await takeClientResults(session.id, { results: given, noReply: true });
      if (waiting.length > 0) throw turnRefusal('missing_results', { callIDs: waiting });
      const now = await sessions.get(session.id);
      return ask(request, { ...located, session: now, opened: undefined, rest: [] }, attempt);
    }
    const { from, continued } = await continuedOf(session);
    const chain = await needs.runInSlices(chainWith(request, located.chain, digest), signal);
    const id = ids('turn');
    let turn: Turn | undefined;
    const also = (user: UserMessage | undefined): Publication => {
      if (user === undefined) return {};
      const place = { sessionID: session.id, promptID: user.id, conversationID: located.conversation.id };
      turn = createTurn(request, { ...place, id, from, messageIDs: [], createdMs: clock.now(), chain, reader });
      return { changes: turnChanges(turn, located, { released, continued }) };
    };
    const body_ = { results: given, noReply: false, system, clientTools, format };
    const { waiting, resumed } = await takeClientResults(session.id, body_, also);
    if (waiting.length > 0) throw turnRefusal('missing_results', { callIDs: waiting });
    if (resumed === undefined || turn === undefined) throw new StaleTurnError();
    const facts = await readFacts(needs, turn);
    const start = () => void runs.run(resumed.session, resumed.user, { span }).catch(onBug);
    return { outcome: 'begun' as const, reader, facts, isFresh: false, start };
  };
  /** Gives the results of calls, and stores the turn that goes on with them. */
  const giveResults = async (request: AskedTurn, located: Located, attempt: BeginAttempt): Promise<Begun> => {
    const { results, questions } = request;
    if (located.opened === 'new' && questions.length > 0) return ask(request, located, attempt);
    const callIDs = results.map(({ callID }) => callID);
    const revealed = await reveal(request, located);
    const awaited = revealed.awaitedCalls?.callIDs ?? [];
    try {
      if (callIDs.some((id) => awaited.includes(id)))
        return await withResults(request, located, revealed, attempt).catch((error: unknown) => {
          const isUnknown = error instanceof Fault && error.detail.kind === 'not-found';
          throw isUnknown
            ? turnRefusal('unknown_call', { callIDs: callIDs.filter((id) => !awaited.includes(id)) })
            : error;
        });
      const earlier = questions.length > 0 ? undefined : await turnWithResults(request, located, callIDs);
      const isGivenAgain = located.opened === undefined && earlier !== undefined;
      if (isGivenAgain) return await joinTurn(needs, earlier, attempt.reader);
      const session = await reopenCalls(needs, revealed, callIDs);
      return await withResults(request, located, session, attempt);
    } catch (error) {
      if (located.opened !== undefined) await sessions.remove(revealed.id).catch(onBug);
      throw error;
    }
  };

  return { turnAfterCalls, giveResults };
};
