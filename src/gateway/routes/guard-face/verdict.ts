import { type CategoryName, type CategoryScores, highestScores } from '../../policy/categories.ts';
import type { GuardCategoryName } from '../../policy/guard-categories.ts';
import type { Policy, PolicyCategory } from '../../policy/policy.ts';

/** How a guard model answers. `categories`: what is unsafe, or controversial if nothing is unsafe. */
export type GuardVerdict = {
  readonly safety: 'Safe' | 'Controversial' | 'Unsafe';
  readonly categories: readonly string[];
};

const SELF_HARM = ['Suicide & Self-Harm'];
const SEXUAL = ['Sexual Content or Sexual Acts'];
const UNETHICAL = ['Unethical Acts'];

/**
 * Qwen3Guard's names of each category. A threat has two: who asks for one of them only must still get it.
 * Source: QwenLM/Qwen3Guard.
 */
const GUARD_NAMES: Readonly<Record<CategoryName | GuardCategoryName, readonly string[]>> = {
  harassment: UNETHICAL,
  'harassment/threatening': ['Violent', ...UNETHICAL],
  hate: UNETHICAL,
  'hate/threatening': ['Violent', ...UNETHICAL],
  illicit: ['Non-violent Illegal Acts'],
  'illicit/violent': ['Violent'],
  'self-harm': SELF_HARM,
  'self-harm/intent': SELF_HARM,
  'self-harm/instructions': SELF_HARM,
  sexual: SEXUAL,
  'sexual/minors': SEXUAL,
  violence: ['Violent'],
  'violence/graphic': ['Violent'],
  jailbreak: ['Jailbreak'],
  'personal-data': ['PII'],
  politics: ['Politically Sensitive Topics'],
  copyright: ['Copyright Violation'],
};

/** A relay platform blocks a Controversial text in these, whatever it is set to: doubt is no reason for that. */
const BLOCKED_IN_DOUBT: ReadonlySet<string> = new Set(['Jailbreak', 'PII', ...SELF_HARM]);

const isKnown = (name: string): name is keyof typeof GUARD_NAMES => Object.hasOwn(GUARD_NAMES, name);
/** An operator's own category has the name that the operator gave it. */
const namesOf = ({ name }: PolicyCategory): readonly string[] => (isKnown(name) ? GUARD_NAMES[name] : [name]);

/**
 * The verdict of a guard on several texts by a policy that has the guard categories, from the scores of each: the worst counts. From
 * its threshold on a category is unsafe, from its lower one on controversial. A missing score counts as 1. Throws without a text.
 */
export const guardVerdict = ({ categories }: Policy, texts: readonly CategoryScores[]): GuardVerdict => {
  const scores = highestScores(texts, categories.length);
  const namesFrom = (least: (category: PolicyCategory) => number): readonly string[] => [
    ...new Set(categories.filter((category, index) => (scores[index] ?? 1) >= least(category)).flatMap(namesOf)),
  ];
  const unsafe = namesFrom(({ threshold }) => threshold);
  if (unsafe.length > 0) return { safety: 'Unsafe', categories: unsafe };
  const doubtful = namesFrom(({ controversial }) => controversial);
  return {
    safety: doubtful.length > 0 ? 'Controversial' : 'Safe',
    categories: doubtful.filter((name) => !BLOCKED_IN_DOUBT.has(name)),
  };
};
