import type { AskedJudge, ItemVerdict, ScoreType } from '../judge/types.ts';
import type { ModelAlias } from '../models.ts';
import type { Policy } from '../policy/policy.ts';

const cacheWord = (verdicts: readonly ItemVerdict[]): string => {
  const hits = verdicts.filter(({ isCached }) => isCached).length;
  if (hits === 0) return 'miss';
  return hits === verdicts.length ? 'hit' : 'partial';
};

/** Several words as a header's value, each once and in order. */
export const listed = (words: readonly string[]): string =>
  words.length === 0 ? 'none' : [...new Set(words)].sort().join(', ');

/**
 * Which judges were asked, in order, and about which categories the later ones:
 * `gpt-oss:20b, gpt-oss:120b; for="hate, violence"`. A cached verdict asks no judge.
 */
const askedWords = (asked: readonly AskedJudge[]): string => {
  const byModel = new Map<string, Set<string>>();
  for (const { model, categories = [] } of asked) {
    const names = byModel.get(model) ?? new Set();
    for (const name of categories) names.add(name);
    byModel.set(model, names);
  }
  const words = [...byModel].map(([model, names]) =>
    names.size === 0 ? model : `${model}; for="${[...names].sort().join(', ')}"`,
  );
  return words.length === 0 ? 'none' : words.join(', ');
};

const JUDGED: readonly ScoreType[] = ['judged'];

/** The headers that say how verdicts came about. */
export const verdictHeaders = (
  { model, second }: ModelAlias,
  { version }: Policy,
  verdicts: readonly ItemVerdict[],
) => ({
  'x-moderation-backend-model': model,
  ...(second === undefined ? {} : { 'x-moderation-judges': askedWords(verdicts.flatMap(({ asked }) => asked)) }),
  'x-moderation-score-type': listed(verdicts.flatMap(({ scoreTypes = JUDGED }) => scoreTypes)),
  'x-moderation-policy': version,
  'x-moderation-cache': cacheWord(verdicts),
  'x-moderation-hidden': listed(verdicts.flatMap(({ hidden }) => hidden)),
});
