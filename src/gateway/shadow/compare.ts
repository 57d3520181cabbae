import type { FoundBy } from '../metrics.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';

/** Scores, and the policy that says which of them are violations. */
type Scored = { readonly policy: Pick<Policy, 'categories'>; readonly scores: CategoryScores };

/** A category that both policies have, and what the two judges say. `foundBy`: undefined where neither finds a violation. */
export type ComparedCategory = {
  readonly name: string;
  readonly live: number;
  readonly shadow: number;
  readonly foundBy: FoundBy | undefined;
};

const finder = (isLive: boolean, isShadow: boolean): FoundBy | undefined => {
  if (isLive && isShadow) return 'both';
  if (isLive) return 'live';
  return isShadow ? 'shadow' : undefined;
};

/** Compares two verdicts about one text, in the categories that both policies have, each by the threshold of its own policy. */
export const compareVerdicts = (live: Scored, shadow: Scored): readonly ComparedCategory[] =>
  live.policy.categories.flatMap(({ name, threshold }, index) => {
    const at = shadow.policy.categories.findIndex((category) => category.name === name);
    const other = shadow.policy.categories[at];
    const [liveScore, shadowScore] = [live.scores[index], shadow.scores[at]];
    if (other === undefined || liveScore === undefined || shadowScore === undefined) return [];
    const foundBy = finder(liveScore >= threshold, shadowScore >= other.threshold);
    return [{ name, live: liveScore, shadow: shadowScore, foundBy }];
  });

/** Whether only one of the two finds a violation. */
export const isDisagreement = ({ foundBy }: ComparedCategory): boolean => foundBy === 'live' || foundBy === 'shadow';

/** What is recorded of a disagreement beside the scores. */
type AboutDisagreement = {
  readonly at: string;
  readonly alias: string;
  readonly policy: string;
  readonly shadow_alias: string;
  readonly shadow_policy: string;
  /** In base64url. */
  readonly text_sha256: string;
  readonly chars: number;
  /** Of its base64. */
  readonly image_sha256?: string;
  /** The beginning of the text, where texts are kept. */
  readonly text?: string;
};

/** A disagreement as one line of JSON, without a line break. */
export const disagreementLine = (about: AboutDisagreement, categories: readonly ComparedCategory[]): string =>
  JSON.stringify({
    ...about,
    only_live: categories.filter(({ foundBy }) => foundBy === 'live').map(({ name }) => name),
    only_shadow: categories.filter(({ foundBy }) => foundBy === 'shadow').map(({ name }) => name),
    live: Object.fromEntries(categories.map(({ name, live }) => [name, live])),
    shadow: Object.fromEntries(categories.map(({ name, shadow }) => [name, shadow])),
  });
