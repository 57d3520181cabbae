import { CATEGORIES, type CategoryScores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';

/** One input's result in OpenAI's shape. */
export type ModerationResult = {
  readonly flagged: boolean;
  readonly categories: Readonly<Record<string, boolean>>;
  readonly category_scores: Readonly<Record<string, number>>;
  /** The same numbers under the name in our specification. */
  readonly scores: Readonly<Record<string, number>>;
  readonly category_applied_input_types: Readonly<Record<string, readonly string[]>>;
};

/** What was judged of an input. */
export type JudgedTypes = { readonly text: boolean; readonly image: boolean };

/** Creates a result: always all 13 categories. */
export const createResult = (scores: CategoryScores, { categories }: Policy, judged: JudgedTypes): ModerationResult => {
  const flags: Record<string, boolean> = {};
  const numbers: Record<string, number> = {};
  const types: Record<string, readonly string[]> = {};
  const textOnly = judged.text ? ['text'] : [];
  const withImage = judged.image ? [...textOnly, 'image'] : textOnly;
  let flagged = false;
  for (const [index, { name, threshold, images }] of categories.entries()) {
    const score = scores[index];
    if (score === undefined) throw new TypeError(`No score for ${name}`);
    numbers[name] = score;
    flags[name] = score >= threshold;
    types[name] = images ? withImage : textOnly;
    flagged ||= score >= threshold;
  }
  return { flagged, categories: flags, category_scores: numbers, scores: numbers, category_applied_input_types: types };
};

/** The result of an input without a verdict: every score is 1, whatever the thresholds, and nothing was judged of it. */
export const createFlaggedResult = (policy: Policy): ModerationResult =>
  createResult(
    CATEGORIES.map(() => 1),
    policy,
    { text: false, image: false },
  );
