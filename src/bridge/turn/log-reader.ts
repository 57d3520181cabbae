import { untilAborted } from '../../core/async.ts';
import type { OutputEvent } from '../output.ts';
import type { LoggedCall, LoggedText, LogItem, TurnLog } from './log.ts';
import type { LogPosition, TurnOutcome } from './outcome.ts';

const NOT_DONE = 'It was not done when this answer ended';

/** Reads items of a log in their order, each as far as it goes. `limit` returns the item before which to stop for now. */
const createItemReader = (from: number, limit: () => number) => {
  let next = from;
  /** Of the item `next`. */
  let readPieces = 0;
  const calls = new Map<string, 'begun' | 'ended'>();

  function* readCall({ id, call, result }: LoggedCall): Generator<OutputEvent> {
    if (!calls.has(id)) {
      calls.set(id, 'begun');
      yield { kind: 'call', call };
    }
    if (result === undefined || calls.get(id) === 'ended') return;
    calls.set(id, 'ended');
    yield { kind: 'call-end', call, ...result };
  }
  /** Returns whether the text is read to its end. */
  function* readText(item: LoggedText): Generator<OutputEvent, boolean> {
    const { kind, id, pieces } = item;
    const text = pieces.slice(readPieces).join('');
    readPieces = pieces.length;
    if (text !== '') yield { kind, id, text };
    // More may have been added during the yield.
    if (!item.isDone || readPieces < pieces.length) return false;
    if (readPieces > 0) yield { kind: `${kind}-end`, id };
    return true;
  }
  return {
    /** Everything new, up to and with a text that still grows. */
    *readNew(items: readonly LogItem[]): Generator<OutputEvent> {
      // A call is read as soon as it is in the log, so those before `next` may still get their result.
      for (const item of items.slice(from, next)) if (item.kind === 'call') yield* readCall(item);
      for (let item = items[next]; item !== undefined && next < limit(); item = items[next]) {
        if (item.kind === 'call') yield* readCall(item);
        else if (!(yield* readText(item))) return;
        readPieces = 0;
        next += 1;
      }
    },
    /** Ends the calls that have begun and continue after the answer, as not done. */
    *endOpenCalls(items: readonly LogItem[]): Generator<OutputEvent> {
      for (const item of items) {
        if (item.kind !== 'call' || calls.get(item.id) !== 'begun') continue;
        yield { kind: 'call-end', call: item.call, output: NOT_DONE, isError: true };
      }
    },
  };
};

/** The events of what a log holds now. A text that is still open has no end. */
export const readItems = (items: readonly LogItem[]): Iterable<OutputEvent> =>
  createItemReader(0, () => items.length).readNew(items);

/** A text of the bridge before or after those of the agent; nothing if it is empty. */
function* ownText(id: 'opening' | 'closing', text: string): Generator<OutputEvent> {
  if (text === '') return;
  yield { kind: 'text', id, text };
  yield { kind: 'text-end', id };
}

function* closingEvents({ last, closing }: TurnOutcome): Generator<OutputEvent> {
  yield* ownText('closing', closing);
  yield last;
}

function* abortable(events: Iterable<OutputEvent>, signal: AbortSignal): Generator<OutputEvent> {
  for (const event of events) {
    signal.throwIfAborted();
    yield event;
  }
}

/** Returns a function that reads a promise's result without waiting. It throws what the promise rejected with. */
const createResultReader = <T>(
  promise: Promise<T>,
  onSettled: () => void,
): (() => { readonly value: T } | undefined) => {
  let result: { readonly value: T } | undefined;
  let failure: { readonly error: unknown } | undefined;
  promise
    .then(
      (value) => {
        result = { value };
      },
      (error: unknown) => {
        failure = { error };
      },
    )
    .then(onSettled);
  return () => {
    if (failure !== undefined) throw failure.error;
    return result;
  };
};

type AnswerPart = {
  readonly from: LogPosition;
  /** Resolves when the end is known. */
  readonly outcome: Promise<TurnOutcome>;
  readonly signal: AbortSignal;
};

/**
 * The events of an answer, from a turn's log as that grows. Any number of readers can read the same answer, each at its own
 * pace. Rejects with the reason of `signal` when that aborts.
 */
export async function* readOutput(log: TurnLog, { from, outcome, signal }: AnswerPart): AsyncGenerator<OutputEvent> {
  let wake = (): void => {};
  const readOutcome = createResultReader(outcome, () => wake());
  // While approval requests are open it is not known where the answer ends.
  const limit = (): number =>
    readOutcome()?.value.items ?? (log.approvalRequests().length > 0 ? 0 : Number.POSITIVE_INFINITY);
  const reader = createItemReader(from.items, limit);
  yield* abortable(ownText('opening', from.opening ?? ''), signal);
  let ended = readOutcome();
  while (ended === undefined) {
    const changed = Promise.withResolvers<void>();
    wake = changed.resolve;
    log.nextChange().then(wake);
    yield* abortable(reader.readNew(log.items()), signal);
    ended = readOutcome();
    if (ended === undefined) await untilAborted(changed.promise, signal);
    ended = readOutcome();
  }
  yield* abortable(reader.readNew(log.items()), signal);
  yield* abortable(reader.endOpenCalls(log.items()), signal);
  yield* abortable(closingEvents(ended.value), signal);
}
