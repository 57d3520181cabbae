import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { isNotFound } from '../agent/errors.ts';
import { type ModelCatalog, modelNameOf } from '../agent/models.ts';
import type { AgentModel } from '../agent/types.ts';
import { answerIDOf, conversationIDOf, responseIDOf } from '../ids.ts';
import { type BridgeRequest, isOneOff } from '../request.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import type { BegunTurn, TurnCaller, TurnSnapshot, TurnsPort } from '../turns/port.ts';
import { approvalRequestsOf, type OwnTexts } from './answer-end.ts';
import { ownAnswer, readTurn } from './answer-output.ts';
import type { ReadDecision } from './approvals/decisions.ts';
import { toProblemText } from './approvals/replies.ts';
import { toApprovalText } from './approvals/text.ts';
import { type DisconnectPolicy, placeOfName, type RequestIdentity, type TurnPlace } from './turn-request.ts';
import { isTurnRefused, unreadTexts } from './waiting-turn.ts';

export type AnswerSettings = {
  /** Which of the agent's agents answers. Undefined: the agent's default. */
  readonly agentName: string | undefined;
  /** Whether the user is asked for approval in the chat. Else all permission requests are rejected. */
  readonly asksInChat: boolean;
  readonly onDisconnect: DisconnectPolicy;
  readonly matching: 'prefix' | 'named';
};

export type AnswersNeeds = {
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

export type AnswerRequest = {
  readonly request: BridgeRequest;
  readonly owner: string;
  readonly identity: RequestIdentity;
  /** Aborts when the client disconnects or the bridge stops. */
  readonly signal: AbortSignal;
};

/** The message with which permission requests are rejected where no one can answer them. */
const REJECTION = 'Nobody can be asked for approval here, so this was not allowed. Say what you would have done.';
const FINGERPRINT_CHARS = 10;
const TOKEN_CHARS = 12;

/** A request on its way to the agent. */
export type PreparedRequest = AnswerRequest & {
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

type Unclear = Extract<ReadDecision, { readonly kind: 'unclear' }>;
type Running = Extract<BegunTurn, { readonly outcome: 'begun' | 'joined' }>;

/** The last turn of the conversation that a request names. */
const lastTurnOf = async (
  { conversation }: BridgeRequest,
  turns: TurnsPort,
  by: TurnCaller,
): Promise<TurnSnapshot | undefined> => {
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

/** Creates what makes the answers of clients: of turns, and of the bridge alone. */
export const createAnswerMaker = (needs: AnswersNeeds) => {
  const { turns, clock, log, newToken, digest, settings } = needs;
  let leaving = 0;

  const fingerprintOf = (model: AgentModel): string =>
    `fp_${digest(JSON.stringify([needs.version, settings.agentName ?? null, model])).slice(0, FINGERPRINT_CHARS)}`;

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
  const factsOf = ({ model }: PreparedRequest) => ({
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

  const running = (asked: PreparedRequest, { turn, reader, events }: Running, texts: OwnTexts): ClientAnswer => {
    const { request, owner, signal, reading, by } = asked;
    // No later request could carry an approval of a one-off.
    const rejects = !settings.asksInChat || isOneOff(request);
    // In the background it goes on without its client, and an equal request begins another one.
    const isBackground = request.isBackground === true;
    const answer = readTurn({
      ...{ clock, turn, events, reading, signal, texts, goesOn: isBackground },
      reject: rejects ? (now) => reject(now, by) : undefined,
    });
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
    asked: PreparedRequest,
    { problem, decisions }: Unclear,
    waiting?: TurnSnapshot,
  ): Promise<ClientAnswer> => {
    const { request, owner, by, before } = asked;
    const open = waiting === undefined ? [] : approvalRequestsOf(waiting);
    const last = waiting ?? before ?? (await lastTurnOf(request, turns, by));
    const unread = open.length > 0 ? [] : await unreadTexts(last, turns, by);
    if (last !== undefined && (open.length > 0 || unread.length > 0)) {
      const readTo = unread.length > 0 ? last.position : (last.readTo ?? last.from);
      leave(last.id, owner, { id: 'none', readTo, shownIDs: open.map(({ id }) => id) });
    }
    const text = [toProblemText(problem, decisions), ...unread].join('\n\n');
    const { conversation } = request;
    const token = newToken().slice(0, TOKEN_CHARS);
    const answerID = newToken();
    const ownName = conversation.kind === 'named' ? conversation.id : conversationIDOf(answerID);
    return {
      ...factsOf(asked),
      conversationName: last === undefined ? ownName : (last.conversationName ?? conversationIDOf(last.conversationID)),
      answerID,
      responseID: last === undefined ? responseIDOf(answerID) : responseIDOf(answerIDOf(last.id), token),
      sessionID: undefined,
      createdSeconds: Math.floor(clock.now() / 1000),
      output: ownAnswer(text, toApprovalText(open), open),
      delivery: { finish() {}, leave() {} },
    };
  };
  return { running, explained, leaving: () => leaving };
};
