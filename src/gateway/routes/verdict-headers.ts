import type { ItemVerdict } from '../judge/moderate.ts';
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

/** The headers that say how verdicts came about. */
export const verdictHeaders = ({ model }: ModelAlias, { version }: Policy, verdicts: readonly ItemVerdict[]) => ({
  'x-moderation-backend-model': model,
  'x-moderation-policy': version,
  'x-moderation-cache': cacheWord(verdicts),
  'x-moderation-hidden': listed(verdicts.flatMap(({ hidden }) => hidden)),
});
