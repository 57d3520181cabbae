import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { TraceContext } from '../../core/http/tracing.ts';
import type { Publication } from '../events/publisher.ts';
import { countModelCall } from '../metrics.ts';
import { ModelError, type ModelRequest } from '../model/types.ts';
import type { Finish, MessageTokens } from '../protocol/types.ts';
import type { ResponseParts } from './response-parts.ts';
import type { TurnContext } from './types.ts';

const ATTEMPT_LIMIT = 5;
const FIRST_DELAY_MS = 2000;
const MAX_DELAY_MS = 30_000;
/** Where a backend asks for a longer pause, its error counts at once. */
const MAX_RETRY_AFTER_MS = 60_000;
const JITTER = 0.25;

/**
 * How long to wait before a step is retried, in whole milliseconds; undefined when it has failed for good. `attempt` counts
 * from 1, `chance` is 0 to 1.
 */
export const retryDelayMs = (error: ModelError, attempt: number, chance: number): number | undefined => {
  if (!error.isRetryable || attempt > ATTEMPT_LIMIT) return undefined;
  if (error.retryAfterMs !== undefined) {
    return error.retryAfterMs <= MAX_RETRY_AFTER_MS ? Math.ceil(error.retryAfterMs) : undefined;
  }
  return Math.round(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (1 + JITTER * chance));
};

type BatchOptions = {
  readonly clock: Clock;
  /** How long the first item after a pause waits for others. */
  readonly gatherMs: number;
  /** Minimum time from one batch to the next. */
  readonly intervalMs: number;
  /** How many items may be buffered; the source waits when there are more. */
  readonly limit: number;
};

/** A promise that is waited for in several places and can be fulfilled from outside. */
const createLatch = () => {
  let latch = Promise.withResolvers<void>();
  return {
    open: () => latch.resolve(),
    wait: () => latch.promise,
    reset() {
      latch = Promise.withResolvers<void>();
    },
  };
};

/**
 * Yields the items that have arrived since the last batch, together: a source that is faster than its reader comes in
 * larger batches. Ending early ends the source.
 */
export async function* readBatches<Item>(
  source: AsyncIterable<Item>,
  { clock, gatherMs, intervalMs, limit }: BatchOptions,
): AsyncGenerator<readonly Item[]> {
  const iterator = source[Symbol.asyncIterator]();
  const arrived = createLatch();
  const taken = createLatch();
  const over = createLatch();
  let ready: Item[] = [];
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  const pump = async (): Promise<void> => {
    try {
      while (!isOver) {
        const next = await iterator.next();
        if (next.done === true) break;
        ready.push(next.value);
        arrived.open();
        if (ready.length >= limit) {
          taken.reset();
          await taken.wait();
        }
      }
    } catch (error) {
      failure = { error };
    }
    isOver = true;
    arrived.open();
    over.open();
  };
  /** Waits for so long, or until the source has ended. */
  const pauseUntilOver = async (ms: number): Promise<void> => {
    const paused = Promise.withResolvers<void>();
    const cancel = clock.after(ms, paused.resolve);
    await Promise.race([paused.promise, over.wait()]);
    cancel();
  };
  const pumping = pump();
  try {
    for (;;) {
      if (ready.length === 0 && !isOver) {
        arrived.reset();
        await arrived.wait();
        if (!isOver) await pauseUntilOver(gatherMs);
      }
      const batch = ready;
      ready = [];
      taken.open();
      if (batch.length > 0) {
        yield batch;
        if (!isOver) await pauseUntilOver(intervalMs);
      } else if (failure !== undefined) throw failure.error;
      else if (isOver) return;
    }
  } finally {
    isOver = true;
    taken.open();
    await iterator.return?.();
    await pumping;
  }
}

/** How a request to a model ended. */
export type ModelCallResult = {
  readonly finish: Finish;
  readonly tokens: MessageTokens;
  /** The last batch of output. The caller publishes it together with what follows from it. */
  readonly unpublished: Publication;
};

/** Fast enough to read along, and few enough for a disk. */
const BATCH_INTERVAL_MS = 25;
/** Where a backend sends everything at once, this makes one commit of it. */
const GATHER_MS = 1;
const READ_AHEAD = 2000;

type ModelCall = {
  readonly request: ModelRequest;
  readonly parts: ResponseParts;
  /** Called in each attempt when the request is on its way, at the latest when its answer begins. */
  readonly onSent?: () => void;
};

/** Calls the model for one step, with retries where they may help, and publishes its output as it arrives. */
export const callModel = async (
  needs: TurnContext,
  { request, parts, onSent }: ModelCall,
  signal: AbortSignal,
): Promise<ModelCallResult> => {
  const { clock, model, failures, publish } = needs;
  const sent: ModelRequest = onSent === undefined ? request : { ...request, onSent };
  const once = async (trace: TraceContext | undefined): Promise<ModelCallResult> => {
    const batching = { clock, gatherMs: GATHER_MS, intervalMs: BATCH_INTERVAL_MS, limit: READ_AHEAD };
    for await (const events of readBatches(model(sent, signal, trace), batching)) {
      onSent?.();
      const fact = parts.take(events);
      const end = events.findLast((event) => event.kind === 'finished');
      if (end !== undefined) return { finish: end.finish, tokens: end.tokens, unpublished: fact };
      if ((fact.drafts ?? []).length > 0) await publish(fact);
      signal.throwIfAborted();
    }
    signal.throwIfAborted();
    throw new ModelError('cut-off', 'The answer ended in the middle', { isRetryable: true });
  };
  for (let attempt = 1; ; attempt++) {
    try {
      signal.throwIfAborted();
      failures.onAttempt(attempt);
      return await countModelCall(needs, request, { signal, span: needs.span, ask: once });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelError)) throw error;
      const delayMs = retryDelayMs(error, attempt, needs.chance());
      failures.onFailedAttempt(error, delayMs);
      if (delayMs === undefined) throw error;
      await publish(parts.end('The step was restarted', true));
      await needs.show({ type: 'retry', attempt, message: error.message, next: clock.now() + delayMs });
      await pause(clock, delayMs, signal);
      await needs.show({ type: 'busy' });
    }
  }
};
