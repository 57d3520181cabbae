import * as v from 'valibot';
import { ConfigError, expectedText, unknownNames } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import { CATEGORY_NAMES } from './categories.ts';
import { GUARD_CATEGORY_NAMES } from './guard-categories.ts';
import { ownNameProblem } from './own-categories.ts';
import {
  BUILT_IN_POLICIES,
  DEFAULT_POLICY,
  DEFAULT_THRESHOLD,
  defaultControversial,
  type Policy,
  type PolicyCategory,
} from './policy.ts';
import { type PolicySetting, parsePolicyJson } from './policy-json.ts';

const GUIDANCE_LIMIT_CHARS = 500;
const POLICY_GUIDANCE_LIMIT_CHARS = 2000;
const MAX_OWN_CATEGORIES = 20;

const versionRule = 'expected 1 to 64 of A-Z a-z 0-9 _ . + -';
const thresholdRule = 'expected a number from 0 to 1';
const textRule = (limitChars: number) => `expected a text of at most ${limitChars} characters`;
const definitionRule = 'expected what falls under it, in 1 to 500 characters';
const nameRule = 'expected the name of a policy of this file, or one of standard, coding-agent';

const Text = (limitChars: number) =>
  v.pipe(v.string(textRule(limitChars)), v.maxLength(limitChars, textRule(limitChars)));
const Threshold = v.pipe(v.number(thresholdRule), v.minValue(0, thresholdRule), v.maxValue(1, thresholdRule));
const Version = v.pipe(v.string(versionRule), v.regex(/^[\w.+-]{1,64}$/, versionRule));
const CategoryEntry = v.object({
  threshold: v.optional(Threshold),
  controversial: v.optional(Threshold),
  guidance: v.optional(Text(GUIDANCE_LIMIT_CHARS)),
});
const OwnEntry = v.object({
  definition: v.pipe(
    v.string(definitionRule),
    v.trim(),
    v.minLength(1, definitionRule),
    v.maxLength(GUIDANCE_LIMIT_CHARS, definitionRule),
  ),
  threshold: v.optional(Threshold, DEFAULT_THRESHOLD),
  controversial: v.optional(Threshold),
});
const PolicyEntry = v.object({
  extends: v.optional(v.picklist(['standard', 'coding-agent'], 'expected standard or coding-agent'), 'standard'),
  guidance: v.optional(Text(POLICY_GUIDANCE_LIMIT_CHARS)),
  categories: v.optional(v.record(v.string(), CategoryEntry, 'expected an object of categories'), {}),
  own_categories: v.optional(v.record(v.string(), OwnEntry, 'expected an object of categories'), {}),
});
const Names = v.optional(v.record(v.string(), v.string(nameRule), 'expected an object'), {});
const Use = v.object({ default: v.optional(v.string(nameRule), 'standard'), aliases: Names, keys: Names });
const OnePolicyFile = v.object({ version: Version, ...PolicyEntry.entries });
const NamedPoliciesFile = v.object({
  version: Version,
  policies: v.optional(v.record(v.string(), PolicyEntry, 'expected an object of policies'), {}),
  use: v.optional(Use, {}),
});

/** Which policy is used by whom, by names: of aliases, and by the beginning of the SHA-256 of gateway keys. */
export type PolicyUse = v.InferOutput<typeof Use>;

/** A policy file, parsed: every policy that can be used by its name, and who uses which. */
export type PolicyFile = {
  readonly policies: ReadonlyMap<string, Policy>;
  /** The names of those that the file itself defines. */
  readonly defined: readonly string[];
  readonly use: PolicyUse;
  readonly setting: PolicySetting;
};

const strayNames = (value: unknown, known: readonly string[], where: string): string[] =>
  unknownNames(value, known).map((problem) => `${where}: ${problem}`);

const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  isRecord(value) ? Object.entries(value) : [];

/** Names that the parser would leave out in silence. */
const SPECIAL_NAMES: readonly string[] = ['__proto__', 'constructor', 'prototype'];

const TOP = 'top level';

/** A path without a name in `use`, which may be a gateway key that somebody has written there. */
const shownPath = (path: string): string => path.replace(/^(use\.(?:keys|aliases))\..*$/s, '$1');

/** What the parser would take for an object of other names, or leave out: no text would be judged by it. */
const lostProblems = (value: unknown, at: string): string[] => {
  if (Array.isArray(value)) return [`${shownPath(at)}: expected an object, no list`];
  const entries = entriesOf(value);
  const special = entries.some(([name]) => SPECIAL_NAMES.includes(name))
    ? [`${shownPath(at)}: expected no member called __proto__, constructor or prototype`]
    : [];
  const inside = (name: string): string => (at === TOP ? name : `${at}.${name}`);
  return [...special, ...entries.flatMap(([name, entry]) => lostProblems(entry, inside(name)))];
};

const NAMED_CATEGORIES: readonly string[] = [...CATEGORY_NAMES, ...GUARD_CATEGORY_NAMES];

/** A band of the guard face that ends below where it begins. */
const bandProblems = (entry: unknown, where: string): string[] => {
  if (!isRecord(entry) || typeof entry.controversial !== 'number') return [];
  const { threshold = DEFAULT_THRESHOLD, controversial } = entry;
  return typeof threshold === 'number' && controversial > threshold
    ? [`${where}.controversial: expected no more than the threshold, ${threshold}`]
    : [];
};

/** What is wrong with the names and bands in a policy: `at` says where it is. */
const namesInPolicy = (policy: Readonly<Record<string, unknown>>, at: string): string[] => {
  const own = entriesOf(policy.own_categories);
  const tooMany =
    own.length > MAX_OWN_CATEGORIES ? [`${at}own_categories: expected at most ${MAX_OWN_CATEGORIES} of them`] : [];
  return [
    ...strayNames(policy.categories, NAMED_CATEGORIES, `${at}categories`),
    ...entriesOf(policy.categories).flatMap(([name, entry]) => [
      ...strayNames(entry, Object.keys(CategoryEntry.entries), `${at}categories.${name}`),
      ...bandProblems(entry, `${at}categories.${name}`),
    ]),
    ...tooMany,
    ...own.flatMap(([name, entry]) => {
      const where = `${at}own_categories: ${JSON.stringify(name)}`;
      const problem = ownNameProblem(
        name,
        own.map(([other]) => other),
      );
      return [
        ...(problem === undefined ? [] : [`${where} ${problem}`]),
        ...strayNames(entry, Object.keys(OwnEntry.entries), where),
        ...bandProblems(entry, where),
      ];
    }),
  ];
};

const POLICY_NAME = /^[A-Za-z0-9][\w.-]{0,31}$/;

const policyNameProblem = (name: string): string[] => {
  const where = `policies: ${JSON.stringify(name)}`;
  if (Object.hasOwn(BUILT_IN_POLICIES, name))
    return [`${where} is a built-in policy: take another name, and "extends": "${name}"`];
  return POLICY_NAME.test(name) ? [] : [`${where}: expected a name of 1 to 32 of A-Z a-z 0-9 _ . -`];
};

/** Not quoted: a gateway key may stand where only its SHA-256 may, or one level too high. */
const strayUses = (use: unknown): string[] => {
  const known = Object.keys(Use.entries);
  return entriesOf(use).some(([name]) => !known.includes(name))
    ? [`use: expected nothing but ${known.join(', ')}`]
    : [];
};

/** Members of a policy beside named policies: no text would be judged by them. */
const membersOutside = (file: Readonly<Record<string, unknown>>): string[] =>
  Object.keys(PolicyEntry.entries)
    .filter((name) => Object.hasOwn(file, name))
    .map((name) => `top level: with "policies" or "use", put "${name}" inside a policy: policies.<name>.${name}`);

const namesInNamedFile = (file: Readonly<Record<string, unknown>>): string[] => [
  ...strayNames(
    Object.fromEntries(Object.entries(file).filter(([name]) => !Object.hasOwn(PolicyEntry.entries, name))),
    Object.keys(NamedPoliciesFile.entries),
    TOP,
  ),
  ...membersOutside(file),
  ...strayUses(file.use),
  ...entriesOf(file.policies).flatMap(([name, policy]) => [
    ...policyNameProblem(name),
    ...strayNames(policy, Object.keys(PolicyEntry.entries), `policies.${name}`),
    ...(isRecord(policy) ? namesInPolicy(policy, `policies.${name}.`) : []),
  ]),
];

const namesInOnePolicyFile = (file: Readonly<Record<string, unknown>>): string[] => [
  ...strayNames(file, Object.keys(OnePolicyFile.entries), TOP),
  ...namesInPolicy(file, ''),
];

const changed = (ours: PolicyCategory, entry: v.InferOutput<typeof CategoryEntry> = {}): PolicyCategory => {
  const { threshold = ours.threshold, controversial = defaultControversial(threshold), guidance } = entry;
  return { ...ours, threshold, controversial, ...(guidance === undefined ? {} : { guidance }) };
};

const policyFrom = (entry: v.InferOutput<typeof PolicyEntry>, version: string): Policy => {
  const base = BUILT_IN_POLICIES[entry.extends];
  const guidance = [base.guidance, entry.guidance].filter((text) => text !== undefined).join('\n');
  return {
    version,
    ...(guidance === '' ? {} : { guidance }),
    categories: [
      ...DEFAULT_POLICY.categories.map((ours) => changed(ours, entry.categories[ours.name])),
      ...Object.entries(entry.own_categories).map(([name, own], index) => {
        const { definition, threshold, controversial = defaultControversial(threshold) } = own;
        return { name, code: `OWN${index + 1}`, definition, threshold, controversial };
      }),
    ],
    guard: DEFAULT_POLICY.guard.map((ours) => changed(ours, entry.categories[ours.name])),
  };
};

/** What a missing member is to hold, by the name that valibot gives: the schema of a member says nothing where it is missing. */
const REQUIRED: Readonly<Record<string, string>> = { '"version"': versionRule, '"definition"': definitionRule };
const ruleText = (issue: v.BaseIssue<unknown>): string => REQUIRED[issue.expected ?? ''] ?? expectedText(issue);

const parseWith = <Schema extends v.GenericSchema>(
  schema: Schema,
  file: unknown,
  unknown: readonly string[],
  setting: PolicySetting,
): v.InferOutput<Schema> => {
  const parsed = v.safeParse(schema, file, { message: ruleText });
  const wrong = (parsed.issues ?? []).map((issue) => `${shownPath(v.getDotPath(issue) ?? TOP)}: ${issue.message}`);
  const problems = [...unknown, ...lostProblems(file, TOP), ...wrong].map((problem) => `${setting}: ${problem}`);
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  return parsed.output;
};

/**
 * Parses a policy file, or the same text in a variable: one policy that everybody uses, or several with names. What a policy does not set is as in the one that it
 * extends. Throws one `ConfigError` with every problem and the nearest known names; values are not quoted.
 */
export const parsePolicyFile = (text: string, setting: PolicySetting = 'MODERATION_POLICY_FILE'): PolicyFile => {
  const file = parsePolicyJson(text, setting);
  if (!('policies' in file || 'use' in file)) {
    const { version, ...entry } = parseWith(OnePolicyFile, file, namesInOnePolicyFile(file), setting);
    const policies = new Map([['standard', policyFrom(entry, version)]]);
    return { policies, defined: [], use: { default: 'standard', aliases: {}, keys: {} }, setting };
  }
  const { version, policies, use } = parseWith(NamedPoliciesFile, file, namesInNamedFile(file), setting);
  const named = Object.entries(policies).map(
    ([name, entry]) => [name, policyFrom(entry, `${name}/${version}`)] as const,
  );
  const all = new Map([...Object.entries(BUILT_IN_POLICIES), ...named]);
  return { policies: all, defined: Object.keys(policies), use, setting };
};
