import type { ApprovalRequest } from '../output.ts';
import { type BridgeRequest, isOneOff } from '../request.ts';
import type { BeginRequest, TurnCaller, TurnSnapshot } from '../turns/port.ts';
import { approvalRequestsOf, type OwnTexts } from './answer-end.ts';
import type { ReadDecision } from './approvals/decisions.ts';
import { withoutApprovals } from './approvals/history.ts';
import { toDecisionText } from './approvals/replies.ts';
import { type AnswersNeeds, type AnswersState, answerOfTurn, type ClientAnswer, explanation } from './client-answer.ts';
import { refuseUnsupportedFiles } from './file-types.ts';
import { toToolFault } from './for-agent.ts';
import {
  type AnswerRequest,
  type PreparedRequest,
  placeOfName,
  type TurnPlace,
  toTurnRequest,
} from './turn-request.ts';
import { decisionIn, findWaiting, requestsOf, turnAfter, unlessRefused } from './waiting-turn.ts';

export type Answers = {
  readonly start: (request: AnswerRequest) => Promise<ClientAnswer>;
  /** How many calls of `leave` to the agent are under way. */
  readonly leaving: () => number;
};

const ONE_WAITS = 2;

type Decided = Extract<ReadDecision, { readonly kind: 'decided' }>;

/** What the bridge writes into an answer that goes on after decisions. */
const textsOf = ({ verdicts, withheld, isPlain }: Decided): OwnTexts => {
  const text = toDecisionText(verdicts, withheld);
  if (!isPlain) return { opening: text };
  // The agent may have no text after a rejection, and an empty answer looks like a failure.
  return verdicts.some(({ reply }) => reply.reply === 'reject') ? { ifSilent: text } : {};
};

/** Begins a turn, or joins one. Where neither has happened, `waiting` is the turn that waits for a decision, if there is one. */
const answered = async (
  state: AnswersState,
  asked: PreparedRequest,
  more: Partial<BeginRequest>,
  { texts, before }: { readonly texts?: OwnTexts; readonly before?: readonly ApprovalRequest[] } = {},
): Promise<ClientAnswer | { readonly waiting: TurnSnapshot | undefined }> => {
  const begun = await state.turns.begin(toTurnRequest(asked, state.settings, more, before), asked.by);
  if (begun.outcome === 'begun' || begun.outcome === 'joined') return answerOfTurn(state, asked, begun, texts);
  return { waiting: begun.outcome === 'waiting' ? begun.turn : undefined };
};

/** Decides, and goes on with the turn that waited. */
const decide = async (
  state: AnswersState,
  asked: PreparedRequest,
  decision: Decided,
  waiting: TurnSnapshot,
): Promise<ClientAnswer> => {
  const { verdicts } = decision;
  const decisions = verdicts.map(({ request: { id: requestID }, reply }) => ({ requestID, ...reply }));
  const more = { conversation: { after: waiting.id }, history: [], decisions };
  const answer = await answered(state, asked, more, {
    texts: textsOf(decision),
    before: approvalRequestsOf(waiting),
  }).catch(unlessRefused('no_such_request'));
  if (answer !== undefined && 'output' in answer) return answer;
  // Somebody else was faster, or the time was over.
  const now = await state.turns.view(waiting.id, asked.by);
  const tried = verdicts.map(({ request: { id }, reply }) => ({ isApproved: reply.reply === 'once', ids: [id] }));
  const closed = verdicts.find(({ request: { id } }) => now.waiting.every((open) => open.id !== id));
  return now.waiting.length === 0 || closed === undefined
    ? explanation(state, { ...asked, before: now }, { problem: { kind: 'none-open' }, decisions: tried })
    : explanation(state, asked, { problem: { kind: 'closed', id: closed.request.id }, decisions: tried }, now);
};

/** What a request decides on the turn that waits in its conversation; undefined if it is a prompt. */
const answerWaiting = async (
  state: AnswersState,
  asked: PreparedRequest,
  waiting: TurnSnapshot,
): Promise<ClientAnswer | undefined> => {
  const decision = decisionIn(asked.request, requestsOf(waiting, asked.shown));
  if (decision === undefined) return undefined;
  return decision.kind === 'decided'
    ? decide(state, asked, decision, waiting)
    : explanation(state, asked, decision, waiting);
};

/** The answer to a request that can only be a decision; undefined for any other. */
const answerDecision = async (state: AnswersState, asked: PreparedRequest): Promise<ClientAnswer | undefined> => {
  const { request, by, before, shown } = asked;
  if (before !== undefined && before.waiting.length > 0) return answerWaiting(state, asked, before);
  const noneOpen = decisionIn(request, { open: [], shown: [] });
  if (noneOpen?.kind !== 'unclear') return undefined;
  const waiting = before === undefined ? await findWaiting(request.conversation, shown, state.turns, by) : undefined;
  if (waiting !== undefined) return answerWaiting(state, asked, waiting);
  const joined = await answered(state, asked, { isJoinOnly: true }).catch(unlessRefused('turn_not_found'));
  return joined !== undefined && 'output' in joined ? joined : explanation(state, asked, noneOpen);
};

const begin = async (state: AnswersState, asked: PreparedRequest): Promise<ClientAnswer> => {
  const known = isOneOff(asked.request) ? undefined : await answerDecision(state, asked);
  if (known !== undefined) return known;
  const waits = asked.before !== undefined && asked.before.waiting.length > 0;
  let ifWaiting: BeginRequest['ifWaiting'] = waits ? 'abort' : 'refuse';
  for (let tried = 0; tried < ONE_WAITS; tried += 1) {
    const begun = await answered(state, asked, { ifWaiting });
    if ('output' in begun) return begun;
    if (begun.waiting === undefined) break;
    const answer = await answerWaiting(state, asked, begun.waiting);
    if (answer !== undefined) return answer;
    ifWaiting = 'abort';
  }
  throw new Error('A turn was neither begun nor refused');
};

/** Where the request belongs. */
const placed = async (
  { turns }: AnswersState,
  { conversation }: BridgeRequest,
  { history, shown }: { readonly history: TurnPlace['history']; readonly shown: readonly string[] },
  by: TurnCaller,
): Promise<Pick<PreparedRequest, 'place' | 'before'>> => {
  if (conversation.kind !== 'named' && conversation.kind !== 'unnamed') {
    const before = await turnAfter(conversation, turns, by);
    return { place: { conversation: { after: before.id }, history }, before };
  }
  // The turn that has asked for what the history shows may still wait, and no digest of that history leads to it.
  const waiting = shown.length === 0 ? undefined : await findWaiting(conversation, shown, turns, by);
  if (waiting !== undefined) return { place: { conversation: { after: waiting.id }, history: [] }, before: waiting };
  const named = conversation.kind === 'named' ? { conversation: placeOfName(conversation.id) } : {};
  return { place: { ...named, history }, before: undefined };
};

const start = async (state: AnswersState, given: AnswerRequest): Promise<ClientAnswer> => {
  const { catalog, newToken } = state;
  const { request, owner, signal } = given;
  const reading = new AbortController();
  const onAbort = (): void => reading.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    const found = await catalog.find(request.model);
    const model = request.isBackgroundTask ? await catalog.findSmall(found) : found;
    refuseUnsupportedFiles(request.files, model);
    const by = { owner, signal: reading.signal };
    const { messages: history, shown } = withoutApprovals(request.history);
    const place = await placed(state, request, { history, shown }, by);
    return await begin(state, { ...given, ...place, by, reading, model, shown, ownKey: newToken() });
  } catch (error) {
    throw toToolFault(error, request.clientTools);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};

/** The answers to requests of clients: turns that they begin, join or continue, and texts of the bridge about approvals. */
export const createAnswers = (needs: AnswersNeeds): Answers => {
  const state: AnswersState = { ...needs, leaving: 0 };
  return { start: (request) => start(state, request), leaving: () => state.leaving };
};
