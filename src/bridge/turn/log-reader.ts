import { Fault } from '../../core/fault.ts';
import { toAnswerFailure } from '../errors.ts';
import type { ApprovalRequest, OutputEvent } from '../output.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import type { LoggedCall, LoggedText, LogItem, TurnLog } from './log.ts';
import { type LogPosition, pauseAfter, type TurnOutcome } from './outcome.ts';

const NOT_DONE = 'It was not done when this answer ended';

/**
 * Reads items of a log in their order, each as far as it goes. `limit` returns the item before which to stop for now. `waiting`: ids
 * of calls before `from`, of which it has what becomes of them.
 */
const createItemReader = (from: number, limit: () => number, waiting: readonly string[] = []) => {
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
      if (waiting.length > 0)
        for (const item of items.slice(0, from))
          if (item.kind === 'call' && waiting.includes(item.id)) yield* readCall(item);
      // A call is read as soon as it is in the log, so those before `next` may still get their result.
      for (const item of items.slice(from, next)) if (item.kind === 'call') yield* readCall(item);
      for (let item = items[next]; item !== undefined && next < limit(); item = items[next]) {
        if (item.kind === 'call') yield* readCall(item);
        else if (!(yield* readText(item))) return;
        readPieces = 0;
        next += 1;
      }
    },
    /**
     * Ends the calls that have begun and continue after the answer: as not done, or until someone has decided on `requests`. Those
     * begin there that wait for it.
     */
    *endOpenCalls(items: readonly LogItem[], requests: readonly ApprovalRequest[]): Generator<OutputEvent> {
      const begun = items.flatMap((item) =>
        item.kind === 'call' && calls.get(item.id) === 'begun' ? [item.call] : [],
      );
      const notBegun = requests.flatMap(({ call }) =>
        call === undefined || begun.some(({ id }) => id === call.id) ? [] : [call],
      );
      const isWaiting = requests.length > 0;
      for (const call of [...begun, ...notBegun]) {
        const approvalRequestID = requests.find((request) => request.call?.id === call.id)?.id;
        yield { kind: 'call-end', call, output: NOT_DONE, isError: true, isWaiting, approvalRequestID };
      }
    },
  };
};

/**
 * The events of what a log holds now. A text that is still open has no end. `endedWith`: the answer has ended, with these approval
 * requests.
 */
export function* readItems(
  items: readonly LogItem[],
  endedWith: readonly ApprovalRequest[] | undefined,
): Generator<OutputEvent> {
  const reader = createItemReader(0, () => items.length);
  yield* reader.readNew(items);
  if (endedWith !== undefined) yield* reader.endOpenCalls(items, endedWith);
}

/** A text of the bridge before or after those of the agent; nothing if it is empty. */
function* ownText(id: 'opening' | 'closing', text: string): Generator<OutputEvent> {
  if (text === '') return;
  yield { kind: 'text', id, text };
  yield { kind: 'text-end', id };
}

function* closingEvents({ last, closing, calls = [] }: TurnOutcome): Generator<OutputEvent> {
  yield* ownText('closing', closing);
  for (const call of calls) yield { kind: 'client-call', ...call };
  yield last;
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
 * pace. Throws the reason of `signal` once that has aborted.
 */
export const readOutput = (log: TurnLog, { from, outcome, signal }: AnswerPart): PolledOutput => {
  let notify = (): void => {};
  let isOver = false;
  const onChange = (): void => notify();
  const readOutcome = createResultReader(outcome, onChange);
  const unsubscribe = log.subscribe(onChange);
  signal.addEventListener('abort', onChange, { once: true });
  // While approval requests are open it is not known where the answer ends.
  const limit = (): number =>
    readOutcome()?.value.items ??
    (log.approvalRequests().length > 0 ? 0 : (pauseAfter(log, from)?.items ?? Number.POSITIVE_INFINITY));
  const reader = createItemReader(from.items, limit, from.waiting);
  /** Undefined: nothing is there now. */
  function* read(): Generator<OutputEvent | undefined> {
    yield* ownText('opening', from.opening ?? '');
    let ended = readOutcome();
    while (ended === undefined) {
      yield* reader.readNew(log.items());
      ended = readOutcome();
      if (ended === undefined) yield undefined;
      ended = readOutcome();
    }
    yield* reader.readNew(log.items());
    const { last } = ended.value;
    yield* reader.endOpenCalls(log.items(), last.kind === 'end' ? last.end.approvalRequests : []);
    yield* closingEvents(ended.value);
  }
  const events = read();
  const stop = (): void => {
    isOver = true;
    unsubscribe();
    signal.removeEventListener('abort', onChange);
  };
  return {
    poll() {
      if (isOver) return undefined;
      try {
        signal.throwIfAborted();
        const next = events.next();
        if (next.done !== true) return next.value;
      } catch (error) {
        stop();
        throw error;
      }
      stop();
      return undefined;
    },
    isOver: () => isOver,
    onChange(listener) {
      notify = listener;
    },
    stop,
  };
};

/**
 * The output of an answer that may not run yet. A failure is its last event, unless the client has disconnected. A reader that stops
 * before the last event was taken calls `leave`; what becomes of that event is known to who sends it.
 */
export const readRunning = (
  running: Promise<{ readonly log: TurnLog } & Omit<AnswerPart, 'signal'>>,
  { leave }: { readonly leave: () => void },
  signal: AbortSignal,
): PolledOutput => {
  let notify = (): void => {};
  let isOver = false;
  let isLastTaken = false;
  let output: PolledOutput | undefined;
  let failure: { readonly error: unknown } | undefined;
  const onChange = (): void => notify();
  const stop = (): void => {
    isOver = true;
    output?.stop();
    signal.removeEventListener('abort', onChange);
    if (!isLastTaken) leave();
  };
  running.then(
    ({ log, from, outcome }) => {
      if (isOver) return;
      output = readOutput(log, { from, outcome, signal });
      output.onChange(onChange);
      notify();
    },
    (error: unknown) => {
      failure = { error };
      notify();
    },
  );
  signal.addEventListener('abort', onChange, { once: true });
  const pollNow = (): OutputEvent | undefined => {
    signal.throwIfAborted();
    if (failure !== undefined) throw failure.error;
    const event = output?.poll();
    if (event?.kind === 'end' || event?.kind === 'failure') isLastTaken = true;
    if (event === undefined && output?.isOver() === true) stop();
    return event;
  };
  return {
    poll() {
      if (isOver) return undefined;
      try {
        return pollNow();
      } catch (error) {
        stop();
        if (!(error instanceof Fault) || error.detail.kind === 'client-left') throw error;
        return { kind: 'failure', failure: toAnswerFailure(error.detail) };
      }
    },
    isOver: () => isOver,
    onChange(listener) {
      notify = listener;
    },
    stop,
  };
};
