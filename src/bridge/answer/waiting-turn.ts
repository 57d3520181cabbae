import type { Fault } from '../../core/fault.ts';
import { isBridgeFault, type TurnRefusalCode } from '../errors.ts';
import {
  answerIDOf,
  conversationIDOf,
  partOfItemID,
  responseIDOf,
  responseNotFoundText,
  turnOfResponseID,
} from '../ids.ts';
import type { ApprovalRequest } from '../output.ts';
import { type BridgeRequest, badInput, type ConversationReference, invalidValue, userTextIn } from '../request.ts';
import type { TurnCaller, TurnSnapshot, TurnsPort } from '../turns/port.ts';
import { approvalRequestsOf, hasEnded } from './answer-end.ts';
import { type DecidableRequests, type ReadDecision, readDecision } from './approvals/decisions.ts';
import { shortRequestID } from './approvals/text.ts';

type NamedReference = Extract<ConversationReference, { readonly kind: 'named' }>;

/** For a request that goes on after a response which is not there. */
const previousNotFound = (responseID: string): Fault =>
  badInput(
    'previous_response_not_found',
    'previous_response_id',
    `${responseNotFoundText(responseID)}: send all earlier messages in 'input' instead`,
  );

const unknownItem = (): Fault =>
  badInput(
    'item_not_found',
    'input',
    "The answer with an item that 'input' names by its id is not known here any more: send the text of all earlier messages",
  );

/** For a request that goes on after a response whose approval was decided: that goes on itself. */
const previousDecided = (continuedBy: string): Fault =>
  invalidValue(
    'previous_response_id',
    `the approval that this response asked for was decided before, and its turn went on. Go on from ${responseIDOf(answerIDOf(continuedBy))}`,
  );

/** Whether the turns refused something for this reason. */
export const isTurnRefused = (error: unknown, code: TurnRefusalCode): boolean =>
  isBridgeFault(error) && error.detail.kind === 'turn-refused' && error.detail.code === code;

/** Passes over an error where the turns refused something for this reason, such as what is gone already; throws any other. */
export const unlessRefused =
  (code: TurnRefusalCode) =>
  (error: unknown): undefined => {
    if (!isTurnRefused(error, code)) throw error;
  };

/** The turn after which a request goes on, which a response or an item names. */
export const turnAfter = async (
  reference: Exclude<ConversationReference, { readonly kind: 'unnamed' | 'named' }>,
  turns: Pick<TurnsPort, 'view' | 'turnsOfPart' | 'read'>,
  by: TurnCaller,
): Promise<TurnSnapshot> => {
  if (reference.kind === 'after-item') return turnOfItem(reference.itemID, turns, by);
  const turnID = turnOfResponseID(reference.responseID);
  if (turnID === undefined) throw previousNotFound(reference.responseID);
  try {
    const turn = await turns.view(turnID, by);
    const { continuedBy } = turn;
    if (continuedBy === undefined) return turn;
    const next = await turns.view(continuedBy, by);
    // It goes on with results of the client's calls where it brought some, else with a decision.
    if (next.callIDs.length === 0) throw previousDecided(continuedBy);
    return turn;
  } catch (error) {
    throw isTurnRefused(error, 'turn_not_found') ? previousNotFound(reference.responseID) : error;
  }
};

/** The turn of an item that a client refers to by its id alone. */
const turnOfItem = async (
  itemID: string,
  turns: Pick<TurnsPort, 'turnsOfPart' | 'read'>,
  by: TurnCaller,
): Promise<TurnSnapshot> => {
  const place = partOfItemID(itemID);
  const found = place === undefined ? [] : await turns.turnsOfPart(place, by);
  const last = found.at(-1);
  if (place === undefined || last === undefined) throw unknownItem();
  for (const { id } of found.slice(0, -1)) {
    const { turn, entries } = await turns.read(id, by);
    if (entries.some((entry) => 'partID' in entry && entry.partID === place.partID)) return turn;
  }
  return last;
};

/** What a request decides, if it does. */
export const decisionIn = (
  { approval, approvals, input }: Pick<BridgeRequest, 'approval' | 'approvals' | 'input'>,
  requests: DecidableRequests,
): ReadDecision | undefined => {
  const decisions = approval === undefined ? approvals : [approval];
  if (decisions?.length === 0) return undefined;
  return readDecision({ decisions, text: userTextIn(input) }, requests);
};

/** The requests on which a request may decide: those of the turn that waits, and those that its last answer has shown. */
export const requestsOf = (turn: TurnSnapshot, shownIDs: readonly string[]): DecidableRequests => {
  const open = approvalRequestsOf(turn);
  const closed = turn.shownIDs.filter((id) => open.every((request) => request.id !== id)).map(closedRequest);
  const isShown = (request: ApprovalRequest): boolean =>
    turn.shownIDs.includes(request.id) || shownIDs.includes(shortRequestID(request));
  return { open, shown: [...open.filter(isShown), ...closed] };
};

/** A request of which no more is known than that an answer has shown it. */
const closedRequest = (id: string): ApprovalRequest => ({ ...{ id, sessionID: '', tool: '', input: '', notes: [] } });

/** Whether a turn belongs to a conversation that a client names. */
const isIn = ({ id: name }: NamedReference, { conversationID, conversationName }: TurnSnapshot): boolean =>
  conversationName === name || conversationIDOf(conversationID) === name;

/** The turn that waits in the conversation of a request. `shown`: the requests that its history shows. Undefined if there is none. */
export const findWaiting = async (
  conversation: ConversationReference,
  shown: readonly string[],
  turns: Pick<TurnsPort, 'waitingTurns'>,
  by: TurnCaller,
): Promise<TurnSnapshot | undefined> => {
  const waiting = await turns.waitingTurns(by);
  const named = conversation.kind === 'named' ? waiting.find((turn) => isIn(conversation, turn)) : undefined;
  if (named !== undefined || conversation.kind === 'named') return named;
  return waiting.find((turn) => turn.waiting.some((request) => shown.includes(shortRequestID(request))));
};

/** What the last turn of a conversation has written since an answer ended that nobody decided on; nothing while it runs. */
export const unreadTexts = async (
  last: TurnSnapshot | undefined,
  turns: Pick<TurnsPort, 'read'>,
  by: TurnCaller,
): Promise<readonly string[]> => {
  if (last?.readTo === undefined || !hasEnded(last) || last.continuedBy !== undefined) return [];
  const { readTo } = last;
  const { entries } = await turns.read(last.id, by);
  const texts = new Map<string, string>();
  for (const entry of entries)
    if (entry.type === 'text' && entry.position > readTo)
      texts.set(entry.partID, (texts.get(entry.partID) ?? '') + entry.text);
  return [...texts.values()];
};
