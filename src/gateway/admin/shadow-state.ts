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

const addTwo = (one: ShadowState, other: ShadowState): ShadowState => ({
  ...one,
  running: one.running + other.running,
  texts: {
    agreed: one.texts.agreed + other.texts.agreed,
    differed: one.texts.differed + other.texts.differed,
    failed: one.texts.failed + other.texts.failed,
    skipped: one.texts.skipped + other.texts.skipped,
  },
  categories: [...Map.groupBy([...one.categories, ...other.categories], ({ category }) => category).values()].flatMap(
    (alike) =>
      alike.reduce((sum, { both, live, shadow }) => ({
        category: sum.category,
        both: sum.both + both,
        live: sum.live + live,
        shadow: sum.shadow + shadow,
      })),
  ),
});

/** The shadow of a service from those of its processes; undefined where they have none. */
export const addShadows = (shadows: readonly ShadowState[]): ShadowState | undefined => {
  const [first, ...rest] = shadows;
  return first === undefined ? undefined : rest.reduce(addTwo, first);
};
