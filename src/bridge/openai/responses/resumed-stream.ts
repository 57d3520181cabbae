import { pause, pauseUntil, untilAborted } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import { Fault } from '../../../core/fault.ts';
import { pushedSseResponse, type SendSse, sendWhileRead } from '../../../core/http/sse.ts';
import { writeJson } from '../../../core/json.ts';
import type { Log } from '../../../core/log.ts';
import type { RunInSlices } from '../../../core/time-slices.ts';
import { withRetries } from '../../agent/errors.ts';
import type { AgentEventStream } from '../../agent/types.ts';
import { readResponseID } from '../../conversation/response-id.ts';
import { badInput } from '../../request.ts';
import type { EncodedEvent } from '../stream-encoder.ts';
import type { ActiveRequest } from '../tracked.ts';
import { createSnapshotEncoder, hasEnded } from './growing-snapshots.ts';
import type { ResponseObject } from './response.ts';
import { toStreamFailure } from './stream.ts';

/** A response is looked at once at most in each such interval of the clock, for all its streams: each look reads its session's messages. */
const INTERVAL_MS = 200;
/** A look without any event of the agent: its event stream may be cut. */
const LOOK_MS = 2000;

/** The number after which a client wants the events of a response, -1 for all. Undefined where it wants no events. */
export const parseStreamQuery = ({ url }: Request): number | undefined => {
  const { searchParams } = new URL(url);
  const stream = searchParams.get('stream') ?? 'false';
  const after = searchParams.get('starting_after');
  if (stream !== 'true' && stream !== 'false')
    throw badInput('invalid_value', 'stream', "Invalid value at 'stream': expected true or false");
  if (after !== null && !/^\d{1,15}$/.test(after))
    throw badInput('invalid_value', 'starting_after', "Invalid value at 'starting_after': expected a sequence_number");
  if (after !== null && stream === 'false')
    throw badInput('invalid_value', 'starting_after', "Invalid value at 'starting_after': it needs stream=true");
  return stream === 'true' ? Number(after ?? -1) : undefined;
};

/** A response as it is now. `isHeld`: its texts are shown at its end only. */
type LookedAt = { readonly response: ResponseObject; readonly isHeld: boolean };

type Look = (signal: AbortSignal) => Promise<LookedAt>;

const never = new AbortController().signal;

/** The streams of one response share its looks. One may be older than the call, but not than the interval that the call is in. */
export const createSharedLooks = ({ now }: Pick<Clock, 'now'>) => {
  const running = new Map<string, { readonly interval: number; readonly result: Promise<LookedAt> }>();
  return (key: string, look: Look): Look =>
    (signal) => {
      const interval = Math.floor(now() / INTERVAL_MS);
      const known = running.get(key);
      if (known?.interval === interval) return untilAborted(known.result, signal);
      const started = { interval, result: look(never) };
      running.set(key, started);
      const end = (): void => {
        if (running.get(key) === started) running.delete(key);
      };
      started.result.then(end, end);
      return untilAborted(started.result, signal);
    };
};

export type ResumedStreamNeeds = {
  /** Of the response, shared by its streams. */
  readonly look: Look;
  readonly feed: Pick<AgentEventStream, 'subscribe'>;
  readonly track: (request: Request) => ActiveRequest;
  readonly clock: Clock;
  /** 0 to 1; shortens the wait before a look is repeated. */
  readonly chance: () => number;
  readonly log: Log;
  readonly runInSlices: RunInSlices;
  readonly hasHeartbeat: boolean;
};

const sendAll = async (
  events: readonly EncodedEvent[],
  { send, runInSlices }: { readonly send: SendSse; readonly runInSlices: RunInSlices },
  left: AbortSignal,
): Promise<void> => {
  for (const event of events) {
    if (left.aborted) return;
    const data = 'data' in event ? event.data : await runInSlices(writeJson(event.value), never);
    await send({ event: event.event ?? 'message', data });
  }
};

/**
 * Streams the events of a response in the background after a number, from its beginning or from wherever its client has lost it:
 * looks at it whenever the agent has an event of its session, until it has ended. What cannot be looked at for two minutes, and a
 * bridge that stops, ends the stream with an `error` that is none of the response, and its client resumes it again. A client that reads
 * nothing loses it, and its place. Faults where it cannot be looked at at first.
 */
export const streamResumed = async (
  request: Request,
  id: string,
  after: number,
  { look, feed, track, clock, chance, log, runInSlices, hasHeartbeat }: ResumedStreamNeeds,
): Promise<Response> => {
  const active = track(request);
  const { signal } = active;
  const follow = async (first: LookedAt, send: SendSse, left: AbortSignal): Promise<void> => {
    const lookAgain = () => withRetries(() => look(signal), { clock, chance, signal });
    const sink = { send, runInSlices };
    const encoder = createSnapshotEncoder(after);
    // It may have changed since it was looked at.
    let changed = Promise.withResolvers<void>();
    changed.resolve();
    const unsubscribe = feed.subscribe(() => changed.resolve(), readResponseID(id)?.sessionID);
    try {
      for (let { response, isHeld } = first; ; { response, isHeld } = await lookAgain()) {
        const isOver = hasEnded(response);
        const shown = isHeld && !isOver ? { ...response, output: [] } : response;
        await sendAll(encoder.eventsFor(shown), sink, left);
        if (isOver) return;
        await pauseUntil(clock, { ms: LOOK_MS, woken: changed.promise }, signal);
        // Before the pause: the look after it may have begun with the interval, and what comes later needs another one.
        changed = Promise.withResolvers();
        await pause(clock, INTERVAL_MS - (clock.now() % INTERVAL_MS), signal);
      }
    } catch (error) {
      const failure = toStreamFailure(error);
      if (failure !== undefined) await sendAll(encoder.interrupted(failure), sink, left);
      if (!(error instanceof Fault)) throw error;
    } finally {
      unsubscribe();
    }
  };
  try {
    const first = await look(signal);
    if (!first.response.background)
      throw badInput(
        'unsupported_value',
        'stream',
        "Unsupported value at 'stream': only a response that was created with background: true is streamed again. Repeat this request without it",
      );
    return pushedSseResponse(
      async (send, left) => {
        left.addEventListener('abort', active.disconnect, { once: true });
        try {
          await follow(first, sendWhileRead(send, clock, active.disconnect), left);
        } finally {
          active.end();
        }
      },
      {
        clock,
        heartbeat: hasHeartbeat ? () => ({ comment: 'ping' }) : undefined,
        onBug: (error) => log('error', 'stream-failed', { reason: error instanceof Error ? error.name : 'unknown' }),
      },
    );
  } catch (error) {
    active.end();
    throw error;
  }
};
