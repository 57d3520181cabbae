import { isRecord, parseJsonValue } from '../../core/json.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';
import { createVerdictParser, unwrapAnswer } from './verdict.ts';

/** A parsed answer to a batch: the scores of every text, in order, or the reason why it holds no verdict at all. */
type ParsedBatch =
  | { readonly kind: 'scores'; readonly scores: readonly CategoryScores[] }
  | { readonly kind: 'unusable'; readonly reason: string };

const unusable = (reason: string): ParsedBatch => ({ kind: 'unusable', reason });

const countMatches = (json: string, pattern: RegExp): number => json.match(pattern)?.length ?? 0;

/** An entry as the answer to a single text has it. Numbers were written as integers: the whole answer was counted. */
const asSingleVerdict = (entry: unknown): string => {
  if (!isRecord(entry)) return JSON.stringify(entry ?? null);
  const { nonce, ...scoresAndWord } = entry;
  return JSON.stringify({ ...scoresAndWord, nonce });
};

/** Parses the answer to a batch whose texts have these nonces. */
export type ParseBatch = (content: string, nonces: readonly string[]) => ParsedBatch;

/**
 * Creates the parser of answers to a batch: one JSON object whose `verdicts` are whole verdicts, one for each nonce and in their
 * order. Anything else makes all of it unusable: where one entry is missing, misplaced or contradicts itself, no other one is
 * known to be about its text. Reasons quote nothing.
 */
export const createBatchParser = (policy: Pick<Policy, 'categories'>): ParseBatch => {
  const { parse } = createVerdictParser(policy);
  const count = policy.categories.length;
  return (content, nonces) => {
    if (content.trim() === '') return unusable('empty answer');
    const json = unwrapAnswer(content);
    const answer = parseJsonValue(json);
    if (!isRecord(answer) || !Array.isArray(answer.verdicts))
      return unusable('not one JSON object with a list of verdicts');
    const entries: readonly unknown[] = answer.verdicts;
    if (entries.length !== nonces.length) return unusable(`${entries.length} verdicts for ${nonces.length} texts`);
    // Counted in the text, as in a single verdict: parsing hides keys that stand twice and fractions such as 1.0.
    // Keys of one entry: a key for each category, `word` and `nonce`.
    if (countMatches(json, /"\s*:/g) !== nonces.length * (count + 2) + 1)
      return unusable('a key too many or too few, or one that stands twice');
    if (countMatches(json, /:\s*\d+\s*[,}]/g) !== nonces.length * count)
      return unusable('a score is missing or is not written as an integer');
    const scores: CategoryScores[] = [];
    for (const [index, nonce] of nonces.entries()) {
      const verdict = parse(asSingleVerdict(entries[index]), nonce);
      if (verdict.kind === 'unusable') return unusable(`text ${index + 1}: ${verdict.reason}`);
      scores.push(verdict.scores);
    }
    return { kind: 'scores', scores };
  };
};
