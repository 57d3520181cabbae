import type { Finish, MessageTokens } from './message.ts';

type Count = number | undefined;

/** What is read of the SDK's usage. `raw` is the backend's own. */
export type AiUsage = {
  readonly inputTokens: Count;
  readonly inputTokenDetails: { readonly cacheReadTokens: Count; readonly cacheWriteTokens: Count };
  readonly outputTokens: Count;
  readonly outputTokenDetails: { readonly reasoningTokens: Count };
  readonly totalTokens: Count;
  readonly raw?: Readonly<Record<string, unknown>> | undefined;
};

/** A backend's number may be anything that JSON allows; sums and prices are made of these. */
const counted = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0;

/**
 * Tokens as the wire counts them: `input` without what came from or went to a cache, `output` without the reasoning,
 * `total` as the backend gives it, or else the sum of what it took and gave.
 */
export const tokensOf = (usage: AiUsage): MessageTokens => {
  const read = counted(usage.inputTokenDetails.cacheReadTokens);
  const write = counted(usage.inputTokenDetails.cacheWriteTokens);
  const reasoning = counted(usage.outputTokenDetails.reasoningTokens);
  const given = counted(usage.raw?.total_tokens);
  return {
    input: Math.max(0, counted(usage.inputTokens) - read - write),
    output: Math.max(0, counted(usage.outputTokens) - reasoning),
    reasoning,
    cache: { read, write },
    total: given === 0 ? counted(usage.totalTokens) : given,
  };
};

const FINISHES: Readonly<Record<string, Finish>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool-calls',
  'content-filter': 'content-filter',
  other: 'other',
};

/** Why the model stopped, or nothing when its answer was cut off before it said so: `raw` is the backend's own reason. */
export const finishOf = (reason: string, raw: string | undefined, hasCalls: boolean): Finish | undefined => {
  // Some backends end with "stop" what ends with calls, and a loop that believed them would leave the calls undone.
  if (reason === 'stop' && hasCalls) return 'tool-calls';
  const isUnsaid = reason === 'interrupted' || ((reason === 'other' || reason === 'error') && raw === undefined);
  return isUnsaid ? undefined : (FINISHES[reason] ?? 'unknown');
};
