import * as assert from 'uvu/assert';
import { streamAnswer } from '../../../src/bridge/http/send-stream.ts';
import type { StreamEncoder } from '../../../src/bridge/openai/endpoint.ts';
import type { OutputEvent } from '../../../src/bridge/output.ts';
import { Fault } from '../../../src/core/fault.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { ended } from '../harness/recorded-outputs.ts';

const ENCODER: StreamEncoder = {
  first: async () => [],
  eventsFor: (event) => [{ data: event.kind }],
  errorEvents: async (error) => [{ data: error instanceof Fault ? error.detail.kind : 'bug' }],
  empty: () => ({ data: '' }),
};

const SAYING: OutputEvent = { kind: 'text', id: 'a', text: 'Hi' };

/** An answer whose last piece its client takes only when `take` is called. */
const sendToSlowClient = (event: OutputEvent = ended()) => {
  const clock = createFakeClock();
  const events: OutputEvent[] = [event];
  const taken = Promise.withResolvers<void>();
  const leaving = new AbortController();
  let isSent = false;
  const sent: unknown[] = [];
  const output = { take: () => events.shift(), isOver: () => false, wait() {}, stop() {} };
  const onSent = (): void => {
    isSent = true;
  };
  const send = ({ data }: { readonly data?: string }) => {
    sent.push(data);
    return taken.promise;
  };
  const over = streamAnswer(
    output,
    { encoder: ENCODER, clock, runInSlices: createTimeSlices(clock), send, onSent },
    leaving.signal,
  );
  return { clock, over, leaving, take: () => taken.resolve(), isSent: () => isSent, sent };
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

  check('that is cut off for a fault ends with that, unless it has ended', async () => {
    const stopping = new Fault({ kind: 'unavailable', message: 'Stopping', retryAfterMs: 1 });
    for (const [kind, expected] of [
      ['text', ['text', 'unavailable']],
      ['end', ['end']],
    ] as const) {
      const { clock, over, leaving, take, sent } = sendToSlowClient(kind === 'end' ? ended() : SAYING);
      await clock.advance(1000);
      leaving.abort(stopping);
      take();
      await over;
      assert.equal(sent, expected);
    }
  });
});
