import * as v from 'valibot';
import { ConfigError, expectedText, nearestName } from '../core/config.ts';
import { Fault } from '../core/fault.ts';
import { notConfiguredText } from '../core/identifier.ts';
import { isRecord, parseJsonValue } from '../core/json.ts';
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
};

/** The alias of a request without a model. OpenAI's API uses the same default. */
export const DEFAULT_ALIAS = 'omni-moderation-latest';

const THINK_RULE = 'expected "low", "medium", "high", true or false';
const NAME_RULE = 'expected the name of a model: 1 to 200 printable ASCII characters without blanks';
const Name = v.pipe(v.string(NAME_RULE), v.trim(), v.regex(/^[\x21-\x7e]{1,200}$/, NAME_RULE));
const ThinkSetting = v.union([v.picklist(['low', 'medium', 'high']), v.boolean()], THINK_RULE);
const AliasEntry = v.object({
  model: Name,
  judge: v.optional(v.picklist(JUDGE_KINDS, `expected one of ${JUDGE_KINDS.join(', ')}`), 'prompt'),
  vision: v.optional(v.union([v.boolean(), v.literal('force')], 'expected true, false or "force"'), false),
  think: v.optional(ThinkSetting),
  guard: v.optional(v.picklist(['text', 'json'], 'expected "text" or "json"')),
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
 * Aliases with a guard face, judged by the model of `moderation-fast`. The second is what a relay platform sends unless it is told
 * otherwise. Platforms that ask for JSON do so where `qwen3guard` is no part of the name.
 */
const GUARD_ALIASES: ReadonlyMap<string, GuardForm> = new Map([
  ['qwen3guard', 'text'],
  ['sileader/qwen3guard:0.6b', 'text'],
  ['guard-json', 'json'],
]);

const toModelAlias = (
  alias: string,
  { model, judge, vision, think, guard = GUARD_ALIASES.get(alias) }: Entry,
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
  };
};

const problem = (where: string, rule: string): string => `MODERATION_MODELS: ${where}${rule}`;
const ONE_OBJECT = problem(
  '',
  'expected a JSON object, whole and without quotes around it: alias to model name or to {"model", "judge", "vision", "think", "guard"}',
);

const entryProblems = (alias: string, given: unknown, issues: Issues = []): string[] => {
  const wrong = issues.map((issue) =>
    problem(`${[alias, v.getDotPath(issue)].filter((part) => part !== null).join('.')}: `, issue.message),
  );
  const known = Object.keys(AliasEntry.entries);
  const stray = Object.keys(isRecord(given) ? given : {}).filter((name) => !known.includes(name));
  const unknown = stray.map((name) =>
    problem(
      `${alias}: `,
      `unknown name ${JSON.stringify(name)}, the nearest known one is "${nearestName(name, known)}"`,
    ),
  );
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
  return parsed.output;
};

const parseAliasTable = (text: string): Readonly<Record<string, unknown>> => {
  const value = parseJsonValue(text);
  if (!isRecord(value)) throw new ConfigError([ONE_OBJECT]);
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
  return new Map([...entries].map(([alias, entry]) => [alias, toModelAlias(alias, entry)]));
};

/** The alias of a name that a request sends. */
export type FindAlias = (name: string) => ModelAlias;

/** Finds aliases by name. Faults with `model-not-found`, which never quotes one of the `secrets`. */
export const createAliasLookup = (models: ReadonlyMap<string, ModelAlias>, secrets: readonly string[]): FindAlias => {
  const valid = [...models.keys()];
  return (name) => {
    const alias = models.get(name);
    if (alias !== undefined) return alias;
    throw new Fault({ kind: 'model-not-found', message: notConfiguredText('model', name, valid, secrets), valid });
  };
};
