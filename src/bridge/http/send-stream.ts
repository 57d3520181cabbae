import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { pushedSseResponse, type SendSse, sendWhileRead } from '../../core/http/sse.ts';
import { writeJson } from '../../core/json.ts';
import type { Log } from '../../core/log.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { ClientAnswer } from '../answer/client-answer.ts';
import { missingEndError } from '../answer/failure.ts';
import type { EncodedEvent, StreamEncoder } from '../openai/endpoint.ts';
import type { ActiveRequest } from '../openai/tracked.ts';
import { type PacedOutput, paceOutput } from '../stream/pacing.ts';
import type { PieceShare } from '../stream/piece-share.ts';
import type { PolledOutput } from '../stream/polled-output.ts';

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

/** How answers are sent. `chunkSize` is in graphemes. */
type DeliverySettings = {
  readonly chunkSize: number;
  readonly chunkDelayMs: number;
  readonly heartbeat: 'comment' | 'chunk' | 'off';
};

type StreamSenderNeeds = {
  readonly clock: Clock;
  /** The clock with timers that all streams share, and what else they share. */
  readonly timers: Clock;
  readonly share: PieceShare;
  readonly log: Log;
  readonly runInSlices: RunInSlices;
  readonly settings: DeliverySettings;
};

type SentAnswer = {
  readonly output: PolledOutput;
  readonly encoder: StreamEncoder;
  readonly delivery: ClientAnswer['delivery'];
  readonly headers: Readonly<Record<string, string>>;
  /** Only its stream fails when the bridge stops, and a reader that takes nothing loses it. */
  readonly isBackground: boolean;
};

/** Streams an answer to its client, until its end or until `active` aborts, which it ends. */
export type SendStream = (answer: SentAnswer, active: ActiveRequest) => Response;

/** Creates what sends the streams of all endpoints. */
export const createStreamSender = ({
  clock,
  timers,
  share,
  log,
  runInSlices,
  settings,
}: StreamSenderNeeds): SendStream => {
  const { chunkSize, chunkDelayMs: delayMs, heartbeat } = settings;
  return ({ output, encoder, delivery, headers, isBackground }, { signal, disconnect, end }) => {
    const sendEvents = async (send: SendSse, disconnected: AbortSignal): Promise<void> => {
      disconnected.addEventListener('abort', disconnect, { once: true });
      try {
        const paced = paceOutput(output, { clock: timers, chunkSize, delayMs, share });
        // When the bridge stops, a client gets that failure.
        const until = isBackground ? signal : disconnected;
        const sendNext = isBackground ? sendWhileRead(send, clock, disconnect) : send;
        await streamAnswer(paced, { encoder, clock, runInSlices, send: sendNext, onSent: delivery.finish }, until);
      } finally {
        delivery.leave();
        end();
      }
    };
    const emptyEvent = heartbeat === 'chunk' ? encoder.empty() : undefined;
    const response = pushedSseResponse(sendEvents, {
      clock,
      heartbeat: heartbeat === 'off' ? undefined : () => emptyEvent ?? { comment: 'ping' },
      onBug: (error) => log('error', 'stream-failed', { reason: error instanceof Error ? error.name : 'unknown' }),
    });
    for (const [name, value] of Object.entries(headers))
      if (name !== 'cache-control') response.headers.set(name, value);
    return response;
  };
};
