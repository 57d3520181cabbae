/** The adapter packages that are part of the build. No other is ever fetched. */
export const BUNDLED_ADAPTERS = ['@ai-sdk/openai-compatible', '@ai-sdk/openai', '@ai-sdk/anthropic'] as const;
export type BundledAdapter = (typeof BUNDLED_ADAPTERS)[number];

export const isBundledAdapter = (npm: string): npm is BundledAdapter =>
  BUNDLED_ADAPTERS.some((adapter) => adapter === npm);

/** Reasoning efforts that the adapters know, from least to most. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export const isEffort = (value: unknown): value is Effort => EFFORTS.some((effort) => effort === value);

/** The model options that an adapter supports. It ignores all others silently; undefined: all go into the body as they are. */
export const ADAPTER_OPTIONS = {
  '@ai-sdk/openai-compatible': undefined,
  '@ai-sdk/openai': [
    'allowedTools',
    'compactionTrigger',
    'contextManagement',
    'conversation',
    'forceReasoning',
    'include',
    'includeWebSearchSources',
    'instructions',
    'logprobs',
    'maxToolCalls',
    'metadata',
    'parallelToolCalls',
    'passThroughUnsupportedFiles',
    'previousResponseId',
    'promptCacheKey',
    'promptCacheOptions',
    'promptCacheRetention',
    'reasoningContext',
    'reasoningEffort',
    'reasoningEffortUpdate',
    'reasoningMode',
    'reasoningSummary',
    'safetyIdentifier',
    'serviceTier',
    'store',
    'strictJsonSchema',
    'systemMessageMode',
    'textFormat',
    'textVerbosity',
    'truncation',
    'user',
  ],
  '@ai-sdk/anthropic': [
    'anthropicBeta',
    'cacheControl',
    'compaction',
    'container',
    'contextManagement',
    'disableParallelToolUse',
    'effort',
    'fallbacks',
    'includePings',
    'inferenceGeo',
    'mcpServers',
    'metadata',
    // Not its own option: the effort is sent in another way.
    'reasoningEffort',
    'safeguards',
    'sendReasoning',
    'serviceTier',
    'speed',
    'structuredOutputMode',
    'taskBudget',
    'thinking',
    'thread',
    'toolStreaming',
  ],
} as const satisfies Readonly<Record<BundledAdapter, readonly string[] | undefined>>;

/** The options that an adapter supports; undefined when it supports all. */
export const supportedOptionsFor = (npm: BundledAdapter): readonly string[] | undefined => ADAPTER_OPTIONS[npm];
