/**
 * The 13 categories of OpenAI's moderation API, in its order, each with the code the judge answers with: under full
 * names a verdict takes a third more tokens, and writing them is most of the wait. `images` says where OpenAI's API lists images as an input type.
 * Source: https://developers.openai.com/api/docs/guides/moderation
 */
export const CATEGORIES = [
  { name: 'harassment', code: 'HR', images: false },
  { name: 'harassment/threatening', code: 'HRT', images: false },
  { name: 'hate', code: 'HA', images: false },
  { name: 'hate/threatening', code: 'HAT', images: false },
  { name: 'illicit', code: 'IL', images: false },
  { name: 'illicit/violent', code: 'ILV', images: false },
  { name: 'self-harm', code: 'SH', images: true },
  { name: 'self-harm/intent', code: 'SHI', images: true },
  { name: 'self-harm/instructions', code: 'SHG', images: true },
  { name: 'sexual', code: 'SX', images: true },
  { name: 'sexual/minors', code: 'SXM', images: false },
  { name: 'violence', code: 'VI', images: true },
  { name: 'violence/graphic', code: 'VIG', images: true },
] as const;

/** A category's name in OpenAI's API. */
export type CategoryName = (typeof CATEGORIES)[number]['name'];
/** A category's short name in prompts and verdicts. */
export type CategoryCode = (typeof CATEGORIES)[number]['code'];

/** The categories' names in OpenAI's API, in order. */
export const CATEGORY_NAMES: readonly CategoryName[] = CATEGORIES.map(({ name }) => name);

/** A number 0..1 for each category of a policy, in its order: `CATEGORIES`, then the others. Only a whole valid verdict becomes one. */
export type CategoryScores = readonly number[];

/** The highest score of each of `count` categories. A missing score counts as 1. Throws where there is no verdict at all. */
export const highestScores = (verdicts: readonly CategoryScores[], count: number): CategoryScores => {
  if (verdicts.length === 0) throw new TypeError('Scores need at least one verdict');
  return Array.from({ length: count }, (_, index) => Math.max(...verdicts.map((scores) => scores[index] ?? 1)));
};
