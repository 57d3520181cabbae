import * as v from 'valibot';
import { ConfigError, expectedText, nearestName } from '../../core/config.ts';

import { isRecord, parseJsonValue } from '../../core/json.ts';
import { CATEGORIES, CATEGORY_NAMES } from './categories.ts';
import { POLICY_VERSION } from './policy-text.ts';

const DEFAULT_THRESHOLD = 0.5;
const GUIDANCE_LIMIT_CHARS = 500;

/** A category with the score from which it counts as a violation, and the operator's own guidance. */
export type PolicyCategory = (typeof CATEGORIES)[number] & { readonly threshold: number; readonly guidance?: string };

/** What counts as a violation here, in the order of `CATEGORIES`. Clients see `version` in `x-moderation-policy`. */
export type Policy = { readonly version: string; readonly categories: readonly PolicyCategory[] };

/** The policy without a policy file: a threshold of 0.5 in every category, no guidance. */
export const DEFAULT_POLICY: Policy = {
  version: POLICY_VERSION,
  categories: CATEGORIES.map((category) => ({ ...category, threshold: DEFAULT_THRESHOLD })),
};

const versionRule = 'expected 1 to 64 of A-Z a-z 0-9 _ . + -';
const thresholdRule = 'expected a number from 0 to 1';
const guidanceRule = `expected a text of at most ${GUIDANCE_LIMIT_CHARS} characters`;

const Entry = v.object({
  threshold: v.optional(v.pipe(v.number(thresholdRule), v.minValue(0, thresholdRule), v.maxValue(1, thresholdRule))),
  guidance: v.optional(v.pipe(v.string(guidanceRule), v.maxLength(GUIDANCE_LIMIT_CHARS, guidanceRule))),
});
const PolicyFile = v.object({
  version: v.pipe(v.string(versionRule), v.regex(/^[\w.+-]{1,64}$/, versionRule)),
  categories: v.optional(v.record(v.string(), Entry, 'expected an object of categories'), {}),
});

const unknownNames = (value: unknown, known: readonly string[], where: string): string[] => {
  const names = isRecord(value) ? Object.keys(value) : [];
  return names
    .filter((name) => !known.includes(name))
    .map(
      (name) =>
        `${where}: unknown name ${JSON.stringify(name)}, the nearest known one is "${nearestName(name, known)}"`,
    );
};

const unknownNamesIn = (file: Readonly<Record<string, unknown>>): string[] => [
  ...unknownNames(file, ['version', 'categories'], 'top level'),
  ...unknownNames(file.categories, CATEGORY_NAMES, 'categories'),
  ...Object.entries(isRecord(file.categories) ? file.categories : {}).flatMap(([name, entry]) =>
    unknownNames(entry, ['threshold', 'guidance'], `categories.${name}`),
  ),
];

const parsePolicyObject = (text: string): Readonly<Record<string, unknown>> => {
  const value = parseJsonValue(text);
  if (isRecord(value)) return value;
  throw new ConfigError([
    'MODERATION_POLICY_FILE: expected a JSON object, whole and without comments, with "version" and "categories"',
  ]);
};

/** Merges a policy file over the default policy. Throws one `ConfigError` with every problem and the nearest known names. */
export const parsePolicy = (text: string): Policy => {
  const file = parsePolicyObject(text);
  const unknown = unknownNamesIn(file);
  const parsed = v.safeParse(PolicyFile, file, { message: expectedText });
  const wrong = (parsed.issues ?? []).map((issue) => `${v.getDotPath(issue) ?? 'top level'}: ${issue.message}`);
  const problems = [...unknown, ...wrong].map((problem) => `MODERATION_POLICY_FILE: ${problem}`);
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  const { version, categories } = parsed.output;
  return {
    version,
    categories: DEFAULT_POLICY.categories.map((ours) => {
      const { threshold = ours.threshold, guidance } = categories[ours.name] ?? {};
      return { ...ours, threshold, ...(guidance === undefined ? {} : { guidance }) };
    }),
  };
};
