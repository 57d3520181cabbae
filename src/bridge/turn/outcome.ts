import { pause, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { type AnswerEnd, type AnswerFailure, type ApprovalRequest, NO_USAGE, type Usage } from '../output.ts';
import { toApprovalText } from './approval-text.ts';
import type { TurnLog } from './log.ts';

/** How far a turn's log has been told. An answer that ended with a question leaves one for the next answer to go on from. */
export type LogPosition = { readonly items: number; readonly usage: Usage };

export const LOG_START: LogPosition = { items: 0, usage: NO_USAGE };

/** How an exchange ended: with its turn, or with a question while the turn goes on. `items` is where it ended in the log. */
export type TurnOutcome = {
  readonly items: number;
  readonly usage: Usage;
  readonly last:
    | { readonly kind: 'end'; readonly end: AnswerEnd }
    | { readonly kind: 'failure'; readonly failure: AnswerFailure };
  /** Words of our own at its end: a question of the agent, or what stands for its silence. */
  readonly closing: string;
};

/** Questions come in bundles: the calls of one step are asked about one after the other. */
const MORE_ASKS_MS = 100;

const since = (usage: Usage, told: Usage): Usage => ({
  prompt: usage.prompt - told.prompt,
  cached: usage.cached - told.cached,
  completion: usage.completion - told.completion,
  reasoning: usage.reasoning - told.reasoning,
});

const sameAsks = (some: readonly ApprovalRequest[], others: readonly ApprovalRequest[]): boolean =>
  some.length === others.length && some.every(({ id }, place) => id === others[place]?.id);

/** Waits until a turn has ended or waits for somebody's answer. Rejects only when `signal` aborts. */
export const waitForOutcome = async (
  log: TurnLog,
  from: LogPosition,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<TurnOutcome> => {
  for (;;) {
    const change = log.nextChange();
    const end = log.end();
    const asks = log.approvalRequests();
    const at = () => ({ items: log.closeTexts(), usage: log.usage() });
    const ended = (finish: AnswerEnd['finish']): TurnOutcome => {
      const usage = since(log.usage(), from.usage);
      return {
        ...at(),
        last: { kind: 'end', end: { finish, usage, approvalRequests: asks } },
        closing: toApprovalText(asks),
      };
    };
    if (end?.kind === 'failed') return { ...at(), last: { kind: 'failure', failure: end.failure }, closing: '' };
    if (end !== undefined) return ended(end.finish);
    if (asks.length > 0) {
      await pause(clock, MORE_ASKS_MS, signal);
      if (sameAsks(asks, log.approvalRequests())) return ended('stop');
    } else await untilAborted(change, signal);
  }
};

/** The texts of a turn from a bookmark on, up to a place. */
export const readTexts = (log: TurnLog, from: LogPosition, to?: { readonly items: number }): readonly string[] =>
  log
    .items()
    .slice(from.items, to?.items)
    .flatMap((item) => (item.kind === 'text' && item.pieces.length > 0 ? [item.pieces.join('')] : []));

/** Everything that an exchange told, as one text: what a client keeps of it. */
export const readSentText = (log: TurnLog, from: LogPosition, outcome: TurnOutcome): string =>
  [...readTexts(log, from, outcome), ...(outcome.closing === '' ? [] : [outcome.closing])].join('\n\n');

/** The same outcome, closed with these words if nothing was said at all and nothing failed. */
export const withTextIfSilent = (
  log: TurnLog,
  from: LogPosition,
  outcome: TurnOutcome,
  words: string | undefined,
): TurnOutcome => {
  const isSilent = outcome.last.kind === 'end' && readSentText(log, from, outcome).trim() === '';
  return isSilent && words !== undefined ? { ...outcome, closing: words } : outcome;
};
