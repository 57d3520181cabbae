import * as v from 'valibot';
import { ConfigError } from '../core/config.ts';
import { nearestName } from '../core/nearest.ts';
import type { Think } from '../llm/dialect.ts';
import { isGptOss } from '../llm/model-name.ts';

/** A name that clients send, and the chat model that judges for it. */
export type ModelAlias = {
  readonly alias: string;
  readonly model: string;
  readonly vision: boolean;
  readonly think?: Think;
};

/** Used when a request names no model, as OpenAI's own API does. */
export const DEFAULT_ALIAS = 'omni-moderation-latest';

const THINK_RULE = 'expected "low", "medium", "high", true or false';
const NAME_RULE = 'expected the name of a model';
const Name = v.pipe(v.string(NAME_RULE), v.trim(), v.minLength(1, NAME_RULE), v.maxLength(200, NAME_RULE));
const ThinkSetting = v.union([v.picklist(['low', 'medium', 'high']), v.boolean()], THINK_RULE);
const AliasEntry = v.object({
  model: Name,
  vision: v.optional(v.boolean('expected true or false'), false),
  think: v.optional(ThinkSetting),
});
const ALIAS_RULE = 'expected 1 to 100 of A-Z a-z 0-9 . _ : / -';
const AliasName = v.pipe(v.string(), v.regex(/^[\w.:/-]{1,100}$/, ALIAS_RULE));
const AliasTable = v.record(AliasName, v.unknown(), 'expected a JSON object of aliases');

type Entry = v.InferOutput<typeof AliasEntry>;

const DEFAULTS: Readonly<Record<string, Entry>> = {
  'moderation-fast': { model: 'gpt-oss:20b', vision: false },
  'moderation-standard': { model: 'gemma4:31b', vision: false },
  'moderation-accurate': { model: 'gpt-oss:120b', vision: false },
};

const aliasOf = (alias: string, { model, vision, think }: Entry): ModelAlias => {
  // gpt-oss always thinks; sent `false`, a local server answers nothing at all.
  const level = think ?? (isGptOss(model) ? 'low' : undefined);
  return { alias, model, vision, ...(level === undefined ? {} : { think: level }) };
};

const problem = (where: string, rule: string): ConfigError => new ConfigError([`MODERATION_MODELS: ${where}${rule}`]);

const entryOf = (alias: string, value: unknown): Entry => {
  const given = typeof value === 'string' ? { model: value } : value;
  const parsed = v.safeParse(AliasEntry, given);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw problem(`${[alias, v.getDotPath(issue)].filter((part) => part !== null).join('.')}: `, issue.message);
  }
  const known = Object.keys(AliasEntry.entries);
  const stray = Object.keys(Object(given)).find((name) => !known.includes(name));
  if (stray !== undefined) {
    throw problem(
      `${alias}: `,
      `unknown name ${JSON.stringify(stray)}, the nearest known one is "${nearestName(stray, known)}"`,
    );
  }
  if (isGptOss(parsed.output.model) && typeof parsed.output.think === 'boolean') {
    throw problem(`${alias}.think: `, 'gpt-oss always thinks, expected "low", "medium" or "high"');
  }
  return parsed.output;
};

const tableFrom = (text: string): Readonly<Record<string, unknown>> => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw problem('', 'expected a JSON object, alias to model name or to {"model", "vision", "think"}');
  }
  const parsed = v.safeParse(AliasTable, value);
  if (!parsed.success) throw problem('', parsed.issues[0].message);
  return parsed.output;
};

/** The aliases in force: `MODERATION_MODELS` merged over the defaults. Throws a `ConfigError` that names what is wrong. */
export const modelAliases = (text: string | undefined): ReadonlyMap<string, ModelAlias> => {
  const given = Object.entries(text === undefined ? {} : tableFrom(text)).map(
    ([alias, value]) => [alias, entryOf(alias, value)] as const,
  );
  const entries = new Map([...Object.entries(DEFAULTS), ...given]);
  const fast = entries.get('moderation-fast');
  if (fast !== undefined && !entries.has(DEFAULT_ALIAS)) entries.set(DEFAULT_ALIAS, fast);
  return new Map([...entries].map(([alias, entry]) => [alias, aliasOf(alias, entry)]));
};
