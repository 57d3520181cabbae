import { untilAborted } from '../../core/async.ts';
import type { OutputEvent } from '../output.ts';
import type { LoggedCall, LoggedText, LogItem, TurnLog } from './log.ts';
import type { LogPosition, TurnOutcome } from './outcome.ts';

export type ViewNeeds = {
  readonly from: LogPosition;
  /** How it ends, as soon as that is settled. */
  readonly outcome: Promise<TurnOutcome>;
  readonly signal: AbortSignal;
};

const NOT_DONE = 'It was not done when this answer ended';

/** Tells items of a log in their order, each as far as it goes. `limit` says before which of them to stop for now. */
const createItemTeller = (from: number, limit: () => number) => {
  let next = from;
  let toldPieces = 0;
  const calls = new Map<string, 'begun' | 'ended'>();

  function* tellCall({ id, call, result }: LoggedCall): Generator<OutputEvent> {
    if (!calls.has(id)) {
      calls.set(id, 'begun');
      yield { kind: 'call', call };
    }
    if (result === undefined || calls.get(id) === 'ended') return;
    calls.set(id, 'ended');
    yield { kind: 'call-end', call, ...result };
  }
  /** Says whether that is all of it. */
  function* tellText(item: LoggedText): Generator<OutputEvent, boolean> {
    const { kind, id, pieces } = item;
    const text = pieces.slice(toldPieces).join('');
    toldPieces = pieces.length;
    if (text !== '') yield { kind, id, text };
    // There may be more by now.
    if (!item.isDone || toldPieces < pieces.length) return false;
    if (toldPieces > 0) yield { kind: `${kind}-end`, id };
    return true;
  }
  return {
    /** Everything that is new, up to a text that is still being said. */
    *tell(items: readonly LogItem[]): Generator<OutputEvent> {
      // A call is told of as soon as it is known, so of those that are behind the first text the end may be missing.
      for (const item of items.slice(from, next)) if (item.kind === 'call') yield* tellCall(item);
      for (let item = items[next]; item !== undefined && next < limit(); item = items[next]) {
        if (item.kind === 'call') yield* tellCall(item);
        else if (!(yield* tellText(item))) return;
        toldPieces = 0;
        next += 1;
      }
    },
    /** Ends the calls that were begun, and that go on without anybody to tell. None of them is told as done. */
    *closeCalls(items: readonly LogItem[]): Generator<OutputEvent> {
      for (const item of items) {
        if (item.kind !== 'call' || calls.get(item.id) !== 'begun') continue;
        yield { kind: 'call-end', call: item.call, output: NOT_DONE, isError: true };
      }
    },
  };
};

const CLOSING_ID = 'closing';

function* lastOf({ last, closing }: TurnOutcome): Generator<OutputEvent> {
  if (closing !== '') {
    yield { kind: 'text', id: CLOSING_ID, text: closing };
    yield { kind: 'text-end', id: CLOSING_ID };
  }
  yield last;
}

function* heeding(sayings: Iterable<OutputEvent>, signal: AbortSignal): Generator<OutputEvent> {
  for (const saying of sayings) {
    signal.throwIfAborted();
    yield saying;
  }
}

/** What a promise has come to, to be looked at; `onSettled` hears when there is something to see. */
const watched = <T>(promise: Promise<T>, onSettled: () => void): (() => { readonly value: T } | undefined) => {
  let settled: { readonly value: T } | undefined;
  let failure: { readonly error: unknown } | undefined;
  promise
    .then(
      (value) => {
        settled = { value };
      },
      (error: unknown) => {
        failure = { error };
      },
    )
    .then(onSettled);
  return () => {
    if (failure !== undefined) throw failure.error;
    return settled;
  };
};

/**
 * Tells an exchange from a turn's log as that grows, at the pace of whoever reads, and any number of times. Rejects with the
 * reason of `signal` when that aborts.
 */
export async function* readOutput(log: TurnLog, { from, outcome, signal }: ViewNeeds): AsyncGenerator<OutputEvent> {
  let wake = (): void => {};
  const settled = watched(outcome, () => wake());
  // While questions are open nobody knows yet where the answer ends.
  const limit = (): number =>
    settled()?.value.items ?? (log.approvalRequests().length > 0 ? 0 : Number.POSITIVE_INFINITY);
  const teller = createItemTeller(from.items, limit);
  let how = settled();
  while (how === undefined) {
    const news = Promise.withResolvers<void>();
    wake = news.resolve;
    log.nextChange().then(wake);
    yield* heeding(teller.tell(log.items()), signal);
    how = settled();
    if (how === undefined) await untilAborted(news.promise, signal);
    how = settled();
  }
  yield* heeding(teller.tell(log.items()), signal);
  yield* heeding(teller.closeCalls(log.items()), signal);
  yield* heeding(lastOf(how.value), signal);
}
