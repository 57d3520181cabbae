import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Span } from '../../core/http/tracing.ts';
import { createKeyedQueue } from '../../core/keyed-queue.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { AgentCatalog } from '../agents/catalog.ts';
import { joinPublications, type Publication, type Publisher } from '../events/publisher.ts';
import type { Ids } from '../protocol/ids.ts';
import type { GivenMessage, Turn } from '../protocol/turns.ts';
import type { ModelRef, Session, UserMessage } from '../protocol/types.ts';
import { type AcceptPrompt, responderFor } from '../session/prompt.ts';
import type { RunQueue } from '../session/run-queue.ts';
import { type Sessions, sessionCreation } from '../session/sessions.ts';
import { StaleTurnError } from '../store/errors.ts';
import type { Store, StoreChange } from '../store/store.ts';
import type { Approvals } from '../tools/approvals.ts';
import type { createClientResults } from '../tools/client-results.ts';
import { findDecided, replyToAll } from './decisions.ts';
import type { ImportedMessages, ImportMessages } from './history/import.ts';
import { reopenCalls } from './history/reopen.ts';
import { type JoinCandidate, type Joining, joinByDigest, joinByKey, joinsResults } from './joining.ts';
import { createLocate, type Located } from './locate.ts';
import { createTurn, turnChanges } from './new-turn.ts';
import { endOfStep } from './output/log.ts';
import { openRequestsOf, outputPosition, readCandidate, readFacts, type TurnFacts } from './output/view.ts';
import { changeTurn, givenUp, whileStale, withReader } from './records.ts';
import { isRefusal, turnRefusal } from './refusals.ts';
import { type AskedTurn, chainWith } from './request.ts';

/** What turns work with. */
export type TurnNeeds = {
  readonly store: Store;
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly sessions: Sessions;
  readonly approvals: Approvals;
  readonly runs: RunQueue;
  readonly catalog: AgentCatalog;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly digest: (text: string) => string;
  readonly runInSlices: RunInSlices;
  readonly acceptPrompt: AcceptPrompt;
  readonly takeClientResults: ReturnType<typeof createClientResults>;
  readonly importMessages: ImportMessages;
  readonly clientToolTimeoutMs: number;
  readonly onBug: (error: unknown) => void;
};

/** Who asks, and from where. */
export type AskedFrom = {
  readonly span: Span | undefined;
  readonly directory: string;
  readonly by: string;
  readonly signal: AbortSignal;
};

/** A turn that was begun, or that an earlier request has begun. */
export type Begun = {
  readonly outcome: 'begun' | 'joined';
  readonly reader: string;
  readonly facts: TurnFacts;
  /** Nothing of it can have happened before `start` is called. */
  readonly isFresh: boolean;
  /** To be called once, when somebody follows it. */
  readonly start: () => void;
};

/** What an attempt to begin has decided so far. */
type Attempt = AskedFrom & { readonly reader: string; readonly released: Turn | undefined };

/** Of keys that no client has chosen: they are those of one request alone, and equal requests have others. */
const KEY_OF_REQUEST = 'once:';
const EQUAL_REQUESTS = 8;
/** Of one session: besides the one that runs. */
const PROMPTS_LIMIT = 16;
const PLACE_LIMIT = 1000;
/** Size of one commit: larger ones would hold up other writers. */
const GROUP_CHARS = 1024 * 1024;
const EARLIER_TURNS = 20;

/** Requests of one place begin one after the other at this server: each would be decided again for every one before it. */
const placeOf = ({ owner, body: { conversation, key, digest } }: AskedTurn): string | undefined => {
  const place = conversation ?? key ?? digest;
  return place === undefined ? undefined : JSON.stringify([owner, place]);
};

/** Creates the function that begins a turn or joins one. */
export const createBegin = (needs: TurnNeeds) => {
  const { store, publisher, sessions, runs, catalog, ids, clock, digest, onBug } = needs;
  const { importMessages, takeClientResults } = needs;
  const locate = createLocate(needs);
  const inOrder = createKeyedQueue({
    ...{ count: PLACE_LIMIT, per: 'key' },
    createError: () => turnRefusal('conversation_full'),
  });

  /** `isFirstOnly`: whether another request may not have joined since the turn was found. */
  const joined = async (
    found: Turn,
    { reader }: Pick<Attempt, 'reader'>,
    { isFirstOnly = false } = {},
  ): Promise<Begun> => {
    const join = (now: Turn): Turn => ({ ...withReader(now, reader), joins: now.joins + 1 });
    const turn = isFirstOnly ? join(found) : await changeTurn(store, found, join);
    if (isFirstOnly) await store.commit([{ kind: 'turn', turn, before: found }], []);
    const facts = await readFacts(needs, turn);
    return { outcome: 'joined', reader, facts, isFresh: false, start: () => {} };
  };
  /** Undefined where the question of the turn is not there any more. */
  const candidateOf = (turn: Turn): Promise<JoinCandidate | undefined> =>
    readCandidate(needs, turn).catch((error: unknown) => {
      if (isRefusal(error, 'turn_not_found')) return undefined;
      throw error;
    });
  const joiningOf = async ({ owner, body }: AskedTurn): Promise<Joining> => {
    const { key, isRetry } = body;
    const asked = { key, digest: body.digest, isRetry, nowMs: clock.now() };
    if (key !== undefined) {
      const turn = await store.turns.byKey(owner, key);
      const candidate = turn && (await candidateOf(turn));
      if (candidate !== undefined) return joinByKey(candidate, asked);
      if (turn !== undefined) return { kind: 'begun', released: turn };
      if (!key.startsWith(KEY_OF_REQUEST)) return { kind: 'begun' };
    }
    if (body.digest === undefined) return { kind: 'begun' };
    const equal = await store.turns.byDigest(owner, body.digest, EQUAL_REQUESTS);
    const candidates = await Promise.all(equal.map(candidateOf));
    return joinByDigest(
      candidates.filter((one) => one !== undefined),
      asked,
    );
  };

  /** A prompt that waits for a person ends where the user goes on without deciding. */
  const makeRoom = async (sessionID: string, ifWaiting: AskedTurn['body']['ifWaiting']): Promise<void> => {
    const owed = await store.owed(sessionID);
    if (owed.filter(({ isBegun }) => !isBegun).length >= PROMPTS_LIMIT) throw turnRefusal('conversation_full');
    const running = owed.find(({ isBegun }) => isBegun);
    if (running === undefined) return;
    const waiting = (await store.turns.ofPrompt(sessionID, running.promptID)).at(-1);
    // Its client has gone on, so nobody comes back for it. A reader whose connection has just broken may.
    const now = clock.now();
    const isLeft = ({ readers, leftMs = now + 1, abortAfterMs }: Turn): boolean =>
      readers.length === 0 && leftMs <= now && abortAfterMs !== null;
    const giveUp = (turn: Turn): Turn => (isLeft(turn) ? givenUp(turn, now) : turn);
    if (waiting !== undefined && isLeft(waiting) && isLeft(await changeTurn(store, waiting, giveUp)))
      return runs.abort(sessionID, running.promptID).then(() => {});
    if ((await openRequestsOf(needs, sessionID)).length === 0) return;
    if (ifWaiting === 'refuse' && waiting !== undefined) throw turnRefusal('turn_waiting', { turnID: [waiting.id] });
    await runs.abort(sessionID, running.promptID);
  };
  const storeAhead = async ({ session, opened }: Located, { publications }: ImportedMessages): Promise<void> => {
    if (opened === 'new') await store.commit([{ kind: 'session-begun', session }], []);
    let group: StoreChange[] = [];
    let chars = 0;
    for (const { changes = [] } of publications) {
      group.push(...changes);
      chars += JSON.stringify(changes).length;
      if (chars < GROUP_CHARS) continue;
      await store.commit(group, []);
      group = [];
      chars = 0;
    }
    if (group.length > 0) await store.commit(group, []);
  };
  const importInto = (
    session: Session,
    messages: readonly GivenMessage[],
    {
      agent,
      model,
      lastID,
    }: { readonly agent: string; readonly model: ModelRef; readonly lastID?: string | undefined },
  ): ImportedMessages => importMessages(messages, { session, agent, model, now: clock.now(), lastID });
  const responderOf = (session: Session, { body }: AskedTurn) => {
    const { agent, model } = responderFor(catalog, session, body);
    return { agent: agent.name, model };
  };
  const sizeOf = (messages: readonly GivenMessage[]): number =>
    messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);

  /** The messages before a prompt: stored in its commit, or ahead of it in a session that is hidden until then. */
  const createEarlier = async (request: AskedTurn, located: Located, messages: readonly GivenMessage[]) => {
    const { session, opened } = located;
    const responder = responderOf(session, request);
    let imported: ImportedMessages = { publications: [], messageIDs: [], lastID: undefined };
    const isAhead = opened !== undefined && sizeOf(messages) > GROUP_CHARS;
    if (isAhead) {
      imported = importInto(session, messages, responder);
      await storeAhead(located, imported);
    }
    return {
      messageIDs: () => imported.messageIDs,
      earlier(lastID: string | undefined) {
        if (isAhead || messages.length === 0) return { publication: {}, lastID: imported.lastID ?? lastID };
        imported = importInto(session, messages, { ...responder, lastID });
        const { changes = [], drafts } = joinPublications(...imported.publications);
        // Of a session that is created, clients read the messages.
        const publication: Publication = opened === undefined ? { changes, drafts: drafts ?? [] } : { changes };
        return { publication, lastID: imported.lastID };
      },
    };
  };

  /** Stores a prompt, with the turn that answers it. */
  const ask = async (request: AskedTurn, located: Located, attempt: Attempt): Promise<Begun> => {
    const { body, questions, results } = request;
    const { session, opened, conversation } = located;
    const { reader, released, span, signal } = attempt;
    const question = questions.at(-1);
    if (question === undefined) throw turnRefusal('unknown_call');
    // A conversation that moves to another session leaves one in which something may run or wait.
    const leftID = opened === undefined ? session.id : located.before?.sessionID;
    if (leftID !== undefined) await makeRoom(leftID, body.ifWaiting);
    const chain = await needs.runInSlices(chainWith(request, located.chain, digest), signal);
    const isOfHistory = opened === 'new' ? results : [];
    const before = await createEarlier(request, located, [...located.rest, ...isOfHistory, ...questions.slice(0, -1)]);
    const id = ids('turn');
    const turnOf = (user: UserMessage): Turn => {
      const place = { sessionID: session.id, promptID: user.id, conversationID: conversation.id };
      const messageIDs = [...before.messageIDs(), user.id];
      return createTurn(request, { ...place, id, from: 0, messageIDs, createdMs: clock.now(), chain, reader });
    };
    const { agent, model, variant, system, format, clientTools, tools } = body;
    const parts = [...question.parts];
    const prompt = { parts, agent, model, variant, system, format, clientTools, tools };
    let turn: Turn | undefined;
    const accepted = await needs.acceptPrompt(session.id, prompt, {
      isOwed: true,
      opened: opened === undefined ? undefined : session,
      earlier: before.earlier,
      also(user) {
        turn = turnOf(user);
        return { changes: turnChanges(turn, located, { released }) };
      },
    });
    const { user } = accepted;
    const stored = { turn: turn ?? turnOf(user), conversationName: conversation.name, user };
    return {
      outcome: 'begun',
      reader,
      facts: { ...stored, steps: [], last: undefined, answer: 'owed', awaited: [], waiting: [] },
      isFresh: true,
      start: () => void runs.run(accepted.session, user, { asksForAnswer: true, span }).catch(onBug),
    };
  };

  /** Stores a session that was prepared, without a prompt: its calls get results then. */
  const reveal = async (request: AskedTurn, located: Located): Promise<Session> => {
    const { session, opened, rest } = located;
    if (opened === undefined) return session;
    await storeAhead(located, importInto(session, rest, responderOf(session, request)));
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
      const candidate = isThere ? await candidateOf(turn) : undefined;
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
  const withResults = async (request: AskedTurn, located: Located, session: Session, attempt: Attempt) => {
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
  const giveResults = async (request: AskedTurn, located: Located, attempt: Attempt): Promise<Begun> => {
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
      if (isGivenAgain) return await joined(earlier, attempt);
      const session = await reopenCalls(needs, revealed, callIDs);
      return await withResults(request, located, session, attempt);
    } catch (error) {
      if (located.opened !== undefined) await sessions.remove(revealed.id).catch(onBug);
      throw error;
    }
  };

  /** Replies to permission requests, with a turn that goes on where the one that waits for them was read. */
  const decide = async (request: AskedTurn, attempt: Attempt): Promise<Begun | undefined> => {
    const { owner, body, questions } = request;
    const { reader, released } = attempt;
    const continued = await findDecided(needs, owner, body);
    const by = body.by ?? attempt.by;
    if (questions.length > 0) {
      await replyToAll(needs, body.decisions, by);
      return undefined;
    }
    const conversation = await store.turns.conversation(owner, continued.conversationID);
    if (conversation === undefined) throw turnRefusal('no_such_request');
    const from = Math.max(continued.from, continued.readTo ?? outputPosition(await readFacts(needs, continued)));
    const { sessionID, promptID, conversationID, chain } = continued;
    const place = { sessionID, promptID, conversationID, chain, from };
    const turn = createTurn(request, { ...place, id: ids('turn'), messageIDs: [], createdMs: clock.now(), reader });
    await store.commit(turnChanges(turn, { conversation, before: conversation }, { released, continued }), []);
    await replyToAll(needs, body.decisions, by);
    return { outcome: 'begun', reader, facts: await readFacts(needs, turn), isFresh: false, start: () => {} };
  };

  const attemptOnce = async (request: AskedTurn, asked: AskedFrom): Promise<Begun> => {
    const reader = ids('part').replace('prt', 'rdr');
    const joining = await joiningOf(request);
    if (joining.kind === 'joined') return joined(joining.turn, { reader }, joining);
    if (request.body.joinOnly) throw turnRefusal('turn_not_found');
    if (joining.kind === 'key-reused') throw turnRefusal('key_reused');
    if (joining.kind === 'aborted') throw turnRefusal('turn_aborted', { tools: joining.tools });
    const attempt: Attempt = { ...asked, reader, released: joining.released };
    const decided = request.body.decisions.length > 0 ? await decide(request, attempt) : undefined;
    if (decided !== undefined) return decided;
    const answered = await turnAfterCalls(request);
    if (answered !== undefined) return joined(answered, attempt);
    const located = await locate.find(request, asked.directory);
    try {
      return await (request.results.length > 0 ? giveResults : ask)(request, located, attempt);
    } catch (error) {
      await locate.giveUp(located);
      throw error;
    }
  };
  return async (request: AskedTurn, asked: AskedFrom): Promise<Begun> => {
    const place = placeOf(request);
    const release = place === undefined ? () => {} : await inOrder.acquire(place, asked.signal);
    return whileStale(() => attemptOnce(request, asked)).finally(release);
  };
};
