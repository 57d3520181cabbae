import type { TokenLogprob } from '../../../llm/logprobs.ts';

/** How many tokens a server is asked for at each place: as many as servers give unless they are set to give more. */
export const TOP_LOGPROBS = 20;

/** With less than this on the labels the model did not mean to answer in its form. */
const LEAST_MASS = 0.5;

type Labels = Readonly<Record<string, number>>;

const fold = (text: string): string => text.trim().toLowerCase();

/** The label that a token begins or is; undefined where it is none, or may be the beginning of several. */
const labelOf = (token: string, labels: readonly string[]): string | undefined => {
  const begun = fold(token);
  const [only, second] = begun === '' ? [] : labels.filter((label) => label.startsWith(begun));
  return second === undefined ? only : undefined;
};

/** The token with which the label begins; undefined where the tokens are not those of the answer. */
const findLabelToken = (tokens: readonly TokenLogprob[], before: string): TokenLogprob | undefined => {
  let written = '';
  return tokens.find((one) => {
    const isHere = fold(written) === fold(before) && one.token.trim() !== '';
    written += one.token;
    return isHere;
  });
};

/** How much harm an answer says by its probabilities: a number 0..1, or why it is no verdict; undefined where they tell nothing. */
export type Likelihood =
  | { readonly kind: 'harm'; readonly harm: number }
  | { readonly kind: 'unusable'; readonly reason: string };

/**
 * Reads the probabilities of the word that an answer gives. All spellings of a label count together. A label that is not among the
 * likeliest tokens may be as likely as the last of them, or as all that is not named: where it says harm, that counts. Where the
 * labels have less than half of the probability together, there is no verdict.
 */
export const readLikelihood = (
  tokens: readonly TokenLogprob[],
  { label, before }: { readonly label: string; readonly before: string },
  labels: Labels,
): Likelihood | undefined => {
  const names = Object.keys(labels);
  const place = findLabelToken(tokens, before);
  if (place === undefined) return undefined;
  if (labelOf(place.token, names) !== label)
    return { kind: 'unusable', reason: 'its probabilities are those of another answer' };
  const isListed = place.top.some(({ token }) => token === place.token);
  const listed = (isListed ? place.top : [place, ...place.top]).map(({ token, logprob }) => ({
    name: labelOf(token, names),
    chance: Math.min(1, Math.exp(logprob)),
  }));
  const sum = (some: typeof listed): number => some.reduce((all, { chance }) => all + chance, 0);
  if (sum(listed.filter(({ name }) => name !== undefined)) < LEAST_MASS)
    return { kind: 'unusable', reason: 'its labels have little of the probability' };
  const unnamed = Math.max(0, Math.min(1 - sum(listed), ...listed.map(({ chance }) => chance)));
  let all = 0;
  let harm = 0;
  for (const [name, weight] of Object.entries(labels)) {
    const found = listed.filter((one) => one.name === name);
    const chance = found.length > 0 || weight === 0 ? sum(found) : unnamed;
    all += chance;
    harm += weight * chance;
  }
  return { kind: 'harm', harm: harm / all };
};
