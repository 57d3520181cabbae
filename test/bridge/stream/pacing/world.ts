import * as assert from 'uvu/assert';
import type { OutputEvent } from '../../../../src/bridge/output.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { pacedPieces } from '../../harness/polled.ts';
import { type Received, receivedFrom, type Step, withText } from '../../harness/scripted-log.ts';

export const never = new AbortController().signal;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const textOf = (outputEvent: OutputEvent | undefined): string =>
  outputEvent?.kind === 'text' ? outputEvent.text : '';

export const texts = (collected: readonly Received[]) =>
  collected
    .filter(({ outputEvent }) => outputEvent.kind === 'text')
    .map(({ outputEvent, atMs }) => ({ text: textOf(outputEvent), atMs }));

export const paceOf = async (steps: readonly Step[], chunkSize: number, delayMs: number) => {
  const clock = createFakeClock();
  const collected = await receivedFrom(
    pacedPieces(withText(clock, steps), { clock, chunkSize, delayMs }, never),
    clock,
  );
  assert.is(clock.pending(), 0);
  return collected;
};

export const repeated = (count: number, ...steps: readonly Step[]): readonly Step[] =>
  Array.from({ length: count }, () => steps).flat();

export const letters = (count: number): string => 'abcdefghij'.repeat(Math.ceil(count / 10)).slice(0, count);

export const SIZES = [0, 1, 4, 64];

export const DELAYS = [0, 10];

export const long = letters(100_000);
