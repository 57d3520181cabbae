import type { Clock } from '../../core/clock.ts';
import { Fault, isNotFound } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { type ModelCatalog, modelNameOf } from '../agent/models.ts';
import { answerIDOf, conversationIDOf, responseIDOf } from '../ids.ts';
import { type BridgeRequest, isOneOff } from '../request.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import type { BegunTurn, TurnCaller, TurnSnapshot, TurnsPort } from '../turns/port.ts';
import { approvalRequestsOf, type OwnTexts } from './answer-end.ts';
import { ownAnswer, readTurn } from './answer-output.ts';
import type { ReadDecision } from './approvals/decisions.ts';
import { toProblemText } from './approvals/replies.ts';
import { type AnswerSettings, type PreparedRequest, placeOfName } from './turn-request.ts';
import { isTurnRefused, unlessRefused, unreadTexts } from './waiting-turn.ts';

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

/** The state of all answers. `leaving`: how many calls of `leave` to the agent are under way. */
export type AnswersState = AnswersNeeds & { leaving: number };

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

/** The message with which permission requests are rejected where no one can answer them. */
const REJECTION = 'Nobody can be asked for approval here, so this was not allowed. Say what you would have done.';
const FINGERPRINT_CHARS = 10;
const TOKEN_CHARS = 12;

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

/** Tells the agent of a reader that reads no more. */
const leaveTurn = (
  state: AnswersState,
  turnID: string,
  owner: string,
  reader: Parameters<TurnsPort['leave']>[1],
): void => {
  state.leaving += 1;
  state.turns
    .leave(turnID, reader, { owner, signal: new AbortController().signal })
    .catch((error: unknown) =>
      state.log('warn', 'reader-not-left', { reason: error instanceof Fault ? error.detail.kind : 'bug' }),
    )
    .finally(() => {
      state.leaving -= 1;
    });
};

/** What an answer says of its model. */
const modelFacts = ({ digest, version, settings }: AnswersNeeds, { model }: PreparedRequest) => ({
  model: modelNameOf(model),
  variants: model.variants,
  fingerprint: `fp_${digest(JSON.stringify([version, settings.agentName ?? null, model])).slice(0, FINGERPRINT_CHARS)}`,
});

const nameOf = ({ conversationName, conversationID }: TurnSnapshot): string =>
  conversationName ?? conversationIDOf(conversationID);

/** Rejects the permission requests with which a turn waits. */
const rejectAll = async ({ id, waiting }: TurnSnapshot, turns: TurnsPort, by: TurnCaller): Promise<void> => {
  const rejection = { reply: 'reject' as const, message: REJECTION };
  const decisions = waiting.map((request) => ({ requestID: request.id, ...rejection }));
  await turns.decide(id, decisions, by).catch(unlessRefused('no_such_request'));
};

/** The answer of a turn that a request has begun or joined. */
export const answerOfTurn = (
  state: AnswersState,
  asked: PreparedRequest,
  { turn, reader, events }: Extract<BegunTurn, { readonly outcome: 'begun' | 'joined' }>,
  texts: OwnTexts = {},
): ClientAnswer => {
  const { clock, settings, turns } = state;
  const { request, owner, signal, reading, by } = asked;
  // No later request could carry an approval of a one-off.
  const rejects = !settings.asksInChat || isOneOff(request);
  // In the background it goes on without its client, and an equal request begins another one.
  const isBackground = request.isBackground === true;
  const answer = readTurn({
    ...{ clock, turn, events, reading, signal, texts, goesOn: isBackground },
    reject: rejects ? (now) => rejectAll(now, turns, by) : undefined,
  });
  let isLeft = false;
  const leaveOnce = (hasAll: boolean): void => {
    if (isLeft) return;
    isLeft = true;
    const shownIDs = answer.shown().map(({ id }) => id);
    leaveTurn(state, turn.id, owner, { id: reader, ...(hasAll ? { readTo: answer.position(), shownIDs } : {}) });
  };
  state.log('debug', 'answer-begun', { model: modelNameOf(asked.model) });
  return {
    ...modelFacts(state, asked),
    conversationName: nameOf(turn),
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

/** An answer of the bridge alone: why a message decided nothing, with the requests that are still open in the turn that waits. */
export const explanation = async (
  state: AnswersState,
  asked: PreparedRequest,
  { problem, decisions }: Pick<Extract<ReadDecision, { readonly kind: 'unclear' }>, 'problem' | 'decisions'>,
  waiting?: TurnSnapshot,
): Promise<ClientAnswer> => {
  const { turns, newToken } = state;
  const { request, owner, by, before } = asked;
  const open = waiting === undefined ? [] : approvalRequestsOf(waiting);
  const last = waiting ?? before ?? (await lastTurnOf(request, turns, by));
  const unread = open.length > 0 ? [] : await unreadTexts(last, turns, by);
  if (last !== undefined && (open.length > 0 || unread.length > 0)) {
    const readTo = unread.length > 0 ? last.position : (last.readTo ?? last.from);
    leaveTurn(state, last.id, owner, { id: 'none', readTo, shownIDs: open.map(({ id }) => id) });
  }
  const { conversation } = request;
  const token = newToken().slice(0, TOKEN_CHARS);
  const answerID = newToken();
  const ownName = conversation.kind === 'named' ? conversation.id : conversationIDOf(answerID);
  return {
    ...modelFacts(state, asked),
    conversationName: last === undefined ? ownName : nameOf(last),
    answerID,
    responseID: last === undefined ? responseIDOf(answerID) : responseIDOf(answerIDOf(last.id), token),
    sessionID: undefined,
    createdSeconds: Math.floor(state.clock.now() / 1000),
    output: ownAnswer([toProblemText(problem, decisions), ...unread].join('\n\n'), open),
    delivery: { finish() {}, leave() {} },
  };
};
