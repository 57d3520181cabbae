import { pause, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { type AnswerEnd, type Ask, type Failure, NO_USAGE, type Usage } from '../output.ts';
import { questionsOf } from './approval-text.ts';
import type { TurnLog } from './log.ts';

/** How far a turn's log has been told. An answer that ended with a question leaves one for the next answer to go on from. */
export type Bookmark = { readonly items: number; readonly usage: Usage };

export const AT_THE_START: Bookmark = { items: 0, usage: NO_USAGE };

/** How an exchange ended: with its turn, or with a question while the turn goes on. `items` is where it ended in the log. */
export type Outcome = {
  readonly items: number;
  readonly usage: Usage;
  readonly last:
    | { readonly kind: 'end'; readonly end: AnswerEnd }
    | { readonly kind: 'failure'; readonly failure: Failure };
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

const sameAsks = (some: readonly Ask[], others: readonly Ask[]): boolean =>
  some.length === others.length && some.every(({ id }, place) => id === others[place]?.id);

/** Waits until a turn has ended or waits for somebody's answer. Rejects only when `signal` aborts. */
export const outcomeOf = async (
  log: TurnLog,
  from: Bookmark,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Outcome> => {
  for (;;) {
    const change = log.changed();
    const end = log.end();
    const asks = log.asks();
    const at = () => ({ items: log.cut(), usage: log.usage() });
    const ended = (finish: AnswerEnd['finish']): Outcome => {
      const usage = since(log.usage(), from.usage);
      return { ...at(), last: { kind: 'end', end: { finish, usage, asks } }, closing: questionsOf(asks) };
    };
    if (end?.kind === 'failed') return { ...at(), last: { kind: 'failure', failure: end.failure }, closing: '' };
    if (end !== undefined) return ended(end.finish);
    if (asks.length > 0) {
      await pause(clock, MORE_ASKS_MS, signal);
      if (sameAsks(asks, log.asks())) return ended('stop');
    } else await untilAborted(change, signal);
  }
};

/** The texts of a turn from a bookmark on, up to a place. */
export const textsIn = (log: TurnLog, from: Bookmark, to?: { readonly items: number }): readonly string[] =>
  log
    .items()
    .slice(from.items, to?.items)
    .flatMap((item) => (item.kind === 'text' && item.pieces.length > 0 ? [item.pieces.join('')] : []));

/** Everything that an exchange told, as one text: what a client keeps of it. */
export const toldIn = (log: TurnLog, from: Bookmark, outcome: Outcome): string =>
  [...textsIn(log, from, outcome), ...(outcome.closing === '' ? [] : [outcome.closing])].join('\n\n');

/** The same outcome, closed with these words if nothing was said at all and nothing failed. */
export const orElse = (log: TurnLog, from: Bookmark, outcome: Outcome, words: string | undefined): Outcome => {
  const isSilent = outcome.last.kind === 'end' && toldIn(log, from, outcome).trim() === '';
  return isSilent && words !== undefined ? { ...outcome, closing: words } : outcome;
};
