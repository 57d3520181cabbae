import { CATEGORIES } from './categories.ts';
import { GUARD_CATEGORIES } from './guard-categories.ts';
import { CODING_AGENT_GUIDANCE, DEFINITIONS, POLICY_VERSION } from './policy-text.ts';

/** A category of a policy: one of the 13, one of guard models, or an operator's own. */
export type PolicyCategory = {
  readonly name: string;
  /** Its short name in prompts and verdicts. */
  readonly code: string;
  /** What falls under it, as the judge reads it. */
  readonly definition: string;
  /** The score from which it counts as a violation. */
  readonly threshold: number;
  /** The score from which the guard face calls it controversial. */
  readonly controversial: number;
  /** The operator's own words about it. They follow the definition. */
  readonly guidance?: string;
};

/** What counts as a violation. Clients see `version` in `x-moderation-policy`. */
export type Policy = {
  readonly version: string;
  /** Rules for all categories. They follow ours for borderline cases. */
  readonly guidance?: string;
  /** Those of OpenAI's API in the order of `CATEGORIES`, then the operator's own. */
  readonly categories: readonly PolicyCategory[];
  /** Those that only the guard face has, in the order of `GUARD_CATEGORIES`. */
  readonly guard: readonly PolicyCategory[];
};

/** The threshold of every category that a policy does not set. */
export const DEFAULT_THRESHOLD = 0.5;

/** The score from which a category is controversial where a policy does not say: half its threshold, as the judge's scale has it. */
export const defaultControversial = (threshold: number): number => threshold / 2;

const DEFAULT_BAND = { threshold: DEFAULT_THRESHOLD, controversial: defaultControversial(DEFAULT_THRESHOLD) };

/** The policy without a policy file: a threshold of 0.5 in every category, no guidance. */
export const DEFAULT_POLICY: Policy = {
  version: POLICY_VERSION,
  categories: CATEGORIES.map(({ name, code }) => ({
    name,
    code,
    definition: DEFINITIONS[code],
    ...DEFAULT_BAND,
  })),
  guard: GUARD_CATEGORIES.map((category) => ({ ...category, ...DEFAULT_BAND })),
};

/** The policies that need no file, by the names that a file calls them by. */
export const BUILT_IN_POLICIES: Readonly<Record<'standard' | 'coding-agent', Policy>> = {
  standard: DEFAULT_POLICY,
  'coding-agent': {
    ...DEFAULT_POLICY,
    version: `coding-agent/${POLICY_VERSION}`,
    guidance: CODING_AGENT_GUIDANCE,
  },
};

/** The operator's own categories of a policy. */
export const ownCategories = ({ categories }: Policy): readonly PolicyCategory[] => categories.slice(CATEGORIES.length);

/** A policy with the categories that only the guard face has, for the judge. */
export const withGuardCategories = (policy: Policy): Policy => ({
  ...policy,
  categories: [...policy.categories, ...policy.guard],
});

/** Which policy a request is judged by. */
export type PolicySelection = {
  /** Every policy that some request is judged by. */
  readonly policies: readonly Policy[];
  /** By the alias that is asked for and the index of the gateway key. */
  readonly select: (alias: string, keyIndex: number) => Policy;
  /** What the shadow judges by, where it has a policy of its own. */
  readonly shadow?: Policy;
};

/** Every policy that something is judged by, for a client or beside it. */
export const everyPolicy = ({ policies, shadow }: PolicySelection): readonly Policy[] =>
  shadow === undefined ? policies : [...policies, shadow];

/** The same policy for every request. */
export const onePolicy = (policy: Policy): PolicySelection => ({ policies: [policy], select: () => policy });

/** Makes something for each policy by which requests are judged, and finds it. Throws a `TypeError` for any other policy: a bug. */
export const forEachPolicy = <T>(
  { policies }: PolicySelection,
  make: (policy: Policy) => T,
): ((policy: Policy) => T) => {
  const made = new Map(policies.map((policy) => [policy, { one: make(policy) }]));
  return (policy) => {
    const found = made.get(policy);
    if (found === undefined) throw new TypeError(`Nothing judges by the policy ${policy.version}`);
    return found.one;
  };
};
