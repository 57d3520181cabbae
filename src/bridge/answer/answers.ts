import type { ApprovalRequest } from '../output.ts';
import { type BridgeRequest, isOneOff } from '../request.ts';
import type { BeginRequest, TurnCaller, TurnSnapshot } from '../turns/port.ts';
import { approvalRequestsOf, type OwnTexts } from './answer-end.ts';
import type { ReadDecision } from './approvals/decisions.ts';
import { withoutApprovals } from './approvals/history.ts';
import { toDecisionText } from './approvals/replies.ts';
import {
  type AnswerRequest,
  type AnswersNeeds,
  type ClientAnswer,
  createAnswerMaker,
  type PreparedRequest,
} from './client-answer.ts';
import { refuseUnsupportedFiles } from './file-types.ts';
import { toToolFault } from './for-agent.ts';
import { type DisconnectPolicy, placeOfName, type TurnPlace, toTurnRequest } from './turn-request.ts';
import { decisionIn, findWaiting, isTurnRefused, requestsOf, turnAfter } from './waiting-turn.ts';

export type Answers = {
  readonly start: (request: AnswerRequest) => Promise<ClientAnswer>;
  /** How many readers the agent is being told of. */
  readonly leaving: () => number;
};

const ONE_WAITS = 2;

type Decided = Extract<ReadDecision, { readonly kind: 'decided' }>;
/** What the bridge writes into an answer that goes on after decisions. */
const textsOf = ({ verdicts, withheld, isPlain }: Decided): OwnTexts => {
  const text = toDecisionText({ done: verdicts, closed: [], withheld });
  if (!isPlain) return { opening: text };
  // The agent may have no text after a rejection, and an empty answer looks like a failure.
  return verdicts.some(({ reply }) => reply.reply === 'reject') ? { ifSilent: text } : {};
};

const abortAfterMsOf = (policy: DisconnectPolicy): number | null => {
  if (policy.kind === 'grace') return policy.ms;
  return policy.kind === 'detach' ? null : 0;
};

/** The answers to requests of clients: turns that they begin, join or continue, and texts of the bridge about approvals. */
export const createAnswers = (needs: AnswersNeeds): Answers => {
  const { turns, catalog, newToken, settings } = needs;
  const { onDisconnect, agentName, matching } = settings;
  const abortAfterMs = abortAfterMsOf(onDisconnect);
  const { running, explained, leaving } = createAnswerMaker(needs);

  const turnRequest = (
    asked: PreparedRequest,
    more: Partial<BeginRequest> = {},
    before: readonly ApprovalRequest[] = [],
  ): BeginRequest => ({
    ...toTurnRequest(asked, { agentName, abortAfterMs, matching }, more.decisions, before),
    ...more,
  });
  /** Decides, and goes on with the turn that waited. */
  const decided = async (asked: PreparedRequest, decision: Decided, waiting: TurnSnapshot): Promise<ClientAnswer> => {
    const { by } = asked;
    const decisions = decision.verdicts.map(({ request: { id: requestID }, reply }) => ({ requestID, ...reply }));
    const place = { conversation: { after: waiting.id }, history: [] };
    try {
      const begun = await turns.begin(turnRequest(asked, { ...place, decisions }, approvalRequestsOf(waiting)), by);
      if (begun.outcome === 'begun' || begun.outcome === 'joined') return running(asked, begun, textsOf(decision));
    } catch (error) {
      if (!isTurnRefused(error, 'no_such_request')) throw error;
    }
    // Somebody else was faster, or the time was over.
    const now = await turns.view(waiting.id, by);
    const tried = decision.verdicts.map(({ request: { id }, reply }) => ({
      ...{ isApproved: reply.reply === 'once', ids: [id] },
    }));
    const closed = decision.verdicts.find(({ request: { id } }) => now.waiting.every((open) => open.id !== id));
    if (now.waiting.length === 0 || closed === undefined)
      return explained(
        { ...asked, before: now },
        { kind: 'unclear', problem: { kind: 'none-open' }, decisions: tried },
      );
    return explained(
      asked,
      { kind: 'unclear', problem: { kind: 'closed', id: closed.request.id }, decisions: tried },
      now,
    );
  };
  /** What a request decides on the turn that waits in its conversation; undefined if it is a prompt. */
  const answeredBy = async (asked: PreparedRequest, waiting: TurnSnapshot): Promise<ClientAnswer | undefined> => {
    const decision = decisionIn(asked.request, requestsOf(waiting, asked.shown));
    if (decision === undefined) return undefined;
    return decision.kind === 'decided' ? decided(asked, decision, waiting) : explained(asked, decision, waiting);
  };
  /** The answer to a request that can only be a decision; undefined for any other. */
  const asDecision = async (asked: PreparedRequest): Promise<ClientAnswer | undefined> => {
    const { request, by, before, shown } = asked;
    const waits = before !== undefined && before.waiting.length > 0;
    const noneOpen = decisionIn(request, { open: [], shown: [] });
    if (waits) return answeredBy(asked, before);
    if (noneOpen?.kind !== 'unclear') return undefined;
    const waiting = before === undefined ? await findWaiting(request.conversation, shown, turns, by) : undefined;
    if (waiting !== undefined) return answeredBy(asked, waiting);
    const joined = await turns.begin(turnRequest(asked, { isJoinOnly: true }), by).catch((error: unknown) => {
      if (!isTurnRefused(error, 'turn_not_found')) throw error;
    });
    if (joined?.outcome === 'joined') return running(asked, joined, {});
    return explained(asked, noneOpen);
  };
  const begin = async (asked: PreparedRequest): Promise<ClientAnswer> => {
    const known = isOneOff(asked.request) ? undefined : await asDecision(asked);
    if (known !== undefined) return known;
    const waits = asked.before !== undefined && asked.before.waiting.length > 0;
    let ifWaiting: BeginRequest['ifWaiting'] = waits ? 'abort' : 'refuse';
    for (let tried = 0; tried < ONE_WAITS; tried += 1) {
      const begun = await turns.begin(turnRequest(asked, { ifWaiting }), asked.by);
      if (begun.outcome === 'begun' || begun.outcome === 'joined') return running(asked, begun, {});
      if (begun.outcome === 'none') break;
      const answer = await answeredBy(asked, begun.turn);
      if (answer !== undefined) return answer;
      ifWaiting = 'abort';
    }
    throw new Error('A turn was neither begun nor refused');
  };
  /** Where the request belongs. */
  const placed = async (
    { conversation }: BridgeRequest,
    { history, shown }: { readonly history: TurnPlace['history']; readonly shown: readonly string[] },
    by: TurnCaller,
  ): Promise<Pick<PreparedRequest, 'place' | 'before'>> => {
    if (conversation.kind === 'named' || conversation.kind === 'unnamed') {
      // The turn that has asked for what the history shows may still wait, and no digest of that history leads to it.
      const waiting = shown.length === 0 ? undefined : await findWaiting(conversation, shown, turns, by);
      if (waiting !== undefined)
        return { place: { conversation: { after: waiting.id }, history: [] }, before: waiting };
    }
    if (conversation.kind === 'named')
      return { place: { conversation: placeOfName(conversation.id), history }, before: undefined };
    if (conversation.kind !== 'unnamed') {
      const before = await turnAfter(conversation, turns, by);
      return { place: { conversation: { after: before.id }, history }, before };
    }
    return { place: { history }, before: undefined };
  };

  return {
    async start(given) {
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
        const place = await placed(request, { history, shown }, by);
        return await begin({ ...given, ...place, by, reading, model, shown, ownKey: newToken() });
      } catch (error) {
        throw toToolFault(error, request.clientTools);
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    leaving,
  };
};
