import { setNewest } from '../../../core/bounded-map.ts';
import { isNotFound } from '../../agent/errors.ts';
import type { AgentClient } from '../../agent/types.ts';
import type { ConversationSession, PausedTurn } from '../../conversation/types.ts';
import type { ApprovalRequest } from '../../output.ts';
import { type ApprovalDecision, type BridgeRequest, textOfParts } from '../../request.ts';
import { createTurnLog, type TurnLog } from '../log.ts';
import { LOG_START, type LogPosition, positionOf, readTexts, type TurnOutcome } from '../outcome.ts';
import { type AgentTurn, type AgentTurnNeeds, startTurn } from '../turn.ts';
import { readDecision, type Verdict } from './decisions.ts';
import type { ApprovalProblem } from './parser.ts';
import { type DecisionOutcome, toDecisionText, toProblemText } from './replies.ts';

/** What an answer is read from: a turn's log from a position on, or a text of the bridge itself. */
export type AnswerSource = {
  readonly turn: AgentTurn | undefined;
  readonly log: TurnLog;
  readonly from: LogPosition;
  /** The text of the answer when the agent sends none. */
  readonly ifSilent?: string;
};

/** An answer that has ended: the session, and the token of its id. */
type EndedAnswer = { readonly sessionID: string; readonly token: string };

/**
 * Stores that this bridge answers in the session, so that what runs there is a turn that waits, and none that another bridge has just
 * begun. Where that one was faster it resolves to the session to go on in, which may be the same.
 */
type ClaimSession = () => Promise<ConversationSession | undefined>;

/** Turns that wait for a user's approval, by session. */
type WaitingTurns = {
  /** An answer of this bridge has ended. Until another bridge gives one in its session, nothing has to be looked up there. */
  readonly setEnded: (answer: EndedAnswer) => void;
  /** `from` is where an answer ended while its turn did not. */
  readonly add: (turn: AgentTurn, from: LogPosition & Partial<Pick<TurnOutcome, 'last'>>) => void;
  /** What a request continues in its session; undefined when it is a new prompt, which aborts the turn. */
  readonly resume: (
    session: ConversationSession,
    request: BridgeRequest,
    signal: AbortSignal,
    claim?: ClaimSession,
  ) => Promise<AnswerSource | undefined>;
};

const TURNS_LIMIT = 1000;
const SESSIONS_LIMIT = 10_000;
/** An answer of the bridge itself. With approval requests it ends like an answer of the agent that has them. */
const createTextAnswer = (text: string, approvalRequests: readonly ApprovalRequest[] = []): AnswerSource => {
  const writer = createTurnLog();
  writer.setText({ id: 'gatehouse', messageID: '', kind: 'text', text, isOver: true });
  for (const approvalRequest of approvalRequests) writer.addApprovalRequest(approvalRequest);
  if (approvalRequests.length === 0) writer.finish({ kind: 'answered', finish: 'stop' });
  return { turn: undefined, log: writer.log, from: LOG_START };
};

/** A request of which no more is known than that an answer has shown it. */
const closedRequest = (id: string, sessionID: string): ApprovalRequest => ({
  ...{ id, sessionID, tool: '', input: '', notes: [] },
});

/** The verdicts as decisions, to say what was tried. */
const decisionsOf = (verdicts: readonly Verdict[]): readonly ApprovalDecision[] =>
  verdicts.map(({ request, reply }) => ({ isApproved: reply.reply === 'once', ids: [request.id] }));

/** Gives the agent the verdicts. Those on requests that are not open there any more are `closed`. */
const answerRequests = async (
  turn: Pick<AgentTurn, 'answerPermission'>,
  verdicts: readonly Verdict[],
): Promise<Omit<DecisionOutcome, 'withheld'>> => {
  const done: Verdict[] = [];
  const closed: ApprovalRequest[] = [];
  // A rejection may close all requests of its session at the agent, so approvals come first, and the other rejections are done.
  const isRejection = ({ reply }: Verdict): boolean => reply.reply === 'reject';
  for (const verdict of [...verdicts].sort((one, other) => Number(isRejection(one)) - Number(isRejection(other)))) {
    try {
      await turn.answerPermission(verdict.request.id, verdict.reply);
      done.push(verdict);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (isRejection(verdict) && done.some(isRejection)) done.push(verdict);
      else closed.push(verdict.request);
    }
  }
  return { done, closed };
};

export const createWaitingTurns = (
  agent: Pick<AgentClient, 'busySessions'>,
  turnNeeds: AgentTurnNeeds,
): WaitingTurns => {
  const waiting = new Map<string, { readonly turn: AgentTurn; readonly from: LogPosition }>();
  /** The approval requests that the last answer ended with, even if they are not open any more. */
  const shown = new Map<string, readonly ApprovalRequest[]>();
  const setShown = (sessionID: string, requests: readonly ApprovalRequest[]) =>
    setNewest(shown, [sessionID, requests], SESSIONS_LIMIT);
  /** The last answer of this bridge in a session, by its token. If another bridge has given one since, a turn of that may wait. */
  const ended = new Map<string, string>();

  const setEnded: WaitingTurns['setEnded'] = ({ sessionID, token }) =>
    void setNewest(ended, [sessionID, token], SESSIONS_LIMIT);
  const add: WaitingTurns['add'] = (turn, from) => {
    const sessionID = turn.sessionID();
    // A turn that is dropped here can be found again at the agent.
    const evicted = setNewest(waiting, [sessionID, { turn, from }], TURNS_LIMIT);
    if (evicted !== undefined) ended.delete(evicted);
    setShown(sessionID, from.last?.kind === 'end' ? from.last.end.approvalRequests : []);
  };
  /** Follows a turn that another bridge, or an earlier process, has left waiting; from where the last answer ended, if that is known. */
  const follow = async (sessionID: string, paused: PausedTurn | undefined, isBusy: boolean): Promise<void> => {
    const promptID = isBusy ? undefined : paused?.promptID;
    const turn = startTurn(sessionID, { kind: 'existing', ...(promptID === undefined ? {} : { promptID }) }, turnNeeds);
    await (isBusy ? turn.loaded : turn.ended);
    const known = turn.log.closeTexts();
    const ended = { items: known, usage: turn.log.usage(), afterMessageID: turn.log.pauses().at(-1)?.messageID };
    add(turn, paused === undefined ? ended : { ...positionOf(paused), items: Math.min(known, paused.items) });
  };
  /** Resolves to the session to look at in place of this one. */
  const findAtAgent = async (
    session: ConversationSession,
    signal: AbortSignal,
    claim: ClaimSession,
  ): Promise<ConversationSession | undefined> => {
    const { sessionID, knownMessageIDs, lastToken, paused } = session;
    // In a session without messages no turn waits.
    if (knownMessageIDs.size === 0) return undefined;
    if (lastToken === undefined ? waiting.has(sessionID) : ended.get(sessionID) === lastToken) return undefined;
    waiting.delete(sessionID);
    const isBusy = (await agent.busySessions(signal)).has(sessionID);
    const other = isBusy ? await claim() : undefined;
    if (other !== undefined) return other;
    if (isBusy || paused !== undefined) await follow(sessionID, paused, isBusy);
    const open = waiting.get(sessionID)?.turn.log.approvalRequests() ?? [];
    const shownIDs = paused?.approvalIDs ?? [];
    setShown(
      sessionID,
      shownIDs.map((id) => open.find((request) => request.id === id) ?? closedRequest(id, sessionID)),
    );
    if (lastToken !== undefined) setEnded({ sessionID, token: lastToken });
    return undefined;
  };
  return {
    setEnded,
    add,
    async resume(first, request, signal, claim = async () => undefined) {
      let { sessionID } = first;
      for (let next: ConversationSession | undefined = first; next !== undefined; ) {
        ({ sessionID } = next);
        next = await findAtAgent(next, signal, claim);
      }
      const found = waiting.get(sessionID);
      const openRequests = () => found?.turn.log.approvalRequests() ?? [];
      /** What a turn has sent that no client has read, because it continued when its request timed out. */
      const takeUnreadTexts = (): readonly string[] => {
        if (found === undefined || found.turn.log.end() === undefined) return [];
        waiting.delete(sessionID);
        return readTexts(found.turn.log, found.from);
      };
      const explain = (problem: ApprovalProblem, decisions: readonly ApprovalDecision[]): AnswerSource => {
        const open = openRequests();
        if (open.length > 0) setShown(sessionID, open);
        return createTextAnswer([toProblemText(problem, decisions), ...takeUnreadTexts()].join('\n\n'), open);
      };
      const decisions = request.approval === undefined ? request.approvals : [request.approval];
      const given = { decisions, text: textOfParts(request.prompt) };
      const requests = { open: openRequests(), shown: shown.get(sessionID) ?? [] };
      const decision = decisions?.length === 0 ? undefined : readDecision(given, requests);
      if (decision?.kind === 'unclear') return explain(decision.problem, decision.decisions);
      if (decision === undefined || found === undefined) {
        waiting.delete(sessionID);
        // Any other text approves nothing, and must not wait until the request times out.
        await found?.turn.abort();
        return undefined;
      }
      const { verdicts, withheld, isPlain } = decision;
      const { done, closed } = await answerRequests(found.turn, verdicts);
      const [firstClosed] = closed;
      if (done.length === 0 && firstClosed !== undefined) {
        const isAnyOpen = openRequests().length > 0;
        return explain(
          isAnyOpen ? { kind: 'closed', id: firstClosed.id } : { kind: 'none-open' },
          decisionsOf(verdicts),
        );
      }
      waiting.delete(sessionID);
      const text = toDecisionText({ done, closed, withheld });
      const source = { turn: found.turn, log: found.turn.log };
      if (!isPlain || closed.length > 0) return { ...source, from: { ...found.from, opening: text } };
      // The agent may have no text after a rejection, and an empty answer looks like a failure.
      const isRejection = verdicts.some(({ reply }) => reply.reply === 'reject');
      return { ...source, from: found.from, ...(isRejection ? { ifSilent: text } : {}) };
    },
  };
};
