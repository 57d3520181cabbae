import * as v from 'valibot';

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** What the shadow has found since the start, and how much it judges at the moment. */
export const ShadowState = v.object({
  share: v.number(),
  alias: v.optional(v.string()),
  policy: v.optional(v.string()),
  running: Count,
  texts: v.object({ agreed: Count, differed: Count, failed: Count, skipped: Count }),
  /** Texts in which the live judge, its shadow or both find a violation. */
  categories: v.array(v.object({ category: v.string(), both: Count, live: Count, shadow: Count })),
});
export type ShadowState = v.InferOutput<typeof ShadowState>;
