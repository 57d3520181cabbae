import { isRecord } from '../../core/json.ts';
import { CATEGORIES, type Scores } from '../policy/categories.ts';

/** A judge's answer, read: whole scores, or the reason why there is no verdict in it. */
export type Verdict =
  | { readonly kind: 'scores'; readonly scores: Scores }
  | { readonly kind: 'unusable'; readonly reason: string };

const isScore = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 100;

const LEADING_THOUGHT = /^\s*<think>[\s\S]*?<\/think>/;
const CODE_FENCE = /^```(?:json)?[ \t]*\n([\s\S]*?)\n?```$/;
const KEYS = CATEGORIES.length + 1;

/** The answer without a leading think block and without a code fence around all of it. Nothing else is forgiven. */
const unwrapped = (content: string): string => {
  const spoken = content.replace(LEADING_THOUGHT, '').trim();
  return CODE_FENCE.exec(spoken)?.[1]?.trim() ?? spoken;
};

const unusable = (reason: string): Verdict => ({ kind: 'unusable', reason });

/** Counted in the text: JSON.parse keeps the last of two equal keys in silence, so a second, milder score could stand for the first. */
const hasOtherKeys = (json: string): boolean => json.match(/"\s*:/g)?.length !== KEYS;

/**
 * JSON.parse makes the integer 1 of `1.0` and of `0.99999999999999999`: a judge's certainty on a scale of 0 to 1 would
 * become a hundredth.
 */
const writesIntegers = (json: string): boolean => json.match(/:\s*\d+\s*[,}]/g)?.length === CATEGORIES.length;

/**
 * Nothing but zeros and ones, and a one among them: that is how a judge answers yes and no, or on a scale of 0 to 1.
 * Read as hundredths, its certainty would be an all-clear.
 */
const isOnAnotherScale = (scores: readonly number[]): boolean =>
  scores.includes(1) && scores.every((score) => score <= 1);

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
};

/**
 * Reads a verdict: one JSON object with exactly the 13 codes as integers 0..100 and the nonce of this very call.
 * A missing score is never zero: whatever does not fit is unusable, with a reason that quotes nothing.
 */
export const verdictFrom = (content: string, nonce: string): Verdict => {
  if (content.trim() === '') return unusable('empty answer');
  const json = unwrapped(content);
  const answer = parsed(json);
  if (!isRecord(answer)) return unusable('not one JSON object');
  const scores = CATEGORIES.map(({ code }) => answer[code]).filter(isScore);
  if (scores.length !== CATEGORIES.length) return unusable('a score is missing or is no integer from 0 to 100');
  if (!writesIntegers(json)) return unusable('a score is not written as an integer');
  if (isOnAnotherScale(scores)) return unusable('the scores are on a scale of 0 to 1');
  if (answer.nonce !== nonce) return unusable('wrong nonce');
  if (hasOtherKeys(json)) return unusable('a key too many, or one that stands twice');
  return { kind: 'scores', scores: scores.map((score) => score / 100) };
};
