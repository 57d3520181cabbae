import { untilAborted } from '../../../core/async.ts';
import { isNotFound } from '../../../core/fault.ts';
import { chainsOf, extendChain } from '../../../core/http/history-digests.ts';
import { refused } from '../../errors.ts';
import type { BeginRequest, BegunTurn, TurnCaller, TurnSnapshot } from '../port.ts';
import { promptPartsOf } from './history.ts';
import { turnToJoin } from './joining.ts';
import { readMarks } from './marks.ts';
import { NEVER } from './needs.ts';
import { type BeginPlace, conversationFor, type PlacedRequest, placeIn, placeInNewSession } from './place.ts';
import { eventsOf, leaveTurn } from './reading.ts';
import { continueTurn, endTurn, newTurn, turnViewOf } from './records.ts';
import { startRun } from './run.ts';
import { addTurn, conversationAt, type KnownConversation, newIDOf, type TurnRecord, type TurnsState } from './state.ts';

/** The results of calls that a history ends with are sent to the agent as the input, if there is no other. */
const withInput = (request: BeginRequest): BeginRequest => {
  const { history, input, decisions } = request;
  if (input.length > 0 || decisions.length > 0) return request;
  const last = history.findLastIndex(({ role }) => role !== 'tool');
  return { ...request, history: history.slice(0, last + 1), input: history.slice(last + 1) };
};

/** Waits until no turn goes on in a conversation. Resolves to the turn there that waits for a decision, if that is to stay. */
const untilIdle = async (
  conversation: KnownConversation,
  { request, signal }: PlacedRequest,
): Promise<TurnSnapshot | undefined> => {
  for (;;) {
    const { openTurn } = conversation;
    if (openTurn?.run === undefined) return undefined;
    const { run } = openTurn;
    if (run.waiting().length === 0) await untilAborted(run.nextChange(), signal);
    else if (request.ifWaiting === 'refuse') return turnViewOf(openTurn);
    else await run.abort();
  }
};

/** Sends the prompt of a turn. Resolves once the agent has it, and rejects where it has not taken it. */
const sendPrompt = async (
  state: TurnsState,
  record: TurnRecord,
  place: BeginPlace,
  { request, signal }: PlacedRequest,
): Promise<void> => {
  const { needs, requests } = state;
  const { conversation, sessionID } = place;
  const { history, input, model, variant, agent, system, hasTools, format } = request;
  const parts = await needs.runInSlices(promptPartsOf(place.replay, input, history), signal);
  if (place.chain !== undefined)
    record.chain = await needs.runInSlices(extendChain(place.chain, input, needs.digest), signal);
  await needs.feed.untilOpen(signal);
  signal.throwIfAborted();
  const before = { lastTurnID: conversation.lastTurnID, tip: conversation.tip };
  const run = startRun(needs, requests, {
    sessionID,
    prompt: { parts, model, variant, agent, system, hasTools, format, token: record.id },
    span: request.span,
    onEnd: (end, steps) => endTurn(state, conversation.openTurn ?? record, end, steps),
  });
  record.conversation = conversation;
  record.sessionID = sessionID;
  record.run = run;
  conversation.sessionID = sessionID;
  conversation.openTurn = record;
  conversation.lastTurnID = record.id;
  try {
    record.promptID = await run.begun;
  } catch (error) {
    await run.ended;
    Object.assign(conversation, before, isNotFound(error) ? { sessionID: '' } : {});
    throw error;
  }
};

/** The agent may have lost the session of a conversation: then a new one is given the history that the request has. */
const beginIn = async (
  state: TurnsState,
  record: TurnRecord,
  conversation: KnownConversation,
  placed: PlacedRequest,
) => {
  const place = await placeIn(state, conversation, placed);
  try {
    await sendPrompt(state, record, place, placed);
  } catch (error) {
    if (place.isNewSession || !isNotFound(error)) {
      if (place.isNewSession) await state.needs.agent.deleteSession(place.sessionID, NEVER).catch(() => {});
      throw error;
    }
    record.end = undefined;
    await sendPrompt(state, record, await placeInNewSession(state, conversation, placed), placed);
  }
};

const beginNew = async (
  state: TurnsState,
  record: TurnRecord,
  placed: PlacedRequest,
): Promise<TurnSnapshot | undefined> => {
  const conversation = conversationFor(state, placed);
  const release = await state.queue.acquire(conversation.id, placed.signal);
  try {
    const waiting = await untilIdle(conversation, placed);
    if (waiting === undefined) await beginIn(state, record, conversation, placed);
    return waiting;
  } finally {
    release();
    if (conversation.sessionID === '') state.conversations.delete(conversation.id);
  }
};

/** Continues the turn that waits for decisions, and hands them to the agent. */
const beginWithDecisions = async (state: TurnsState, record: TurnRecord, request: BeginRequest): Promise<void> => {
  const { conversation: place, decisions } = request;
  const { owner } = record;
  const ids = decisions.map(({ requestID }) => requestID);
  const hasAll = (turn: TurnRecord | undefined): turn is TurnRecord => {
    const open = turn?.run?.waiting() ?? [];
    return turn?.owner === owner && ids.every((id) => open.some((one) => one.id === id));
  };
  const waiting =
    place === undefined
      ? [...state.turns.values()].find(hasAll)
      : 'after' in place
        ? state.turns.get(place.after)?.conversation?.openTurn
        : conversationAt(state, place, owner)?.openTurn;
  if (!hasAll(waiting)) throw refused('no_such_request', ids);
  const takeBack = continueTurn(state, waiting, record);
  try {
    for (const decision of decisions) await state.requests.reply(decision);
  } catch (error) {
    takeBack();
    throw error;
  }
};

const begin = async (
  state: TurnsState,
  record: TurnRecord,
  request: BeginRequest,
): Promise<TurnSnapshot | undefined> => {
  const { signal } = record.starting;
  const { runInSlices, digest } = state.needs;
  if (request.conversation !== undefined && !('after' in request.conversation)) await readMarks(state, signal);
  if (request.decisions.length > 0) {
    await beginWithDecisions(state, record, request);
    return undefined;
  }
  const beginnings = await runInSlices(chainsOf(request.history, digest), signal);
  return beginNew(state, record, { request, owner: record.owner, beginnings, signal });
};

/** A request becomes a reader of a turn, once that has begun. */
const enter = async (
  state: TurnsState,
  record: TurnRecord,
  outcome: 'begun' | 'joined',
  { signal }: TurnCaller,
): Promise<BegunTurn> => {
  const reader = newIDOf('rdr', state.needs);
  record.readers.add(reader);
  record.leftMs = undefined;
  try {
    const waiting = await untilAborted(record.begun, signal);
    if (waiting !== undefined) return { outcome: 'waiting', turn: waiting };
  } catch (error) {
    leaveTurn(state, record, { id: reader });
    throw error;
  }
  const events = eventsOf(state, record, { after: record.from, signal });
  return { outcome, reader, turn: turnViewOf(record), events };
};

/** Begins a turn, or joins the one that an equal request has begun. */
export const beginTurn = async (state: TurnsState, given: BeginRequest, by: TurnCaller): Promise<BegunTurn> => {
  if (given.clientTools !== undefined) throw refused('unsupported');
  const known = turnToJoin(state, given, by.owner);
  if (known !== undefined) {
    known.joins += 1;
    return enter(state, known, 'joined', by);
  }
  if (given.isJoinOnly) return { outcome: 'none' };
  const record = newTurn(state, given, by.owner);
  addTurn(state, record);
  const forget = (): void => void state.turns.delete(record.id);
  record.begun = begin(state, record, withInput(given));
  record.begun.then((waiting) => waiting && forget(), forget);
  return enter(state, record, 'begun', by);
};
