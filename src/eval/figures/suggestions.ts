import { EVAL_CATEGORIES, type EvalCategory, labelFor } from '../category.ts';
import { unknownLabel } from '../choice.ts';
import { EvaluationError } from '../errors.ts';
import { hashOf } from '../result.ts';
import { type Observation, samplesOf } from './observation.ts';
import { DEFAULT_TARGET, type Suggestion, suggestThreshold, type Target } from './suggest-threshold.ts';

/** What each category's threshold has to reach. */
export type Targets = { readonly all: Target; readonly byCategory: ReadonlyMap<EvalCategory, Target> };

const RULE =
  'expected precision=0.9, recall=0.9, or one for a category such as self-harm:recall=0.95, with a share above 0 and up to 1';
const WORD = /^(?:(?<name>[^:=]+):)?(?<measure>precision|recall)=(?<share>0?\.\d+|1(?:\.0+)?)$/;

const targetFrom = (measure: string, share: string): Target => {
  const value = Number(share);
  if (!(value > 0)) throw new EvaluationError(`--target: ${RULE}`);
  return { measure: measure === 'recall' ? 'recall' : 'precision', share: value };
};

/** Reads the words of `--target`. Of two for the same the last one counts. */
export const parseTargets = (words: readonly string[]): Targets => {
  let all = DEFAULT_TARGET;
  const byCategory = new Map<EvalCategory, Target>();
  for (const word of words) {
    const { name, measure = '', share = '' } = WORD.exec(word.trim())?.groups ?? {};
    const target = targetFrom(measure, share);
    const label = name === undefined ? undefined : labelFor(name);
    if (name === undefined) all = target;
    else if (label === 'flagged')
      throw new EvaluationError('--target: flagged has no threshold: expected categories, which have one each');
    else if (label === undefined) throw unknownLabel('--target', name);
    else byCategory.set(label, target);
  }
  return { all, byCategory };
};

/** A suggestion for each category that has labels. */
export const suggestThresholds = (
  observations: readonly Observation[],
  { all, byCategory }: Targets,
): readonly Suggestion[] =>
  EVAL_CATEGORIES.flatMap((category) => {
    if (!observations.some(({ known }) => known.has(category))) return [];
    return [suggestThreshold(category, samplesOf(category, observations), byCategory.get(category) ?? all)];
  });

const VERSION_HASH_CHARS = 12;

/** Policies of the gateway name themselves so. */
const CODING_AGENT = /^coding-agent\//;

/**
 * The text of a policy file with the thresholds that were found. The others keep their default, and guidance of the judge's policy is
 * not in it: answers name a policy, but do not show it.
 */
export const policyFileText = async (
  suggestions: readonly Suggestion[],
  { policy, setHash }: { readonly policy: string | null; readonly setHash: string },
): Promise<string> => {
  const categories = Object.fromEntries(
    suggestions.flatMap((suggestion) =>
      suggestion.kind === 'suggested' ? [[suggestion.category, { threshold: suggestion.threshold.value }]] : [],
    ),
  );
  const base = CODING_AGENT.test(policy ?? '') ? { extends: 'coding-agent' } : {};
  // Other thresholds need another version, also over the same set.
  const hash = await hashOf(JSON.stringify([base, categories]), setHash);
  return `${JSON.stringify({ version: `suggested-${hash.slice(0, VERSION_HASH_CHARS)}`, ...base, categories }, null, 2)}\n`;
};
