import { type MeasurementOptions, measureOutput } from '../../../src/bridge/http/measured-output.ts';
import { streamAnswer } from '../../../src/bridge/http/send-stream.ts';
import type { StreamEncoder } from '../../../src/bridge/openai/endpoint.ts';
import type { OutputEvent } from '../../../src/bridge/output.ts';
import { filterLeadingEcho } from '../../../src/bridge/stream/echo-filter.ts';
import { paceOutput } from '../../../src/bridge/stream/pacing.ts';
import { createPieceShare, type PieceShare } from '../../../src/bridge/stream/piece-share.ts';
import { type PolledOutput, waitForEach } from '../../../src/bridge/stream/polled-output.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { SseEvent } from '../../../src/core/http/sse.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { pollIterable, stopOnReturn } from './read-ahead.ts';

/** Output without an echo of the prompt, read by whoever waits for each event. */
export const withoutEcho = (
  output: AsyncIterable<OutputEvent>,
  promptText: string,
  clock: Clock,
): AsyncGenerator<OutputEvent, void> => {
  const filtered = filterLeadingEcho(pollIterable(output, clock), promptText, clock);
  return stopOnReturn(waitForEach(filtered), filtered.stop);
};

type Pace = {
  readonly clock: Clock;
  readonly chunkSize: number;
  readonly delayMs: number;
  readonly share?: PieceShare;
};

/** Paced output, read by whoever waits for each piece. */
export const pacedPieces = (
  output: AsyncIterable<OutputEvent>,
  { clock, share = createPieceShare(), ...pace }: Pace,
  signal: AbortSignal,
): AsyncGenerator<OutputEvent, void> => {
  const paced = paceOutput(pollIterable(output, clock), { ...pace, clock, share });
  async function* pieces(): AsyncGenerator<OutputEvent, void> {
    try {
      if (signal.aborted) return;
      signal.addEventListener('abort', paced.stop, { once: true });
      for (;;) {
        const event = paced.take(clock.now());
        if (event !== undefined) yield event;
        else if (paced.isOver()) return;
        else await new Promise<void>(paced.wait);
      }
    } finally {
      signal.removeEventListener('abort', paced.stop);
      paced.stop();
    }
  }
  return stopOnReturn(pieces(), paced.stop);
};

/** Polls a source, one event at a time. `ended` settles once the source has been let go. */
const pollEach = (items: AsyncIterable<OutputEvent>): PolledOutput & { readonly ended: () => Promise<unknown> } => {
  const iterator = items[Symbol.asyncIterator]();
  let notify = (): void => {};
  let isReading = false;
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  let ready: OutputEvent | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  const read = async (): Promise<void> => {
    try {
      const next = await iterator.next();
      if (next.done === true) isOver = true;
      else ready = next.value;
    } catch (error) {
      failure = { error };
    }
    isReading = false;
    notify();
  };
  return {
    poll() {
      if (failure !== undefined) throw failure.error;
      const event = ready;
      ready = undefined;
      if (event !== undefined || isOver) return event;
      if (!isReading) {
        isReading = true;
        void read();
      }
      return undefined;
    },
    isOver: () => isOver,
    onChange(listener) {
      notify = listener;
    },
    stop() {
      isOver = true;
      if (!isReading) ended = iterator.return?.() ?? ended;
    },
    ended: () => ended,
  };
};

/** The output of an answer that is measured. */
export async function* measured(
  items: AsyncIterable<OutputEvent>,
  options: MeasurementOptions,
): AsyncGenerator<OutputEvent> {
  const output = pollEach(items);
  try {
    yield* waitForEach(measureOutput(output, options));
  } finally {
    await output.ended();
  }
}

/** The events of a streamed answer that is sent without pauses, to a client that takes one after the other. */
export async function* streamedEvents(
  items: AsyncIterable<OutputEvent>,
  encoder: StreamEncoder,
): AsyncGenerator<SseEvent> {
  const clock = createFakeClock();
  const output = pollEach(items);
  const leaving = new AbortController();
  const sent: SseEvent[] = [];
  let changed = Promise.withResolvers<void>();
  let taken = Promise.withResolvers<void>();
  output.onChange(() => changed.resolve());
  const unpaced = {
    ...output,
    take: output.poll,
    wait(ready: () => void) {
      changed.promise.then(() => {
        changed = Promise.withResolvers();
        ready();
      });
    },
    stop() {
      output.stop();
      changed.resolve();
    },
  };
  let arrived = Promise.withResolvers<void>();
  const send = (event: SseEvent): Promise<void> => {
    sent.push(event);
    arrived.resolve();
    return taken.promise;
  };
  let isOver = false;
  const streaming = streamAnswer(
    unpaced,
    { encoder, clock, runInSlices: createTimeSlices(clock), send, onSent() {} },
    leaving.signal,
  ).finally(() => {
    isOver = true;
    arrived.resolve();
  });
  streaming.catch(() => {});
  try {
    for (;;) {
      await arrived.promise;
      arrived = Promise.withResolvers();
      for (let event = sent.shift(); event !== undefined; event = sent.shift()) yield event;
      if (isOver) break;
      taken.resolve();
      taken = Promise.withResolvers();
    }
    await streaming;
  } finally {
    leaving.abort();
    taken.resolve();
    await output.ended();
  }
}
