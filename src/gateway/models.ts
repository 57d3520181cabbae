import * as v from 'valibot';
import { ConfigError, expectedText, unknownNames } from '../core/config.ts';
import { Fault } from '../core/fault.ts';
import { notConfiguredText } from '../core/identifier.ts';
import { isRecord, jsonErrorText, parseJsonValue } from '../core/json.ts';
import { isGptOss } from '../llm/model-name.ts';
import type { Think } from '../llm/types.ts';

/** How an alias answers on the guard face: in Qwen3Guard's words, or as JSON. */
export type GuardForm = 'text' | 'json';

/**
 * How a model is asked and its answer read. `prompt`: a chat model, by the policy. The others are guard models, each with a form and a
 * taxonomy of its own.
 */
export const JUDGE_KINDS = ['prompt', 'qwen3guard', 'llama-guard', 'shieldgemma', 'granite-guardian'] as const;
/** One of `JUDGE_KINDS`. */
export type JudgeKind = (typeof JUDGE_KINDS)[number];

/** The scores with which a judge is in doubt: from the first number on, and below the second. */
export type DoubtBand = readonly [from: number, below: number];

/** The name under which a band holds for every category that has none of its own. */
export const EVERY_CATEGORY = 'default';

/** The judge that is asked after another one, and when: the other one's bands of doubt, by category. */
export type SecondJudge = {
  readonly alias: ModelAlias;
  readonly doubt: ReadonlyMap<string, DoubtBand>;
  /** Categories that the first judge does not cover, and of which a text counts as clean where it finds nothing at all. */
  readonly clears: readonly string[];
};

/** A model name that clients send, and the chat model that judges for it. */
export type ModelAlias = {
  readonly alias: string;
  readonly model: string;
  readonly judge: JudgeKind;
  /** Whether images are sent. `force`: also to a model that may not see them. */
  readonly vision: boolean | 'force';
  readonly think?: Think;
  /** Undefined where it has no guard face. */
  readonly guard?: GuardForm;
  /** Asked about what this judge does not cover, and where it is in doubt. It may have a second judge of its own. */
  readonly second?: SecondJudge;
};

/** An alias, its second judge, the second judge of that, and so on. There is no circle. */
export const judgesOf = (alias: ModelAlias): readonly ModelAlias[] =>
  alias.second === undefined ? [alias] : [alias, ...judgesOf(alias.second.alias)];

/** Whether one of an alias's judges is sent images. */
export const takesImages = (alias: ModelAlias): boolean => judgesOf(alias).some(({ vision }) => vision !== false);

/** The alias of a request without a model. OpenAI's API uses the same default. */
export const DEFAULT_ALIAS = 'omni-moderation-latest';

const THINK_RULE = 'expected "low", "medium", "high", true or false';
const NAME_RULE = 'expected the name of a model: 1 to 200 printable ASCII characters without blanks';
const Name = v.pipe(v.string(NAME_RULE), v.trim(), v.regex(/^[\x21-\x7e]{1,200}$/, NAME_RULE));
const ThinkSetting = v.union([v.picklist(['low', 'medium', 'high']), v.boolean()], THINK_RULE);
const BAND_RULE = 'expected two numbers from 0 to 1, the smaller one first';
const Score = v.pipe(v.number(BAND_RULE), v.minValue(0, BAND_RULE), v.maxValue(1, BAND_RULE));
const Band = v.pipe(
  v.strictTuple([Score, Score], BAND_RULE),
  v.check(([from, below]) => from < below, BAND_RULE),
  v.readonly(),
);
const AliasEntry = v.object({
  model: Name,
  judge: v.optional(v.picklist(JUDGE_KINDS, `expected one of ${JUDGE_KINDS.join(', ')}`), 'prompt'),
  vision: v.optional(v.union([v.boolean(), v.literal('force')], 'expected true, false or "force"'), false),
  think: v.optional(ThinkSetting),
  guard: v.optional(v.picklist(['text', 'json'], 'expected "text" or "json"')),
  second: v.optional(v.string('expected the alias of a second judge')),
  clears: v.optional(v.array(v.string('expected categories'), 'expected a list of categories')),
  doubt: v.optional(v.record(v.string(), Band, 'expected an object: category, or "default", to two numbers')),
});
const ALIAS = /^[\w.:/-]{1,100}$/;
const ALIAS_RULE = 'expected aliases of 1 to 100 of A-Z a-z 0-9 . _ : / -';

type Entry = v.InferOutput<typeof AliasEntry>;
type Issues = readonly v.InferIssue<typeof AliasEntry>[];

const DEFAULTS: Readonly<Record<string, Entry>> = {
  'moderation-fast': { model: 'gpt-oss:20b', judge: 'prompt', vision: false },
  'moderation-standard': { model: 'gemma4:31b', judge: 'prompt', vision: false },
  'moderation-accurate': { model: 'gpt-oss:120b', judge: 'prompt', vision: false },
};

/**
 * Aliases with a guard face, judged by the model of `moderation-fast`. The second is what a relay platform sends unless it is set to
 * another. Platforms that ask for JSON do so where `qwen3guard` is no part of the name.
 */
const GUARD_ALIASES: ReadonlyMap<string, GuardForm> = new Map([
  ['qwen3guard', 'text'],
  ['sileader/qwen3guard:0.6b', 'text'],
  ['guard-json', 'json'],
]);

const toModelAlias = (
  alias: string,
  { model, judge, vision, think, guard = GUARD_ALIASES.get(alias), doubt = {}, clears = [] }: Entry,
  second: ModelAlias | undefined,
): ModelAlias => {
  // gpt-oss always thinks; sent `false`, a local server answers nothing at all.
  const level = think ?? (isGptOss(model) ? 'low' : undefined);
  return {
    alias,
    model,
    judge,
    vision,
    ...(level === undefined ? {} : { think: level }),
    ...(guard === undefined ? {} : { guard }),
    ...(second === undefined ? {} : { second: { alias: second, doubt: new Map(Object.entries(doubt)), clears } }),
  };
};

const problem = (where: string, rule: string): string => `MODERATION_MODELS: ${where}${rule}`;
const ONE_OBJECT = problem(
  '',
  'expected a JSON object, whole and without quotes around it: alias to model name or to {"model", "judge", "vision", "think", "guard", "second", "doubt", "clears"}',
);

const entryProblems = (alias: string, given: unknown, issues: Issues = []): string[] => {
  const wrong = issues.map((issue) =>
    problem(`${[alias, v.getDotPath(issue)].filter((part) => part !== null).join('.')}: `, issue.message),
  );
  const unknown = unknownNames(given, Object.keys(AliasEntry.entries)).map((name) => problem(`${alias}: `, name));
  return [...wrong, ...unknown];
};

const parseEntry = (alias: string, value: unknown, problems: string[]): Entry | undefined => {
  const given = typeof value === 'string' ? { model: value } : value;
  const parsed = v.safeParse(AliasEntry, given, { message: expectedText });
  problems.push(...entryProblems(alias, given, parsed.issues));
  if (!parsed.success) return undefined;
  if (isGptOss(parsed.output.model) && typeof parsed.output.think === 'boolean') {
    problems.push(problem(`${alias}.think: `, 'gpt-oss always thinks, expected "low", "medium" or "high"'));
  }
  if (parsed.output.judge !== 'prompt' && parsed.output.think !== undefined)
    problems.push(problem(`${alias}.think: `, 'expected none: guard models are asked without thinking'));
  if (!['prompt', 'llama-guard'].includes(parsed.output.judge) && parsed.output.vision !== false)
    problems.push(problem(`${alias}.vision: `, 'expected none: of guard models only Llama Guard sees images'));
  for (const name of ['doubt', 'clears'] as const)
    if (parsed.output[name] !== undefined && parsed.output.second === undefined)
      problems.push(problem(`${alias}.${name}: `, 'expected none without "second", the alias of the judge to ask'));
  return parsed.output;
};

/** The aliases from one to its second judge and on, until one has none or stands there already. */
const pathFrom = (alias: string, entries: ReadonlyMap<string, Entry>): readonly string[] => {
  const path = [alias];
  for (;;) {
    const next = entries.get(path.at(-1) ?? '')?.second;
    if (next === undefined) return path;
    const isCircle = path.includes(next);
    path.push(next);
    if (isCircle) return path;
  }
};

/** Second judges that no alias has, and circles: each is reported once, at the first of its aliases. */
const secondProblems = (entries: ReadonlyMap<string, Entry>): string[] => {
  const order = [...entries.keys()];
  return [...entries].flatMap(([alias, { second }]) => {
    if (second === undefined) return [];
    if (!entries.has(second)) return [problem(`${alias}.second: `, notConfiguredText('alias', second, order))];
    const path = pathFrom(alias, entries);
    const isFirst = path.every((other) => order.indexOf(other) >= order.indexOf(alias));
    return path.length > 1 && path.at(-1) === alias && isFirst
      ? [problem(`${alias}.second: `, `a circle: ${path.join(' > ')}; expected a last judge without a second one`)]
      : [];
  });
};

const parseAliasTable = (text: string): Readonly<Record<string, unknown>> => {
  const value = parseJsonValue(text);
  // A parser would keep the last of two aliases of one name in silence.
  const wrong = jsonErrorText(text);
  if (!isRecord(value) || wrong !== '') throw new ConfigError([`${ONE_OBJECT}${wrong}`]);
  if (!Object.keys(value).every((alias) => ALIAS.test(alias))) throw new ConfigError([problem('', ALIAS_RULE)]);
  return value;
};

/** Merges `MODERATION_MODELS` over the default aliases. Throws one `ConfigError` with every problem. */
export const parseModelAliases = (text: string | undefined): ReadonlyMap<string, ModelAlias> => {
  const problems: string[] = [];
  const entries = new Map(Object.entries(DEFAULTS));
  for (const [alias, value] of Object.entries(text === undefined ? {} : parseAliasTable(text))) {
    const entry = parseEntry(alias, value, problems);
    if (entry !== undefined) entries.set(alias, entry);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const fast = entries.get('moderation-fast');
  for (const alias of [DEFAULT_ALIAS, ...GUARD_ALIASES.keys()])
    if (fast !== undefined && !entries.has(alias)) entries.set(alias, { ...fast, guard: undefined });
  const wrong = secondProblems(entries);
  if (wrong.length > 0) throw new ConfigError(wrong);
  const build = (alias: string, entry: Entry): ModelAlias => {
    const second = entry.second === undefined ? undefined : entries.get(entry.second);
    return toModelAlias(alias, entry, second && build(entry.second ?? alias, second));
  };
  return new Map([...entries].map(([alias, entry]) => [alias, build(alias, entry)]));
};

/** The alias of a name that a request sends. `note`: what an error about an unknown name says beside that. */
export type FindAlias = (name: string, note?: string) => ModelAlias;

/** Finds aliases by name. Faults with `model-not-found`, which never quotes one of the `secrets`. */
export const createAliasLookup = (models: ReadonlyMap<string, ModelAlias>, secrets: readonly string[]): FindAlias => {
  const valid = [...models.keys()];
  return (name, note) => {
    const alias = models.get(name);
    if (alias !== undefined) return alias;
    const problem = notConfiguredText('model', name, valid, secrets);
    throw new Fault({ kind: 'model-not-found', message: note === undefined ? problem : `${problem}. ${note}`, valid });
  };
};
