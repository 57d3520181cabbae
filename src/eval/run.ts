import type { Clock } from '../core/clock.ts';
import type { EvalAnswer } from './answer.ts';
import type { RequestVerdict } from './ask.ts';
import type { EvalItem } from './labels.ts';
import type { AskedFor, Result } from './result.ts';

export type HashedItem = EvalItem & { readonly hash: string };
export type FinishedItem = { readonly item: HashedItem; readonly answer: EvalAnswer; readonly result: Result };

export type RunNeeds = {
  readonly ask: RequestVerdict;
  readonly asked: AskedFor;
  readonly clock: Clock;
  readonly concurrency: number;
  /** Aborted, nothing new is asked and what is asked already is waited for. */
  readonly signal: AbortSignal;
};

const TRIES = 3;

/** Ends early, and without an error, when the signal aborts. */
const pause = (clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(waitMs, end);
    signal.addEventListener('abort', end, { once: true });
  });

const resultFrom = ({ id, hash }: HashedItem, asked: AskedFor, answer: EvalAnswer, spentMs: number): Result => {
  const ms = Math.round(spentMs * 10) / 10;
  if (answer.kind === 'error') return { id, hash, status: 'error', code: answer.code, ms };
  const { gateway, verdict, cache, scoreType } = answer;
  const categories = [...verdict.categories];
  const { scores, flagged } = verdict;
  return { id, hash, status: 'judged', flagged, categories, scores, ms, gateway, cache, scoreType, asked };
};

/** Judges one item at a time; a `Retry-After` for one item delays all of them. */
const createJudge = ({ ask, asked, clock, signal }: RunNeeds, halt: AbortSignal) => {
  let restsUntilMs = 0;
  const rest = async (): Promise<void> => {
    while (restsUntilMs > clock.now() && !signal.aborted && !halt.aborted) {
      await pause(clock, restsUntilMs - clock.now(), AbortSignal.any([signal, halt]));
    }
  };
  return async (item: HashedItem): Promise<FinishedItem | undefined> => {
    let finished: FinishedItem | undefined;
    for (let attempt = 1; attempt <= TRIES; attempt++) {
      await rest();
      if (signal.aborted || halt.aborted) break;
      const startedAt = clock.now();
      const answer = await ask(item.text, halt);
      finished = { item, answer, result: resultFrom(item, asked, answer, clock.now() - startedAt) };
      if (answer.kind === 'verdict' || answer.retryAfterMs === undefined) break;
      restsUntilMs = Math.max(restsUntilMs, clock.now() + answer.retryAfterMs);
    }
    return finished;
  };
};

type Settled = { readonly item: HashedItem; readonly finished?: FinishedItem | undefined; readonly error?: unknown };

/**
 * Yields results as they come, so many at a time and in no order. Rejects with what `ask` or `items` rejects with, and
 * ends what is still being asked when it stops early for any reason but its signal.
 */
export async function* runItems(items: AsyncIterable<HashedItem>, needs: RunNeeds): AsyncGenerator<FinishedItem> {
  const halt = new AbortController();
  const judge = createJudge(needs, halt.signal);
  const source = items[Symbol.asyncIterator]();
  // Failures become values: a rejection without a handler would end the process.
  const settled = (item: HashedItem): Promise<Settled> =>
    judge(item).then(
      (finished) => ({ item, finished }),
      (error) => ({ item, error }),
    );
  const running = new Map<HashedItem, Promise<Settled>>();
  let hasMore = true;
  try {
    for (;;) {
      while (hasMore && running.size < needs.concurrency && !needs.signal.aborted) {
        const next = await source.next();
        if (next.done) hasMore = false;
        else running.set(next.value, settled(next.value));
      }
      if (running.size === 0) return;
      const { item, finished, error } = await Promise.race(running.values());
      running.delete(item);
      if (error !== undefined) throw error;
      if (finished !== undefined) yield finished;
    }
  } finally {
    halt.abort();
    await Promise.all(running.values());
    await source.return?.();
  }
}
