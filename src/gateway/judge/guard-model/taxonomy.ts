import type { JudgeKind } from '../../models.ts';
import type { CategoryName } from '../../policy/categories.ts';
import type { GuardCategoryName } from '../../policy/guard-categories.ts';
import type { Policy } from '../../policy/policy.ts';

type Category = CategoryName | GuardCategoryName;

/** What a guard model can find. */
export type Taxonomy = {
  /** For each of its codes, the categories that are violated where it is found. None: no category of a policy is like it. */
  readonly codes: Readonly<Record<string, readonly Category[]>>;
  /**
   * The categories of which a text is clean where no code of theirs is found. A code that is wider than several categories covers none of
   * them: it cannot say which one is violated, and one that is narrower cannot say that none is.
   */
  readonly covers: readonly Category[];
};

/** A judge that is a guard model, with a form of its own to ask and to answer. */
export type GuardModelKind = Exclude<JudgeKind, 'prompt'>;

/** The taxonomies of guard models, and how their codes map to the categories of a policy. */
export const TAXONOMIES: Readonly<Record<GuardModelKind, Taxonomy>> = {
  // QwenLM/Qwen3Guard, README.md
  qwen3guard: {
    codes: {
      Violent: ['violence'],
      'Non-violent Illegal Acts': ['illicit'],
      'Sexual Content or Sexual Acts': ['sexual'],
      PII: ['personal-data'],
      'Suicide & Self-Harm': ['self-harm'],
      'Unethical Acts': ['harassment', 'hate'],
      'Politically Sensitive Topics': ['politics'],
      'Copyright Violation': ['copyright'],
      Jailbreak: ['jailbreak'],
    },
    covers: ['illicit', 'self-harm', 'sexual', 'violence', 'jailbreak', 'personal-data', 'politics', 'copyright'],
  },
  // meta-llama/PurpleLlama, Llama-Guard3/8B/MODEL_CARD.md and Llama-Guard4/12B/MODEL_CARD.md
  'llama-guard': {
    codes: {
      S1: ['illicit/violent', 'violence'],
      S2: ['illicit'],
      S3: ['illicit', 'sexual'],
      S4: ['sexual/minors', 'sexual'],
      S5: ['harassment'],
      S6: [],
      S7: ['personal-data'],
      S8: ['copyright'],
      S9: ['illicit/violent'],
      S10: ['hate'],
      S11: ['self-harm'],
      S12: ['sexual'],
      S13: ['politics'],
      S14: [],
    },
    covers: [
      'hate',
      'illicit',
      'illicit/violent',
      'self-harm',
      'sexual',
      'sexual/minors',
      'personal-data',
      'copyright',
    ],
  },
  // The model card of ShieldGemma: four guidelines, each asked by itself
  shieldgemma: {
    codes: {
      dangerous: ['illicit/violent'],
      harassment: ['harassment'],
      hate: ['hate'],
      sexual: ['sexual'],
    },
    covers: ['harassment', 'hate', 'sexual'],
  },
  // The documentation of Granite Guardian: criteria, each asked by itself
  'granite-guardian': {
    codes: {
      social_bias: ['hate'],
      jailbreak: ['jailbreak'],
      violence: ['violence'],
      sexual_content: ['sexual'],
      unethical_behavior: ['illicit'],
    },
    covers: ['hate', 'sexual', 'violence', 'jailbreak'],
  },
};

/** For each category of the policy, in its order, whether a judge of this kind covers it. A chat model judges by the policy: all. */
export const coverageOf = (kind: JudgeKind, { categories }: Pick<Policy, 'categories'>): readonly boolean[] => {
  const covers: readonly string[] | undefined = kind === 'prompt' ? undefined : TAXONOMIES[kind].covers;
  return categories.map(({ name }) => covers?.includes(name) ?? true);
};
