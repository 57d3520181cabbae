import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { Publication } from '../events/publisher.ts';
import { type AgentMetrics, countModelCall } from '../metrics.ts';
import { type ChatModel, ModelError, type ModelRequest } from '../model/types.ts';
import type { Finish, MessageTokens, SessionStatus } from '../protocol/types.ts';
import type { ResponseParts } from './response-parts.ts';

const ATTEMPT_LIMIT = 5;
const FIRST_DELAY_MS = 2000;
const MAX_DELAY_MS = 30_000;
/** A backend that wants to be left alone for longer is answered with its refusal. */
const MAX_RETRY_AFTER_MS = 60_000;
const JITTER = 0.25;

/** How long to wait before a step is tried again, or nothing when it has failed: whole milliseconds. `attempt` counts from 1, `chance` is 0 to 1. */
export const retryDelayMs = (problem: ModelError, attempt: number, chance: number): number | undefined => {
  if (!problem.isRetryable || attempt > ATTEMPT_LIMIT) return undefined;
  if (problem.retryAfterMs !== undefined) {
    return problem.retryAfterMs <= MAX_RETRY_AFTER_MS ? Math.ceil(problem.retryAfterMs) : undefined;
  }
  return Math.round(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (1 + JITTER * chance));
};

export type BatchOptions = {
  readonly clock: Clock;
  /** How long the first item after a silence waits for others. */
  readonly gatherMs: number;
  /** The least time from one batch to the next. */
  readonly intervalMs: number;
  /** How many items may lie ready; the source waits when there are more. */
  readonly limit: number;
};

/** A promise that is waited for in several places and can be fulfilled from outside. */
const createLatch = () => {
  let bell = Promise.withResolvers<void>();
  return {
    ring: () => bell.resolve(),
    heard: () => bell.promise,
    reset() {
      bell = Promise.withResolvers<void>();
    },
  };
};

/**
 * What has arrived since the last look, together: a source that is faster than its reader comes in larger pieces instead
 * of piling up. Ending early ends the source.
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
        arrived.ring();
        if (ready.length >= limit) {
          taken.reset();
          await taken.heard();
        }
      }
    } catch (error) {
      failure = { error };
    }
    isOver = true;
    arrived.ring();
    over.ring();
  };
  /** For so long, or until the source is over. */
  const rest = async (ms: number): Promise<void> => {
    const paused = Promise.withResolvers<void>();
    const cancel = clock.after(ms, paused.resolve);
    await Promise.race([paused.promise, over.heard()]);
    cancel();
  };
  const pumping = pump();
  try {
    for (;;) {
      if (ready.length === 0 && !isOver) {
        arrived.reset();
        await arrived.heard();
        if (!isOver) await rest(gatherMs);
      }
      const batch = ready;
      ready = [];
      taken.ring();
      if (batch.length > 0) {
        yield batch;
        if (!isOver) await rest(intervalMs);
      } else if (failure !== undefined) throw failure.error;
      else if (isOver) return;
    }
  } finally {
    isOver = true;
    taken.ring();
    await iterator.return?.();
    await pumping;
  }
}

export type ModelCallNeeds = {
  readonly clock: Clock;
  readonly model: ChatModel;
  /** From 0 to 1, for spreading retries. */
  readonly chance: () => number;
  readonly metrics: Pick<AgentMetrics, 'modelCallEnded'>;
  readonly publish: (fact: Publication) => Promise<unknown>;
  readonly show: (status: SessionStatus) => Promise<unknown>;
};

export type ModelCallResult = {
  readonly finish: Finish;
  readonly tokens: MessageTokens;
  /** The last of what was said. Whoever asked tells it, together with what comes of it. */
  readonly unpublished: Publication;
};

/** Fast enough to read along, and few enough for a disk. */
const BATCH_INTERVAL_MS = 25;
/** A backend that says everything at once is heard to the end: that is one commit less. */
const GATHER_MS = 1;
const READ_AHEAD = 2000;

/** Asks the model for one step, again where that may help, and tells what it says while it says it. */
export const callModel = async (
  { clock, model, chance, metrics, publish, show }: ModelCallNeeds,
  { request, parts }: { readonly request: ModelRequest; readonly parts: ResponseParts },
  signal: AbortSignal,
): Promise<ModelCallResult> => {
  const once = async (): Promise<ModelCallResult> => {
    const batching = { clock, gatherMs: GATHER_MS, intervalMs: BATCH_INTERVAL_MS, limit: READ_AHEAD };
    for await (const events of readBatches(model(request, signal), batching)) {
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
      return await countModelCall({ clock, metrics: metrics }, request, { signal, ask: once });
    } catch (error) {
      signal.throwIfAborted();
      const delayMs = error instanceof ModelError ? retryDelayMs(error, attempt, chance()) : undefined;
      if (delayMs === undefined || !(error instanceof ModelError)) throw error;
      await publish(parts.end('The step was begun anew', true));
      await show({ type: 'retry', attempt, message: error.message, next: clock.now() + delayMs });
      await pause(clock, delayMs, signal);
      await show({ type: 'busy' });
    }
  }
};
