import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { isNotFound } from '../agent/errors.ts';
import { type ModelCatalog, modelNameOf } from '../agent/models.ts';
import type { AgentModel } from '../agent/types.ts';
import { answerIDOf, conversationIDOf, responseIDOf } from '../ids.ts';
import type { ApprovalRequest } from '../output.ts';
import { type BridgeRequest, isOneOff } from '../request.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import type { BeginRequest, BegunTurn, TurnCaller, TurnSnapshot, TurnsPort } from '../turns/port.ts';
import { approvalRequestsOf, type OwnTexts } from './answer-end.ts';
import { ownAnswer, readTurn } from './answer-output.ts';
import type { ReadDecision } from './approvals/decisions.ts';
import { withoutApprovals } from './approvals/history.ts';
import { toDecisionText, toProblemText } from './approvals/replies.ts';
import { toApprovalText } from './approvals/text.ts';
import { refuseUnsupportedFiles } from './file-types.ts';
import { toToolFault } from './for-agent.ts';
import {
  type DisconnectPolicy,
  placeOfName,
  type RequestIdentity,
  type TurnPlace,
  toTurnRequest,
} from './turn-request.ts';
import { decisionIn, findWaiting, isTurnRefused, requestsOf, turnAfter, unreadTexts } from './waiting-turn.ts';

export type AnswerSettings = {
  /** Which of the agent's agents answers. Undefined: the agent's default. */
  readonly agentName: string | undefined;
  /** Whether the user is asked for approval in the chat. Else all permission requests are rejected. */
  readonly asksInChat: boolean;
  readonly onDisconnect: DisconnectPolicy;
  readonly matching: 'prefix' | 'named';
};

type AnswersNeeds = {
  readonly turns: TurnsPort;
  readonly catalog: ModelCatalog;
  readonly clock: Clock;
  readonly log: Log;
  readonly newToken: () => string;
  readonly digest: (text: string) => string;
  readonly settings: AnswerSettings;
  /** Of this bridge. */
  readonly version: string;
};

/** An answer as one client reads it. Who reads it again gets the same ids and time. */
export type ClientAnswer = {
  readonly conversationName: string;
  /** `provider/key` of the model. */
  readonly model: string;
  /** Names of the model's variants, such as reasoning efforts. */
  readonly variants: readonly string[];
  /** The part of its turn's id that is in its ids. */
  readonly answerID: string;
  readonly responseID: string;
  /** Where its messages are; undefined for a text of the bridge alone, which cannot be read again. */
  readonly sessionID: string | undefined;
  readonly createdSeconds: number;
  /** Of the version of this bridge, the agent by its name, and the model as the agent shows it: the same until one of them changes. */
  readonly fingerprint: string;
  /** Read it once, to its end or until `stop`. */
  readonly output: PolledOutput;
  /** Who sends the answer calls one of them in any case: once the client was sent all of it, or if it will not be. */
  readonly delivery: { readonly finish: () => void; readonly leave: () => void };
};

type AnswerRequest = {
  readonly request: BridgeRequest;
  readonly owner: string;
  readonly identity: RequestIdentity;
  /** Aborts when the client disconnects or the bridge stops. */
  readonly signal: AbortSignal;
};

export type Answers = {
  readonly start: (request: AnswerRequest) => Promise<ClientAnswer>;
  /** How many readers the agent is being told of. */
  readonly leaving: () => number;
};

/** The message with which permission requests are rejected where no one can answer them. */
const REJECTION = 'Nobody can be asked for approval here, so this was not allowed. Say what you would have done.';
const FINGERPRINT_CHARS = 10;
const TOKEN_CHARS = 12;
const ONE_WAITS = 2;

/** A request on its way to the agent. */
type Asked = AnswerRequest & {
  readonly by: TurnCaller;
  readonly reading: AbortController;
  readonly model: AgentModel;
  readonly place: TurnPlace;
  /** The requests that its history shows. */
  readonly shown: readonly string[];
  /** The turn that is known to come before it. */
  readonly before: TurnSnapshot | undefined;
  readonly ownKey: string;
};

type Decided = Extract<ReadDecision, { readonly kind: 'decided' }>;
type Unclear = Extract<ReadDecision, { readonly kind: 'unclear' }>;
type Running = Extract<BegunTurn, { readonly outcome: 'begun' | 'joined' }>;

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
  const { turns, catalog, clock, log, newToken, digest, settings } = needs;
  const { onDisconnect, agentName, matching } = settings;
  const abortAfterMs = abortAfterMsOf(onDisconnect);
  let leaving = 0;

  const fingerprintOf = (model: AgentModel): string =>
    `fp_${digest(JSON.stringify([needs.version, agentName ?? null, model])).slice(0, FINGERPRINT_CHARS)}`;

  const leave = (turnID: string, owner: string, reader: Parameters<TurnsPort['leave']>[1]): void => {
    leaving += 1;
    const { signal } = new AbortController();
    const failed = (error: unknown): void =>
      log('warn', 'reader-not-left', { reason: error instanceof Fault ? error.detail.kind : 'bug' });
    turns
      .leave(turnID, reader, { owner, signal })
      .catch(failed)
      .finally(() => {
        leaving -= 1;
      });
  };
  const factsOf = ({ model }: Asked) => ({
    model: modelNameOf(model),
    variants: model.variants,
    fingerprint: fingerprintOf(model),
  });
  const reject = async ({ id, waiting }: TurnSnapshot, by: TurnCaller): Promise<void> => {
    const decisions = waiting.map((request) => ({
      requestID: request.id,
      reply: 'reject' as const,
      message: REJECTION,
    }));
    await turns.decide(id, decisions, by).catch((error: unknown) => {
      if (!isTurnRefused(error, 'no_such_request')) throw error;
    });
  };

  const running = (asked: Asked, { turn, reader, events }: Running, texts: OwnTexts): ClientAnswer => {
    const { request, owner, signal, reading, by } = asked;
    // No later request could carry an approval of a one-off.
    const rejects = !settings.asksInChat || isOneOff(request);
    const answer = readTurn({
      ...{ clock, turn, events, reading, signal, texts },
      reject: rejects ? (now) => reject(now, by) : undefined,
    });
    // In the background it goes on without its client, and an equal request begins another one.
    const isBackground = request.isBackground === true;
    let isLeft = false;
    const leaveOnce = (hasAll: boolean): void => {
      if (isLeft) return;
      isLeft = true;
      const shownIDs = answer.shown().map(({ id }) => id);
      leave(turn.id, owner, { id: reader, ...(hasAll ? { readTo: answer.position(), shownIDs } : {}) });
    };
    log('debug', 'answer-begun', { model: modelNameOf(asked.model) });
    return {
      ...factsOf(asked),
      conversationName: turn.conversationName ?? conversationIDOf(turn.conversationID),
      answerID: answerIDOf(turn.id),
      responseID: responseIDOf(answerIDOf(turn.id)),
      sessionID: turn.sessionID,
      createdSeconds: Math.floor(turn.createdMs / 1000),
      output: answer.output,
      delivery: {
        // A failure that the end of the bridge made is not the turn's.
        finish: () => leaveOnce(isBackground || !signal.aborted),
        leave: () => leaveOnce(isBackground),
      },
    };
  };
  /** An answer of the bridge alone: why a message decided nothing, with the requests that are still open. */
  const explained = async (
    asked: Asked,
    { problem, decisions }: Unclear,
    waiting?: TurnSnapshot,
  ): Promise<ClientAnswer> => {
    const { request, owner, by, before } = asked;
    const open = waiting === undefined ? [] : approvalRequestsOf(waiting);
    const last = waiting ?? before ?? (await lastTurnOf(request, by));
    const unread = open.length > 0 ? [] : await unreadTexts(last, turns, by);
    if (last !== undefined && (open.length > 0 || unread.length > 0)) {
      const readTo = unread.length > 0 ? last.position : (last.readTo ?? last.from);
      leave(last.id, owner, { id: 'none', readTo, shownIDs: open.map(({ id }) => id) });
    }
    const text = [toProblemText(problem, decisions), ...unread].join('\n\n');
    const { conversation } = request;
    const token = newToken().slice(0, TOKEN_CHARS);
    const answerID = newToken();
    return {
      ...factsOf(asked),
      conversationName:
        last === undefined
          ? conversation.kind === 'named'
            ? conversation.id
            : conversationIDOf(answerID)
          : (last.conversationName ?? conversationIDOf(last.conversationID)),
      answerID,
      responseID: last === undefined ? responseIDOf(answerID) : responseIDOf(answerIDOf(last.id), token),
      sessionID: undefined,
      createdSeconds: Math.floor(clock.now() / 1000),
      output: ownAnswer(text, toApprovalText(open), open),
      delivery: { finish() {}, leave() {} },
    };
  };
  const lastTurnOf = async ({ conversation }: BridgeRequest, by: TurnCaller): Promise<TurnSnapshot | undefined> => {
    if (conversation.kind !== 'named') return undefined;
    try {
      const { lastTurnID } = await turns.conversations.find(placeOfName(conversation.id), by);
      return lastTurnID === undefined ? undefined : await turns.view(lastTurnID, by);
    } catch (error) {
      const isGone = isNotFound(error) || isTurnRefused(error, 'turn_not_found');
      if (isGone || isTurnRefused(error, 'conversation_not_found')) return undefined;
      throw error;
    }
  };

  const turnRequest = (
    asked: Asked,
    more: Partial<BeginRequest> = {},
    before: readonly ApprovalRequest[] = [],
  ): BeginRequest => ({
    ...toTurnRequest(asked, { agentName, abortAfterMs, matching }, more.decisions, before),
    ...more,
  });
  /** Decides, and goes on with the turn that waited. */
  const decided = async (asked: Asked, decision: Decided, waiting: TurnSnapshot): Promise<ClientAnswer> => {
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
  const answeredBy = async (asked: Asked, waiting: TurnSnapshot): Promise<ClientAnswer | undefined> => {
    const decision = decisionIn(asked.request, requestsOf(waiting, asked.shown));
    if (decision === undefined) return undefined;
    return decision.kind === 'decided' ? decided(asked, decision, waiting) : explained(asked, decision, waiting);
  };
  /** The answer to a request that can only be a decision; undefined for any other. */
  const asDecision = async (asked: Asked): Promise<ClientAnswer | undefined> => {
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
  const begin = async (asked: Asked): Promise<ClientAnswer> => {
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
  ): Promise<Pick<Asked, 'place' | 'before'>> => {
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
    leaving: () => leaving,
  };
};
