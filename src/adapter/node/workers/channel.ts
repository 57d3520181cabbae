import * as v from 'valibot';
import type { Clock } from '../../../core/clock.ts';

const Id = v.pipe(v.number(), v.safeInteger());
const Envelope = v.union([
  v.strictTuple([v.literal('notice'), v.unknown()]),
  v.strictTuple([v.literal('question'), Id, v.unknown()]),
  v.strictTuple([v.literal('answer'), Id, v.unknown()]),
]);
type Envelope = v.InferOutput<typeof Envelope>;
const Batch = v.array(Envelope);

type ChannelNeeds = {
  readonly clock: Clock;
  /** Sends one message to the other process, and calls back once that has taken it. May be called when that is gone. */
  readonly send: (message: readonly unknown[], done: () => void) => void;
  readonly onNotice: (notice: unknown) => void;
  /** Undefined, or a rejection, is no answer. */
  readonly onQuestion: (question: unknown) => unknown;
};

/** One end between two processes that send each other notices and questions. What one turn of the event loop sends is one message. */
export type Channel = {
  readonly notify: (notice: object) => void;
  /** The same for what may be left out. It is, while the other process does not keep up. */
  readonly offer: (notice: object) => void;
  /** The answer as it came, not parsed; undefined when none comes within `limitMs`, or can come. Never rejects. */
  readonly ask: (question: object, limitMs: number) => Promise<unknown>;
  /** Takes a message of the other process. What is no message of a channel is ignored. */
  readonly receive: (message: unknown) => void;
  /** The other process is gone: questions that wait get no answer. */
  readonly close: () => void;
};

/** So many messages may wait for the other process: they take memory for as long as it hangs. */
const UNSENT_LIMIT = 100;

/** Creates one end of a channel. */
export const createChannel = ({ clock, send, onNotice, onQuestion }: ChannelNeeds): Channel => {
  const waiting = new Map<number, (answer: unknown) => void>();
  let outgoing: Envelope[] = [];
  let lastId = 0;
  let unsent = 0;
  let isClosed = false;

  const flush = (): void => {
    const batch = outgoing;
    outgoing = [];
    if (isClosed) return;
    unsent += 1;
    send(batch, () => {
      unsent -= 1;
    });
  };
  const post = (envelope: Envelope): void => {
    if (outgoing.push(envelope) === 1) setImmediate(flush);
  };
  const answer = async (id: number, question: unknown): Promise<void> => {
    try {
      post(['answer', id, await onQuestion(question)]);
    } catch {
      post(['answer', id, undefined]);
    }
  };
  const take = (envelope: Envelope): void => {
    if (envelope[0] === 'notice') onNotice(envelope[1]);
    else if (envelope[0] === 'question') answer(envelope[1], envelope[2]);
    else waiting.get(envelope[1])?.(envelope[2] ?? undefined);
  };

  return {
    notify: (notice) => post(['notice', notice]),
    offer(notice) {
      if (unsent < UNSENT_LIMIT) post(['notice', notice]);
    },
    ask: (question, limitMs) =>
      new Promise((resolve) => {
        if (isClosed || unsent >= UNSENT_LIMIT) return resolve(undefined);
        lastId += 1;
        const id = lastId;
        const settle = (found: unknown): void => {
          cancel();
          waiting.delete(id);
          resolve(found);
        };
        // An event loop that was blocked runs its timers first: an answer that has arrived gets one more turn.
        const cancel = clock.after(limitMs, () => setImmediate(settle, undefined));
        waiting.set(id, settle);
        post(['question', id, question]);
      }),
    receive(message) {
      const batch = v.safeParse(Batch, message);
      if (batch.success) for (const envelope of batch.output) take(envelope);
    },
    close() {
      isClosed = true;
      for (const settle of [...waiting.values()]) settle(undefined);
    },
  };
};
