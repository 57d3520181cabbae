import { pause, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { PausedTurn } from '../conversation/types.ts';
import type { AnswerFailure } from '../errors.ts';
import { type AnswerEnd, type ApprovalRequest, type ClientCall, NO_USAGE, type Usage } from '../output.ts';
import { toApprovalText } from './approvals/text.ts';
import type { ClientCallsPause, TurnLog } from './log.ts';

/**
 * How far a turn's log belongs to earlier answers. An answer that ended with approval requests leaves the position from which
 * the next answer continues. `opening`: a text of the bridge with which the answer begins.
 */
export type LogPosition = {
  readonly items: number;
  readonly usage: Usage;
  readonly opening?: string;
  /** The message whose calls the client has made before the answer. */
  readonly afterMessageID?: string | undefined;
  /** Ids of the items before it that are calls without a result: the answer shows what becomes of them. */
  readonly waiting?: readonly string[] | undefined;
};

export const LOG_START: LogPosition = { items: 0, usage: NO_USAGE };

/** Where the answer begins that continues a turn after one with approval requests. */
export const positionOf = ({ items, usage, afterMessageID, waiting }: PausedTurn): LogPosition => ({
  items,
  usage,
  afterMessageID,
  waiting,
});

/** How an answer ended: with its turn, or with approval requests while the turn waits. `items`: its end in the log. */
export type TurnOutcome = {
  readonly items: number;
  readonly usage: Usage;
  readonly last:
    | { readonly kind: 'end'; readonly end: AnswerEnd }
    | { readonly kind: 'failure'; readonly failure: AnswerFailure };
  /** The bridge's own text at the end: approval requests, or a text in place of an empty answer. Else empty. */
  readonly closing: string;
  /** The last message before its end whose calls the client has made; undefined where its turn has none. */
  readonly afterMessageID?: string | undefined;
  /** Ids of the items before its end that are calls without a result, where they wait for an approval. */
  readonly waiting?: readonly string[];
  /** The calls of the client that it ended with. */
  readonly calls?: readonly ClientCall[];
};

/** Where an answer that begins at a position ends because the client has calls to make; undefined if it has none. */
export const pauseAfter = (log: TurnLog, from: LogPosition): ClientCallsPause | undefined => {
  const pauses = log.pauses();
  const passed = pauses.findIndex(({ messageID }) => messageID === from.afterMessageID);
  return pauses.slice(passed + 1).find(({ items }) => items >= from.items);
};

/** The agent asks for the calls of one step one after the other. They are shown together. */
const MORE_REQUESTS_MS = 100;

/** The tokens that came after `before` was counted. */
export const usageSince = (usage: Usage, before: Usage): Usage => ({
  prompt: usage.prompt - before.prompt,
  cached: usage.cached - before.cached,
  cacheWritten: usage.cacheWritten - before.cacheWritten,
  completion: usage.completion - before.completion,
  reasoning: usage.reasoning - before.reasoning,
});

const haveSameIds = (some: readonly ApprovalRequest[], others: readonly ApprovalRequest[]): boolean =>
  some.length === others.length && some.every(({ id }, index) => id === others[index]?.id);

const endedWithCalls = ({ items, usage, calls }: ClientCallsPause, from: LogPosition): TurnOutcome => {
  const end = { finish: 'tool_calls', usage: usageSince(usage, from.usage), approvalRequests: [] } as const;
  return { items, usage, last: { kind: 'end', end }, closing: '', calls };
};

const idsOfOpenCalls = (log: TurnLog): readonly string[] =>
  log.items().flatMap((item) => (item.kind === 'call' && item.result === undefined ? [item.id] : []));

/** Waits until a turn has ended or waits for approval. Rejects only when `signal` aborts. */
export const waitForOutcome = async (
  log: TurnLog,
  from: LogPosition,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<TurnOutcome> => {
  for (;;) {
    const decision = log.nextDecision();
    const end = log.end();
    const approvalRequests = log.approvalRequests();
    const paused = log.pauses().at(-1);
    const passed = paused === undefined ? {} : { afterMessageID: paused.messageID };
    const position = () => ({ items: log.closeTexts(), usage: log.usage(), ...passed });
    const ended = (finish: AnswerEnd['finish']): TurnOutcome => {
      const usage = usageSince(log.usage(), from.usage);
      const closing = toApprovalText(approvalRequests);
      const waiting = approvalRequests.length > 0 ? { waiting: idsOfOpenCalls(log) } : {};
      return { ...position(), ...waiting, last: { kind: 'end', end: { finish, usage, approvalRequests } }, closing };
    };
    if (end !== undefined) {
      const callsPause = pauseAfter(log, from);
      if (callsPause !== undefined) return endedWithCalls(callsPause, from);
      if (end.kind === 'answered') return ended(end.finish);
      return { ...position(), last: { kind: 'failure', failure: end.failure }, closing: '' };
    }
    if (approvalRequests.length > 0) {
      await pause(clock, MORE_REQUESTS_MS, signal);
      if (haveSameIds(approvalRequests, log.approvalRequests())) return ended('stop');
    } else await untilAborted(decision, signal);
  }
};

/** The texts of a turn between two positions. */
export const readTexts = (log: TurnLog, from: LogPosition, to?: { readonly items: number }): readonly string[] =>
  log
    .items()
    .slice(from.items, to?.items)
    .flatMap((item) => (item.kind === 'text' && item.pieces.length > 0 ? [item.pieces.join('')] : []));

/** The whole text of an answer, as a client stores it. */
export const readSentText = (log: TurnLog, from: LogPosition, outcome: TurnOutcome): string =>
  [from.opening ?? '', ...readTexts(log, from, outcome), outcome.closing].filter((text) => text !== '').join('\n\n');

/** The same outcome; with `text` at its end if the answer is empty and did not fail. */
export const withTextIfSilent = (
  log: TurnLog,
  from: LogPosition,
  outcome: TurnOutcome,
  text: string | undefined,
): TurnOutcome => {
  const isSilent =
    outcome.last.kind === 'end' && outcome.calls === undefined && readSentText(log, from, outcome).trim() === '';
  return isSilent && text !== undefined ? { ...outcome, closing: text } : outcome;
};
