import { CATEGORY_NAMES } from './categories.ts';

/** What a relay platform's prompt audit takes for categories of its own, what it skips, and verdicts. Lower case, words apart by blanks. */
const GUARD_NAMES: readonly string[] = [
  'violent',
  'violence',
  'non violent illegal acts',
  'sexual content or sexual acts',
  'sexual',
  'pii',
  'personal data',
  'personal identifying information',
  'personal identifiable information',
  'suicide self harm',
  'suicide and self harm',
  'unethical acts',
  'unethical',
  'politically sensitive topics',
  'political',
  'politics',
  'copyright violation',
  'copyright',
  'jailbreak',
  'prompt injection',
  'none',
  'n a',
  'safe',
  'controversial',
  'unsafe',
];

/** A name as a relay platform compares it: lower case, `_ & / -` as blanks. */
const comparable = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[_&/ -]+/g, ' ')
    .trim();

/** Names that are easy to tell apart in a comma list, a header and a log. */
const NAME = /^[A-Za-z][A-Za-z0-9 _/-]{0,63}$/;
const NAME_RULE = 'expected a name of 1 to 64 of A-Z a-z 0-9 _ / - and blanks, beginning with a letter';

/** Why an operator's own category cannot have this name among the others; undefined when it can. */
export const ownNameProblem = (name: string, others: readonly string[]): string | undefined => {
  if (!NAME.test(name) || name.endsWith(' ')) return NAME_RULE;
  const same = CATEGORY_NAMES.find((known) => comparable(known) === comparable(name));
  if (same !== undefined)
    return `is OpenAI's category "${same}": set its threshold and guidance under "categories", or take another name`;
  if (GUARD_NAMES.includes(comparable(name)))
    return 'is a name of guard models, which relay platforms read with their own meaning: take another name';
  return others.some((other) => other !== name && comparable(other) === comparable(name))
    ? 'differs from another one only in case or separators: take another name'
    : undefined;
};
