import { isRecord, parseJsonValue } from '../../core/json.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';
import { POLICY_WORDS } from '../policy/policy-text.ts';

/** A parsed answer of the judge: all scores, or the reason why it is no verdict. */
type ParsedVerdict =
  | { readonly kind: 'verdict'; readonly verdict: CategoryScores }
  | { readonly kind: 'unusable'; readonly reason: string };

const isScore = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 100;

const LEADING_THOUGHT = /^\s*<think>[\s\S]*?<\/think>/;
const CODE_FENCE = /^```(?:json)?[ \t]*\n([\s\S]*?)\n?```$/;
/** The score, in hundredths, from which the word says that there is a violation. */
const HALF = 50;

/** The answer without a leading think block and without a code fence around all of it. Nothing else is tolerated. */
const unwrapAnswer = (content: string): string => {
  const answer = content.replace(LEADING_THOUGHT, '').trim();
  return CODE_FENCE.exec(answer)?.[1]?.trim() ?? answer;
};

const unusable = (reason: string): ParsedVerdict => ({ kind: 'unusable', reason });

/** Counted in the text: JSON.parse silently keeps the last of two equal keys, so a second, milder score could replace the first. */
const countKeys = (json: string): number => json.match(/"\s*:/g)?.length ?? 0;

/**
 * JSON.parse reads `1.0` and `0.99999999999999999` as the integer 1: a certain violation on a scale of 0 to 1 would
 * become a score of 0.01.
 */
const countIntegers = (json: string): number => json.match(/:\s*\d+\s*[,}]/g)?.length ?? 0;

/**
 * Only zeros and ones, with at least one 1: a judge answers yes and no like this, or on a scale of 0 to 1. Read as
 * hundredths, a certain violation would count as clean.
 */
const isOnAnotherScale = (scores: readonly number[]): boolean =>
  scores.includes(1) && scores.every((score) => score <= 1);

/**
 * Creates the parser of a policy's verdicts: one JSON object with exactly the codes of its categories as integers 0..100, the
 * policy's word and the nonce of this call. The word has to agree with the scores: on a scale of 0 to 10 an 8 would be a clean
 * 0.08, but the word says `over`. A missing score is never zero: anything else is unusable, with a reason that quotes nothing.
 */
export const createVerdictParser = ({
  categories,
}: Pick<Policy, 'categories'>): ((content: string, nonce: string) => ParsedVerdict) => {
  const codes = categories.map(({ code }) => code);
  return (content, nonce) => {
    if (content.trim() === '') return unusable('empty answer');
    const json = unwrapAnswer(content);
    const answer = parseJsonValue(json);
    if (!isRecord(answer)) return unusable('not one JSON object');
    const scores = codes.map((code) => answer[code]).filter(isScore);
    if (scores.length !== codes.length) return unusable('a score is missing or is no integer from 0 to 100');
    if (countIntegers(json) !== codes.length) return unusable('a score is not written as an integer');
    if (isOnAnotherScale(scores)) return unusable('the scores are on a scale of 0 to 1');
    if (answer.nonce !== nonce) return unusable('wrong nonce');
    const { word } = answer;
    if (word !== POLICY_WORDS.violation && word !== POLICY_WORDS.clean)
      return unusable("it lacks the policy's word, as if the judge had not been shown the policy");
    if ((word === POLICY_WORDS.violation) !== scores.some((score) => score >= HALF))
      return unusable('its word contradicts its scores');
    // A key for each category, `word` and `nonce`.
    if (countKeys(json) !== codes.length + 2) return unusable('a key too many, or one that stands twice');
    return { kind: 'verdict', verdict: scores.map((score) => score / 100) };
  };
};
