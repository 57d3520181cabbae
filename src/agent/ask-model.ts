import { pause } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import type { Fact } from './events/publisher.ts';
import type { Finish, MessageTokens } from './message.ts';
import { meteredCall } from './metered-call.ts';
import type { Meter } from './metrics.ts';
import { type ChatModel, type ChatRequest, ModelProblem } from './model/types.ts';
import { retryDelayMs } from './retry-plan.ts';
import type { SessionStatus } from './session.ts';
import { batched } from './turn/model-call.ts';
import type { StepParts } from './turn/response-parts.ts';

export type AskNeeds = {
  readonly clock: Clock;
  readonly model: ChatModel;
  /** From 0 to 1, for spreading retries. */
  readonly chance: () => number;
  readonly meter: Pick<Meter, 'modelCall'>;
  readonly publish: (fact: Fact) => Promise<unknown>;
  readonly show: (status: SessionStatus) => Promise<unknown>;
};

export type StepEnd = {
  readonly finish: Finish;
  readonly tokens: MessageTokens;
  /** The last of what was said. Whoever asked tells it, together with what comes of it. */
  readonly untold: Fact;
};

/** Fast enough to read along, and few enough for a disk. */
const BATCH_INTERVAL_MS = 25;
/** A backend that says everything at once is heard to the end: that is one commit less. */
const GATHER_MS = 1;
const READ_AHEAD = 2000;

/** Asks the model for one step, again where that may help, and tells what it says while it says it. */
export const askModel = async (
  { clock, model, chance, meter, publish, show }: AskNeeds,
  { request, parts }: { readonly request: ChatRequest; readonly parts: StepParts },
  signal: AbortSignal,
): Promise<StepEnd> => {
  const once = async (): Promise<StepEnd> => {
    const batching = { clock, gatherMs: GATHER_MS, intervalMs: BATCH_INTERVAL_MS, limit: READ_AHEAD };
    for await (const events of batched(model(request, signal), batching)) {
      const fact = parts.take(events);
      const end = events.findLast((event) => event.kind === 'finished');
      if (end !== undefined) return { finish: end.finish, tokens: end.tokens, untold: fact };
      if ((fact.drafts ?? []).length > 0) await publish(fact);
      signal.throwIfAborted();
    }
    signal.throwIfAborted();
    throw new ModelProblem('cut-off', 'The answer ended in the middle', { isRetryable: true });
  };
  for (let attempt = 1; ; attempt++) {
    try {
      signal.throwIfAborted();
      return await meteredCall({ clock, meter }, request, { signal, ask: once });
    } catch (error) {
      signal.throwIfAborted();
      const delayMs = error instanceof ModelProblem ? retryDelayMs(error, attempt, chance()) : undefined;
      if (delayMs === undefined || !(error instanceof ModelProblem)) throw error;
      await publish(parts.end('The step was begun anew', true));
      await show({ type: 'retry', attempt, message: error.message, next: clock.now() + delayMs });
      await pause(clock, delayMs, signal);
      await show({ type: 'busy' });
    }
  }
};
