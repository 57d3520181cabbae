import type { Clock } from '../../core/clock.ts';
import { pushedSseResponse, type SendSse, sendWhileRead } from '../../core/http/sse.ts';
import type { Log } from '../../core/log.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { ClientAnswer } from '../answer/client-answer.ts';
import type { StreamEncoder } from '../openai/endpoint.ts';
import type { ActiveRequest } from '../openai/tracked.ts';
import { paceOutput } from '../stream/pacing.ts';
import type { PieceShare } from '../stream/piece-share.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import { streamAnswer } from './stream-answer.ts';

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
