import { NO_USAGE, type Saying } from '../../../src/bridge/output.ts';

import type { FakeClock } from '../../fake-clock.ts';

export const said = (text: string, id = 'a'): Saying => ({ kind: 'text', id, text });
export const saidAll = (id = 'a'): Saying => ({ kind: 'text-end', id });
export const thought = (text: string): Saying => ({ kind: 'reasoning', id: 'r', text });
export const called = (id: string): Saying => ({ kind: 'call', call: { id, name: 'bash', input: '{}' } });
export const done: Saying = { kind: 'end', end: { finish: 'stop', usage: NO_USAGE, asks: [] } };

/** A saying, or how long it takes until the next one. */
export type Step = Saying | number;

/** Says one thing after the other. */
export async function* spoken(clock: FakeClock, steps: readonly Step[]): AsyncGenerator<Saying> {
  for (const step of steps) {
    if (typeof step !== 'number') yield step;
    else await new Promise<void>((resolve) => clock.after(step, resolve));
  }
}

export type Heard = { readonly saying: Saying; readonly atMs: number };

/** Reads to the end, however long that takes, and tells what came when. */
export const heardFrom = async (sayings: AsyncIterable<Saying>, clock: FakeClock): Promise<readonly Heard[]> => {
  const heard: Heard[] = [];
  const startedAt = clock.now();
  let isOver = false;
  const reading = (async () => {
    try {
      for await (const saying of sayings) heard.push({ saying, atMs: clock.now() - startedAt });
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
  return heard;
};

/** The same with adjacent pieces of a text joined. */
export const joined = (sayings: readonly Saying[]): readonly Saying[] => {
  const found: Saying[] = [];
  for (const saying of sayings) {
    const last = found.at(-1);
    if (saying.kind === 'text' && last?.kind === 'text' && last.id === saying.id)
      found[found.length - 1] = { ...last, text: last.text + saying.text };
    else found.push(saying);
  }
  return found;
};

/** A source that says these and then nothing until it is told to, and counts how often it was asked and ended. */
export const silentAfter = (...sayings: readonly Saying[]) => {
  const ended = { count: 0 };
  let next = 0;
  let speak = (_: IteratorResult<Saying>): void => {};
  const source: AsyncIterable<Saying> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const value = sayings[next++];
        return value === undefined
          ? new Promise<IteratorResult<Saying>>((resolve) => (speak = resolve))
          : Promise.resolve({ done: false, value });
      },
      return: async () => {
        ended.count += 1;
        throw new Error('Nobody is left to be told of this');
      },
    }),
  };
  return { source, ended, asked: () => next, say: (value: Saying) => speak({ done: false, value }) };
};
