import { NO_USAGE, type OutputEvent } from '../../../src/bridge/output.ts';

import type { FakeClock } from '../../fake-clock.ts';

export const outputText = (text: string, id = 'a'): OutputEvent => ({ kind: 'text', id, text });
export const textEnd = (id = 'a'): OutputEvent => ({ kind: 'text-end', id });
export const thought = (text: string): OutputEvent => ({ kind: 'reasoning', id: 'r', text });
export const called = (id: string): OutputEvent => ({ kind: 'call', call: { id, name: 'bash', input: '{}' } });
export const done: OutputEvent = { kind: 'end', end: { finish: 'stop', usage: NO_USAGE, approvalRequests: [] } };

/** A saying, or how long it takes until the next one. */
export type Step = OutputEvent | number;

/** Says one thing after the other. */
export async function* withText(clock: FakeClock, steps: readonly Step[]): AsyncGenerator<OutputEvent> {
  for (const step of steps) {
    if (typeof step !== 'number') yield step;
    else await new Promise<void>((resolve) => clock.after(step, resolve));
  }
}

export type Received = { readonly outputEvent: OutputEvent; readonly atMs: number };

/** Reads to the end, however long that takes, and tells what came when. */
export const receivedFrom = async (
  outputEvents: AsyncIterable<OutputEvent>,
  clock: FakeClock,
): Promise<readonly Received[]> => {
  const collected: Received[] = [];
  const startedAt = clock.now();
  let isOver = false;
  const reading = (async () => {
    try {
      for await (const outputEvent of outputEvents) collected.push({ outputEvent, atMs: clock.now() - startedAt });
    } finally {
      isOver = true;
    }
  })();
  reading.catch(() => {});
  while (!isOver) {
    await clock.advance(1000);
    if (!isOver && clock.pending() === 0) throw new Error('Nothing more will come, and the reader still waits');
  }
  await reading;
  return collected;
};

/** The same with adjacent pieces of a text joined. */
export const joined = (outputEvents: readonly OutputEvent[]): readonly OutputEvent[] => {
  const found: OutputEvent[] = [];
  for (const outputEvent of outputEvents) {
    const last = found.at(-1);
    if (outputEvent.kind === 'text' && last?.kind === 'text' && last.id === outputEvent.id)
      found[found.length - 1] = { ...last, text: last.text + outputEvent.text };
    else found.push(outputEvent);
  }
  return found;
};

/** A source that says these and then nothing until it is told to, and counts how often it was asked and ended. */
export const silentAfter = (...outputEvents: readonly OutputEvent[]) => {
  const ended = { count: 0 };
  let next = 0;
  let writeText = (_: IteratorResult<OutputEvent>): void => {};
  const source: AsyncIterable<OutputEvent> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const value = outputEvents[next++];
        return value === undefined
          ? new Promise<IteratorResult<OutputEvent>>((resolve) => (writeText = resolve))
          : Promise.resolve({ done: false, value });
      },
      return: async () => {
        ended.count += 1;
        throw new Error('Nobody is left to be told of this');
      },
    }),
  };
  return { source, ended, asked: () => next, appendText: (value: OutputEvent) => writeText({ done: false, value }) };
};
