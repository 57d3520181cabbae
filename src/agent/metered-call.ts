import type { Clock } from '../core/clock.ts';
import type { MessageTokens } from './message.ts';
import type { Meter } from './metrics.ts';
import type { ChatRequest } from './model/types.ts';

export type CallMeter = { readonly clock: Pick<Clock, 'now'>; readonly meter: Pick<Meter, 'modelCall'> };

/** Counts one request to a model, however it ends. An end without tokens is one that the model never came to. */
export const meteredCall = async <End extends { readonly tokens: MessageTokens | undefined }>(
  { clock, meter }: CallMeter,
  { target }: ChatRequest,
  { signal, ask }: { readonly signal: AbortSignal; readonly ask: () => Promise<End> },
): Promise<End> => {
  const startedAt = clock.now();
  let end: End | undefined;
  try {
    end = await ask();
    return end;
  } finally {
    const tokens = end?.tokens;
    const outcome = tokens !== undefined ? 'answered' : signal.aborted ? 'left' : 'failed';
    const model = `${target.providerID}/${target.upstreamID}`;
    meter.modelCall({ model, outcome, tokens, durationMs: clock.now() - startedAt });
  }
};
