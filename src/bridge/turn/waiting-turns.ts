import { setNewest } from '../../core/bounded-map.ts';
import { isNotFound } from '../agent/errors.ts';
import type { AgentClient, AgentPermissionReply } from '../agent/types.ts';
import type { ConversationSession } from '../conversation/types.ts';
import type { ApprovalRequest } from '../output.ts';
import { type ApprovalDecision, type BridgeRequest, textOfParts } from '../request.ts';
import { findRequestID, isAlmostApproval, parseApproval } from './approval-parser.ts';
import { createTurnLog, type TurnLog } from './log.ts';
import { LOG_START, type LogPosition, readTexts, type TurnOutcome } from './outcome.ts';
import { type AgentTurn, type AgentTurnNeeds, startTurn } from './turn.ts';

/** What an answer is read from: a turn's log from a position on, or a text of the bridge itself. */
export type AnswerSource = {
  readonly turn: AgentTurn | undefined;
  readonly log: TurnLog;
  readonly from: LogPosition;
  /** The text of the answer when the agent sends none. */
  readonly ifSilent?: string;
};

/** Turns that wait for a user's approval, by session. */
type WaitingTurns = {
  /** `from` is where an answer ended while its turn did not. */
  readonly add: (turn: AgentTurn, from: LogPosition & Partial<Pick<TurnOutcome, 'last'>>) => void;
  /** What a request continues in its session; undefined when it is a new prompt. A prompt without approval aborts the turn. */
  readonly resume: (
    session: ConversationSession,
    request: BridgeRequest,
    signal: AbortSignal,
  ) => Promise<AnswerSource | undefined>;
};

const TURNS_LIMIT = 1000;
const SESSIONS_LIMIT = 10_000;
const NAMES_A_REQUEST = /^\s*(?:approve|reject)\s+per_\w+/i;

const NO_SUCH_REQUEST =
  'There is no open approval request with this id in this conversation: it was answered, it expired, or it belongs to another conversation. Nothing was approved.';
const NOT_COUNTED = 'This was not taken as an approval or a rejection, because it has no id of an approval request.';
/** The agent may have no text after a rejection, and an empty answer looks like a failure. */
const REJECTED = 'Rejected. The call was not made, and the agent has stopped.';

/** An answer of the bridge itself. With approval requests it ends like an answer of the agent that has them. */
const createTextAnswer = (text: string, approvalRequests: readonly ApprovalRequest[] = []): AnswerSource => {
  const writer = createTurnLog();
  writer.setText({ id: 'gatehouse', messageID: '', kind: 'text', text, isOver: true });
  for (const approvalRequest of approvalRequests) writer.addApprovalRequest(approvalRequest);
  if (approvalRequests.length === 0) writer.finish({ kind: 'answered', finish: 'stop' });
  return { turn: undefined, log: writer.log, from: LOG_START };
};

const toPermissionAnswer = ({ isApproved, message }: ApprovalDecision): AgentPermissionReply => {
  if (isApproved) return { reply: 'once' };
  return message === undefined ? { reply: 'reject' } : { reply: 'reject', message };
};

/** Answers all requests that a decision names, or none if one of them is unknown. Returns whether any was still open. */
const answerRequests = async (turn: AgentTurn, decision: ApprovalDecision): Promise<boolean> => {
  const open = turn.log.approvalRequests();
  const ids = new Set(decision.ids.map((id) => findRequestID(id, open)));
  if (ids.has(undefined)) return false;
  let isAnswered = false;
  for (const id of ids) {
    try {
      if (id !== undefined) await turn.answerPermission(id, toPermissionAnswer(decision));
      isAnswered = true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return isAnswered;
};

export const createWaitingTurns = (
  agent: Pick<AgentClient, 'busySessions'>,
  turnNeeds: AgentTurnNeeds,
): WaitingTurns => {
  const waiting = new Map<string, { readonly turn: AgentTurn; readonly from: LogPosition }>();
  /** The approval requests that the last answer ended with, even if they are not open any more. */
  const lastShown = new Map<string, readonly ApprovalRequest[]>();
  /** Sessions that need no look at the agent. In others a turn of an earlier process may wait. */
  const checked = new Map<string, true>();

  const add: WaitingTurns['add'] = (turn, from) => {
    const sessionID = turn.sessionID();
    // A turn that is dropped here can be found again at the agent.
    const evicted = setNewest(waiting, [sessionID, { turn, from }], TURNS_LIMIT);
    if (evicted !== undefined) checked.delete(evicted);
    const shown = from.last?.kind === 'end' ? from.last.end.approvalRequests : turn.log.approvalRequests();
    setNewest(lastShown, [sessionID, shown], SESSIONS_LIMIT);
  };
  const findAtAgent = async (
    { sessionID, knownMessageIDs }: ConversationSession,
    signal: AbortSignal,
  ): Promise<void> => {
    // In a session without messages no turn waits.
    if (checked.has(sessionID) || waiting.has(sessionID) || knownMessageIDs.size === 0) return;
    if ((await agent.busySessions(signal)).has(sessionID)) {
      const turn = startTurn(sessionID, { kind: 'existing' }, turnNeeds);
      await turn.loaded;
      add(turn, { items: turn.log.closeTexts(), usage: turn.log.usage() });
    }
    setNewest(checked, [sessionID, true], SESSIONS_LIMIT);
  };
  return {
    add,
    async resume(session, request, signal) {
      await findAtAgent(session, signal);
      const { sessionID } = session;
      const text = textOfParts(request.prompt);
      const found = waiting.get(sessionID);
      const openRequests = () => found?.turn.log.approvalRequests() ?? [];
      /** What a turn has sent that no client has read, because it continued when its request timed out. */
      const takeUnreadTexts = (): readonly string[] => {
        if (found === undefined || found.turn.log.end() === undefined) return [];
        waiting.delete(sessionID);
        return readTexts(found.turn.log, found.from);
      };
      const decision =
        request.approval ?? parseApproval(text, openRequests()) ?? parseApproval(text, lastShown.get(sessionID) ?? []);
      if (decision !== undefined) {
        if (found === undefined || !(await answerRequests(found.turn, decision)))
          return createTextAnswer([NO_SUCH_REQUEST, ...takeUnreadTexts()].join('\n\n'), openRequests());
        waiting.delete(sessionID);
        return { ...found, log: found.turn.log, ...(decision.isApproved ? {} : { ifSilent: REJECTED }) };
      }
      if (openRequests().length > 0 && isAlmostApproval(text)) return createTextAnswer(NOT_COUNTED, openRequests());
      waiting.delete(sessionID);
      // Any other text approves nothing, and must not wait until the request times out.
      await found?.turn.abort();
      return NAMES_A_REQUEST.test(text) ? createTextAnswer(NO_SUCH_REQUEST) : undefined;
    },
  };
};
