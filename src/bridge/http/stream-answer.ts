import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { SendSse } from '../../core/http/sse.ts';
import { writeJson } from '../../core/json.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import { missingEndError } from '../answer/failure.ts';
import type { EncodedEvent, StreamEncoder } from '../openai/endpoint.ts';
import type { PacedOutput } from '../stream/pacing.ts';

type StreamNeeds = {
  readonly encoder: StreamEncoder;
  readonly clock: Pick<Clock, 'now'>;
  readonly runInSlices: RunInSlices;
  readonly send: SendSse;
  /** Called when the client was sent the last event. Not if it has disconnected before. */
  readonly onSent: () => void;
};

/** Never stopped: what it writes is short, and no one waits for the end of a stream that is read no more. */
const never = new AbortController().signal;

/**
 * Sends an answer until its last event, or until `disconnected` aborts: with a fault as the reason, that is sent. Waits only for the next piece's time, for a client that
 * reads slowly and for JSON that is written in steps. Errors that are no faults are thrown once the client has been sent the failure.
 */
export const streamAnswer = async (
  output: PacedOutput,
  { encoder, clock, runInSlices, send, onSent }: StreamNeeds,
  disconnected: AbortSignal,
): Promise<void> => {
  const sendWritten = async ({ event, value }: Extract<EncodedEvent, { readonly value: object }>): Promise<void> =>
    send({ event, data: await runInSlices(writeJson(value), never) });
  const sendOne = (event: EncodedEvent): Promise<void> | undefined =>
    'data' in event ? send(event) : sendWritten(event);
  /** Returns a promise where something has to be waited for before the next event. */
  const sendAll = (events: readonly EncodedEvent[], first = 0): Promise<void> | undefined => {
    for (let index = first; index < events.length; index++) {
      const event = events[index];
      const sent = event && sendOne(event);
      if (sent !== undefined) return sent.then(() => sendAll(events, index + 1));
    }
    return undefined;
  };
  /**
   * Sends each piece when its time has come. Resolves when the client has to be waited for, then to that, or when nothing more
   * is to be sent: it has ended, or was cut off. A promise for each piece would cost more than the piece.
   */
  const sendUntilBehind = (): Promise<'behind' | 'ended' | 'cut-off'> =>
    new Promise((resolve, reject) => {
      const sendDue = (): void => {
        try {
          while (!disconnected.aborted) {
            const event = output.take(clock.now());
            if (event === undefined) {
              if (output.isOver()) throw missingEndError();
              output.wait(sendDue);
              return;
            }
            const sent = sendAll(encoder.eventsFor(event));
            const isOver = event.kind === 'end' || event.kind === 'failure';
            if (sent !== undefined || isOver) {
              resolve(Promise.resolve(sent).then(() => (isOver ? 'ended' : 'behind')));
              return;
            }
          }
          resolve('cut-off');
        } catch (error) {
          reject(error);
        }
      };
      sendDue();
    });
  disconnected.addEventListener('abort', output.stop, { once: true });
  try {
    if (!disconnected.aborted) await sendAll(await encoder.first());
    let how = await sendUntilBehind();
    while (how === 'behind') how = await sendUntilBehind();
    if (how === 'cut-off' && disconnected.reason instanceof Fault) throw disconnected.reason;
    if (!disconnected.aborted) onSent();
  } catch (error) {
    await sendAll(await encoder.errorEvents(error));
    if (!(error instanceof Fault)) throw error;
  } finally {
    disconnected.removeEventListener('abort', output.stop);
    output.stop();
  }
};
