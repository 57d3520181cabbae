import { isNotFound } from '../agent/errors.ts';
import type { AgentClient, PermissionAnswer } from '../agent/types.ts';
import type { ConversationSession } from '../conversation/types.ts';
import type { ApprovalRequest } from '../output.ts';
import { type ApprovalDecision, type BridgeRequest, textOfParts } from '../request.ts';
import { findRequestID, isAlmostApproval, parseApproval } from './approval-parser.ts';
import { createTurnLog, type TurnLog } from './log.ts';
import { LOG_START, type LogPosition, readTexts, type TurnOutcome } from './outcome.ts';
import { type AgentTurn, type AgentTurnNeeds, startTurn } from './turn.ts';

/** An answer that is ours and not the agent's. With questions it ends as the agent's own would: with them. */
export const createTextLog = (text: string, asks: readonly ApprovalRequest[] = []): TurnLog => {
  const writer = createTurnLog();
  writer.setText({ id: 'gatehouse', messageID: '', kind: 'text', text, isOver: true });
  for (const ask of asks) writer.addApprovalRequest(ask);
  if (asks.length === 0) writer.finish({ kind: 'answered', finish: 'stop' });
  return writer.log;
};

const NO_SUCH_QUESTION =
  'There is no open question with this id in this conversation: it was answered already, its time is over, or it belongs elsewhere. Nothing was approved.';

/** After a rejection that the agent has nothing to say to: an empty answer looks like a failure. */
export const REJECTED = 'Rejected. The call was not made, and the agent has stopped.';

/** For somebody who answered a question that is none, with what was said since. */
export const requestNotFoundText = (since: readonly string[] = []): string => [NO_SUCH_QUESTION, ...since].join('\n\n');

/** For somebody who answered, but not in the words that count. */
export const NOT_COUNTED = 'This was not counted as an answer, because it names no question by its id.';

/** What answers a request: a turn from a bookmark on, or words of our own. */
export type AnswerSource = {
  readonly turn: AgentTurn | undefined;
  readonly log: TurnLog;
  readonly from: LogPosition;
  /** What is told when the agent says nothing. */
  readonly ifSilent?: string;
};

/** Turns whose agent waits for an answer of the user, by session. */
export type WaitingTurns = {
  /** `from` is how an answer has ended before its turn has. */
  readonly add: (turn: AgentTurn, from: LogPosition & Partial<Pick<TurnOutcome, 'last'>>) => void;
  /** What goes on in a session with this request, or nothing when it is a new prompt. An ignored question ends its turn. */
  readonly resume: (
    conversation: ConversationSession,
    asked: BridgeRequest,
    signal: AbortSignal,
  ) => Promise<AnswerSource | undefined>;
};

const KEPT = 1000;
const KNOWN = 10_000;
const NAMES_AN_ASK = /^\s*(?:approve|reject)\s+per_\w+/i;

const saying = (text: string, asks: readonly ApprovalRequest[] = []): AnswerSource => ({
  turn: undefined,
  log: createTextLog(text, asks),
  from: LOG_START,
});

const answerFor = ({ isApproved, message }: ApprovalDecision): PermissionAnswer => {
  if (isApproved) return { reply: 'once' };
  return message === undefined ? { reply: 'reject' } : { reply: 'reject', message };
};

/** Takes all questions that a verdict names, or none if one of them is not there. Says whether any was still open. */
const answerAll = async ({ log, answerPermission: answer }: AgentTurn, verdict: ApprovalDecision): Promise<boolean> => {
  const asks = log.approvalRequests();
  const named = new Set(verdict.ids.map((id) => findRequestID(id, asks)));
  if (named.has(undefined)) return false;
  let isAnswered = false;
  for (const id of named) {
    try {
      if (id !== undefined) await answer(id, answerFor(verdict));
      isAnswered = true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return isAnswered;
};

const withoutOldest = <Value>(entries: Map<string, Value>, most: number): string | undefined => {
  const [oldest] = entries.keys();
  if (entries.size <= most || oldest === undefined) return undefined;
  entries.delete(oldest);
  return oldest;
};

export const createWaitingTurns = (agent: AgentClient, turnNeeds: AgentTurnNeeds): WaitingTurns => {
  const paused = new Map<string, { readonly turn: AgentTurn; readonly from: LogPosition }>();
  /** Questions that an answer has ended with, also when they are not open any more. */
  const shown = new Map<string, readonly ApprovalRequest[]>();
  /** Sessions of which it is known what they do: what a process before this one left may still wait. */
  const seen = new Map<string, true>();

  const keep: WaitingTurns['add'] = (turn, from) => {
    const sessionID = turn.sessionID();
    paused.delete(sessionID);
    paused.set(sessionID, { turn, from });
    // One that is forgotten here is found again at the agent.
    const forgotten = withoutOldest(paused, KEPT);
    if (forgotten !== undefined) seen.delete(forgotten);
    shown.delete(sessionID);
    shown.set(sessionID, from.last?.kind === 'end' ? from.last.end.approvalRequests : turn.log.approvalRequests());
    withoutOldest(shown, KNOWN);
  };
  const find = async (
    { sessionID, knownMessageIDs: earlier }: ConversationSession,
    signal: AbortSignal,
  ): Promise<void> => {
    // A session in which nothing was said before waits for nobody.
    if (seen.has(sessionID) || paused.has(sessionID) || earlier.size === 0) return;
    if ((await agent.busySessions(signal)).has(sessionID)) {
      const turn = startTurn(sessionID, { kind: 'existing' }, turnNeeds);
      await turn.loaded;
      keep(turn, { items: turn.log.closeTexts(), usage: turn.log.usage() });
    }
    seen.set(sessionID, true);
    withoutOldest(seen, KNOWN);
  };
  return {
    add: keep,
    async resume(conversation, asked, signal) {
      await find(conversation, signal);
      const { sessionID } = conversation;
      const words = textOfParts(asked.prompt);
      const found = paused.get(sessionID);
      const open = () => found?.turn.log.approvalRequests() ?? [];
      /** What a turn has said that nobody has heard, because its question's time was over. */
      const saidSince = (): readonly string[] => {
        if (found === undefined || found.turn.log.end() === undefined) return [];
        paused.delete(sessionID);
        return readTexts(found.turn.log, found.from);
      };
      const verdict =
        asked.approval ?? parseApproval(words, open()) ?? parseApproval(words, shown.get(sessionID) ?? []);
      if (verdict !== undefined) {
        if (found === undefined || !(await answerAll(found.turn, verdict)))
          return saying(requestNotFoundText(saidSince()), open());
        paused.delete(sessionID);
        return { ...found, log: found.turn.log, ...(verdict.isApproved ? {} : { ifSilent: REJECTED }) };
      }
      if (open().length > 0 && isAlmostApproval(words)) return saying(NOT_COUNTED, open());
      paused.delete(sessionID);
      // Whoever says something else does not approve, and must not wait until the question's time is over.
      await found?.turn.abort();
      return NAMES_AN_ASK.test(words) ? saying(requestNotFoundText()) : undefined;
    },
  };
};
