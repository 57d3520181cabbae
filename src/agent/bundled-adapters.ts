/** The adapter packages that are part of the build. No other is ever fetched. */
export const BUNDLED_ADAPTERS = ['@ai-sdk/openai-compatible', '@ai-sdk/openai', '@ai-sdk/anthropic'] as const;
export type BundledAdapter = (typeof BUNDLED_ADAPTERS)[number];

export const isBundledAdapter = (npm: string): npm is BundledAdapter =>
  BUNDLED_ADAPTERS.some((adapter) => adapter === npm);
