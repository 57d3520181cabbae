import * as assert from 'uvu/assert';
import { streamAnswer } from '../../../src/bridge/http/stream-answer.ts';
import type { StreamEncoder } from '../../../src/bridge/openai/stream-encoder.ts';
import type { OutputEvent } from '../../../src/bridge/output.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { ended } from '../harness/recorded-outputs.ts';

const ENCODER: StreamEncoder = {
  first: async () => [],
  eventsFor: (event) => [{ data: event.kind }],
  errorEvents: async () => [],
  empty: () => ({ data: '' }),
};

/** An answer whose last piece its client takes only when `take` is called. */
const sendToSlowClient = () => {
  const clock = createFakeClock();
  const events: OutputEvent[] = [ended()];
  const taken = Promise.withResolvers<void>();
  const leaving = new AbortController();
  let isSent = false;
  const output = { take: () => events.shift(), isOver: () => false, wait() {}, stop() {} };
  const onSent = (): void => {
    isSent = true;
  };
  const send = () => taken.promise;
  const over = streamAnswer(
    output,
    { encoder: ENCODER, clock, runInSlices: createTimeSlices(clock), send, onSent },
    leaving.signal,
  );
  return { clock, over, leaving, take: () => taken.resolve(), isSent: () => isSent };
};

describe('an answer that is streamed', (check) => {
  check('is sent when its client has taken the last piece, and not before', async () => {
    const { clock, over, take, isSent } = sendToSlowClient();
    await clock.advance(1000);
    assert.is(isSent(), false);
    take();
    await over;
    assert.is(isSent(), true);
  });

  check('is not sent when its client has left before it took the last piece', async () => {
    const { clock, over, leaving, take, isSent } = sendToSlowClient();
    await clock.advance(1000);
    leaving.abort();
    take();
    await over;
    assert.is(isSent(), false);
  });
});
