import type { Scores } from './policy/categories.ts';
import type { Policy } from './policy/policy.ts';
import type { Item } from './routes/request.ts';
import { isBlank } from './text/normalize.ts';

export type ModerationResult = {
  readonly flagged: boolean;
  readonly categories: Readonly<Record<string, boolean>>;
  readonly category_scores: Readonly<Record<string, number>>;
  /** The same numbers under the name that our specification gives them. */
  readonly scores: Readonly<Record<string, number>>;
  readonly category_applied_input_types: Readonly<Record<string, readonly string[]>>;
};

const inputTypesOf = ({ text, image }: Item) => {
  const texts = isBlank(text) ? [] : ['text'];
  return { textOnly: texts, withImage: image === undefined ? texts : [...texts, 'image'] };
};

/** One item's result in OpenAI's shape: always all 13 categories. */
export const resultOf = (scores: Scores, { categories }: Policy, item: Item): ModerationResult => {
  const flags: Record<string, boolean> = {};
  const numbers: Record<string, number> = {};
  const types: Record<string, readonly string[]> = {};
  const { textOnly, withImage } = inputTypesOf(item);
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
