import { ConfigError } from '../../../core/config.ts';
import { notConfiguredText } from '../../../core/identifier.ts';
import { EVERY_CATEGORY, judgesOf, type ModelAlias, takesImages } from '../../models.ts';
import { everyPolicy, type Policy, type PolicyCategory, type PolicySelection } from '../../policy/policy.ts';
import { coverageOf } from '../guard-model/taxonomy.ts';

type CoverageNeeds = {
  readonly models: ReadonlyMap<string, ModelAlias>;
  readonly policies: PolicySelection;
  /** How many gateway keys there are: each may have a policy of its own. */
  readonly keyCount: number;
  /** What judges a part of the traffic too. `alias`: undefined where that is the one that was asked for. */
  readonly shadow?: { readonly alias: ModelAlias | undefined } | undefined;
};

/** The categories that an alias has to judge by a policy: with a guard face also those of guard models. */
const judgedCategories = ({ guard }: ModelAlias, policy: Policy): readonly PolicyCategory[] =>
  guard === undefined ? policy.categories : [...policy.categories, ...policy.guard];

/** The names of those categories that none of the judges covers. */
const uncovered = (judges: readonly ModelAlias[], categories: readonly PolicyCategory[]): readonly string[] => {
  const covers = judges.map(({ judge }) => coverageOf(judge, { categories }));
  return categories.filter((_, index) => !covers.some((one) => one[index] === true)).map(({ name }) => name);
};

const kindsOf = (judges: readonly ModelAlias[]): string => [...new Set(judges.map(({ judge }) => judge))].join(', ');

const coverageProblems = (alias: ModelAlias, policies: readonly Policy[]): string[] => {
  const where = `MODERATION_MODELS: ${alias.alias}`;
  const judges = judgesOf(alias);
  const missingOf = (some: readonly ModelAlias[]): readonly string[] => [
    ...new Set(policies.flatMap((policy) => uncovered(some, judgedCategories(alias, policy)))),
  ];
  const missing = missingOf(judges);
  if (missing.length > 0)
    return [
      `${where}: not covered by ${judges.length === 1 ? 'its judge' : 'any of its judges'} (${kindsOf(judges)}): ${missing.join(', ')}; expected "second", the alias of a judge that covers them, as one with "judge": "prompt" does`,
    ];
  const seeing = judges.filter(({ vision }) => vision !== false);
  const unseen = takesImages(alias) ? missingOf(seeing) : [];
  return unseen.length === 0
    ? []
    : [
        `${where}: in images, not covered by the judges with "vision" (${kindsOf(seeing)}): ${unseen.join(', ')}; expected "vision" at a judge that covers them, or at none`,
      ];
};

/** What a judge is to clear, of categories that no policy has, and of those that it covers anyway. */
const clearsProblems = ({ alias, judge, second }: ModelAlias, categories: readonly PolicyCategory[]): string[] =>
  (second?.clears ?? []).flatMap((name) => {
    const where = `MODERATION_MODELS: ${alias}.clears`;
    const category = categories.find((one) => one.name === name);
    if (category === undefined)
      return [
        `${where}: ${notConfiguredText(
          'category',
          name,
          categories.map((one) => one.name),
        )}`,
      ];
    return coverageOf(judge, { categories: [category] })[0] === true
      ? [`${where}: expected no "${name}": its judge (${judge}) covers it`]
      : [];
  });

/** Bands of doubt for categories that no policy has, and for those in which the judge gives no score that could be doubted. */
const doubtProblems = ({ alias, judge, second }: ModelAlias, categories: readonly PolicyCategory[]): string[] => {
  const names = categories.map(({ name }) => name);
  return [...(second?.doubt.keys() ?? [])].flatMap((name) => {
    if (name === EVERY_CATEGORY) return [];
    const where = `MODERATION_MODELS: ${alias}.doubt`;
    const category = categories.find((one) => one.name === name);
    if (category === undefined) return [`${where}: ${notConfiguredText('category', name, names)}`];
    return coverageOf(judge, { categories: [category] })[0] === true
      ? []
      : [
          `${where}.${name}: expected none: its judge (${judge}) does not cover it, so that the second one is always asked`,
        ];
  });
};

/**
 * Checks at the start that each alias has a judge for every category of each policy that its requests may be judged by, for texts
 * and, where it takes them, for images. Throws one `ConfigError` with every problem: a category that no judge covers would have no score.
 */
export const requireCoverage = ({ models, policies, keyCount, shadow }: CoverageNeeds): void => {
  const keys = Array.from({ length: Math.max(1, keyCount) }, (_, index) => index);
  const all = everyPolicy(policies).flatMap(({ categories, guard }) => [...categories, ...guard]);
  const problems = [...models.values()].flatMap((alias) => {
    const used = [...new Set(keys.map((index) => policies.select(alias.alias, index)))];
    const ofShadow = shadow === undefined || shadow.alias !== undefined ? [] : (policies.shadow ?? []);
    return [
      ...coverageProblems(alias, used.concat(ofShadow)),
      ...doubtProblems(alias, all),
      ...clearsProblems(alias, all),
    ];
  });
  // Beside the guard face it is asked about the categories of guard models.
  const shadowAlias = shadow?.alias && { ...shadow.alias, guard: 'text' as const };
  const shadowPolicies = policies.shadow === undefined ? policies.policies : [policies.shadow];
  if (shadowAlias !== undefined)
    problems.push(
      ...coverageProblems(shadowAlias, shadowPolicies).map((problem) =>
        problem.replace('MODERATION_MODELS: ', 'MODERATION_SHADOW: alias: '),
      ),
    );
  if (problems.length > 0) throw new ConfigError(problems);
};
