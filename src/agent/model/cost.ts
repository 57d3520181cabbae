import type { MessageTokens, Tokens } from '../protocol/types.ts';

/** Prices in dollars for a million tokens. */
export type Prices = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
};

const MILLION = 1_000_000;

/** The cost of a step in dollars. Reasoning is billed as output. */
export const costOf = ({ input, output, reasoning, cache }: MessageTokens, prices: Prices): number =>
  (input * prices.input +
    (output + reasoning) * prices.output +
    cache.read * prices.cacheRead +
    cache.write * prices.cacheWrite) /
  MILLION;

/** How many tokens of the context a request and its answer take. */
export const contextTokensOf = ({ total, input, output, reasoning, cache }: MessageTokens): number =>
  total ?? input + output + reasoning + cache.read + cache.write;

/** The sums of two token counts. */
export const addTokens = (left: Tokens, right: Tokens): Tokens => ({
  input: left.input + right.input,
  output: left.output + right.output,
  reasoning: left.reasoning + right.reasoning,
  cache: { read: left.cache.read + right.cache.read, write: left.cache.write + right.cache.write },
});
