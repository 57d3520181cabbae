import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { isBridgeFault, toAnswerFailure } from '../errors.ts';
import { type ApprovalRequest, NO_USAGE, type OutputEvent } from '../output.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import type { TurnEvent, TurnEvents, TurnSnapshot } from '../turns/port.ts';
import { approvalRequestsOf, endWithRequests, endWithTurn, type OwnTexts, ownText } from './answer-end.ts';
import { toApprovalText } from './approvals/text.ts';
import { createEntryReader } from './entry-reader.ts';

/** An answer of a turn, as one client reads it. */
export type TurnAnswer = {
  readonly output: PolledOutput;
  /** The position up to which it was read. */
  readonly position: () => number;
  /** The permission requests with which it has ended. */
  readonly shown: () => readonly ApprovalRequest[];
};

type AnswerNeeds = {
  readonly clock: Clock;
  readonly turn: TurnSnapshot;
  readonly events: TurnEvents;
  /** Ends the reading of the events. */
  readonly reading: AbortController;
  /** Aborts when the client disconnects or the service stops. */
  readonly signal: AbortSignal;
  /** Rejects permission requests where nobody can be asked; undefined if the answer ends with them. */
  readonly reject?: ((turn: TurnSnapshot) => Promise<void>) | undefined;
  readonly texts: OwnTexts;
  /** The turn goes on where its reading fails (a response in the background): that is thrown, and is no output. */
  readonly goesOn: boolean;
};

/** The agent asks for the calls of one step one after the other. They are shown together. */
const MORE_REQUESTS_MS = 100;
/** Events that are read before the client takes them. A client that reads slowly holds no more of its answer here. */
const AHEAD = 64;

const idsOf = ({ status, waiting }: TurnSnapshot): string =>
  status === 'waiting' ? waiting.map(({ id }) => id).join(' ') : '';

/**
 * Reads a turn for one client, as output events: to the turn's end, or until it has waited for a decision for a moment. A failure is
 * the last event, unless the client has disconnected.
 */
export const readTurn = ({ clock, turn, events, reading, signal, reject, texts, goesOn }: AnswerNeeds): TurnAnswer => {
  const reader = createEntryReader(turn.from);
  const ready: OutputEvent[] = [...ownText('opening', texts.opening ?? '')];
  let shown: readonly ApprovalRequest[] = [];
  let askedFor = '';
  let rejectedFor = '';
  let cancelTimer = (): void => {};
  let failure: { readonly error: unknown } | undefined;
  /** Nothing is added any more; or nobody reads any more. */
  let isEnded = false;
  let isStopped = false;
  let notify = (): void => {};
  let taken = Promise.withResolvers<void>();

  const onAbort = (): void => {
    reading.abort(signal.reason);
    notify();
  };
  const close = (): void => {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
    reading.abort(new Fault({ kind: 'client-left' }));
    taken.resolve();
  };
  const endWith = (events: readonly OutputEvent[]): void => {
    if (isEnded) return;
    isEnded = true;
    ready.push(...events);
    close();
    notify();
  };
  const endWaiting = (waiting: TurnSnapshot): void => {
    shown = approvalRequestsOf(waiting);
    endWith(endWithRequests(reader, waiting, shown));
  };
  const takeView = (now: TurnSnapshot): void => {
    const ids = idsOf(now);
    if (reject !== undefined) {
      if (ids !== '' && ids !== rejectedFor) reject(now).catch((error: unknown) => fail(error));
      rejectedFor = ids;
      return;
    }
    if (ids === askedFor) return;
    askedFor = ids;
    cancelTimer();
    if (ids !== '') cancelTimer = clock.after(MORE_REQUESTS_MS, () => endWaiting(now));
  };
  const take = (event: TurnEvent): void => {
    if (event.kind === 'turn') takeView(event.turn);
    else if (event.kind === 'end') endWith(endWithTurn(reader, event.turn, texts));
    else {
      for (const entry of event.entries) ready.push(...reader.read(entry));
      notify();
    }
  };
  const fail = (error: unknown): void => {
    if (isEnded) return;
    isEnded = true;
    failure = { error };
    close();
    notify();
  };
  const pump = async (): Promise<void> => {
    try {
      for await (const event of events) {
        if (isEnded) return;
        take(event);
        while (!isEnded && ready.length > AHEAD) {
          taken = Promise.withResolvers();
          await taken.promise;
        }
      }
      if (!isEnded) throw new Error('The events of a turn ended without its end');
    } catch (error) {
      fail(error);
    }
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  takeView(turn);
  void pump();

  const takeFailure = (): OutputEvent | undefined => {
    const { error } = failure ?? {};
    failure = undefined;
    isStopped = true;
    if (!isBridgeFault(error) || goesOn || error.detail.kind === 'client-left') throw error;
    return { kind: 'failure', failure: toAnswerFailure(error.detail) };
  };
  return {
    position: reader.position,
    shown: () => shown,
    output: {
      poll() {
        if (isStopped) return undefined;
        if (signal.aborted && !isEnded) fail(signal.reason);
        const event = ready.shift();
        if (ready.length <= AHEAD) taken.resolve();
        if (event !== undefined) return event;
        return failure === undefined ? undefined : takeFailure();
      },
      isOver: () => isStopped || (isEnded && failure === undefined && ready.length === 0),
      onChange(listener) {
        notify = () => {
          if (!isStopped) listener();
        };
      },
      stop() {
        isStopped = true;
        isEnded = true;
        close();
      },
    },
  };
};

/** The output of these events, all of which are there. */
export const outputOf = (given: readonly OutputEvent[]): PolledOutput => {
  let next = 0;
  return {
    poll: () => given[next++],
    isOver: () => next >= given.length,
    onChange() {},
    stop() {
      next = given.length;
    },
  };
};

/** An answer of the bridge itself, which may end with permission requests that are shown again. */
export const ownAnswer = (text: string, approvalRequests: readonly ApprovalRequest[]): PolledOutput =>
  outputOf([
    ...ownText('gatehouse', text),
    ...ownText('closing', toApprovalText(approvalRequests)),
    { kind: 'end', end: { finish: 'stop', usage: NO_USAGE, approvalRequests } },
  ]);
