import * as v from 'valibot';
import { ConfigError, expectedText, unknownNames } from '../../core/config.ts';
import { notConfiguredText } from '../../core/identifier.ts';
import { isRecord, jsonErrorText, parseJsonValue } from '../../core/json.ts';
import type { ModelAlias } from '../models.ts';

/** Where disagreements are kept, and up to which size. `hasTexts`: with the beginning of each text. */
type ShadowFile = { readonly path: string; readonly limitBytes: number; readonly hasTexts: boolean };

/** What judges a part of the traffic beside the live judge. */
export type ShadowSettings = {
  /** Of all texts, from 0 to 1. */
  readonly share: number;
  /** Undefined: the alias that the request asks for. */
  readonly alias: ModelAlias | undefined;
  /** The name of a policy. Undefined: that of the request. */
  readonly policy: string | undefined;
  /** How many texts may be judged at once, and how many calls made. */
  readonly calls: number;
  readonly file: ShadowFile | undefined;
};

const SHARE_RULE = 'expected a number from 0 to 1';
const CALLS_RULE = 'expected a whole number from 1 to 64';
const BYTES_RULE = 'expected a whole number from 10000 to 1000000000';
const Name = v.pipe(v.string('expected a name'), v.minLength(1, 'expected a name'));
const whole = (least: number, most: number, rule: string) =>
  v.pipe(v.number(rule), v.integer(rule), v.minValue(least, rule), v.maxValue(most, rule));
const Shadow = v.object({
  share: v.pipe(v.number(SHARE_RULE), v.minValue(0, SHARE_RULE), v.maxValue(1, SHARE_RULE)),
  alias: v.optional(Name),
  policy: v.optional(Name),
  calls: v.optional(whole(1, 64, CALLS_RULE), 1),
  file: v.optional(v.pipe(v.string('expected a path'), v.minLength(1, 'expected a path'))),
  file_bytes: v.optional(whole(10_000, 1_000_000_000, BYTES_RULE), 10_000_000),
  texts: v.optional(v.boolean('expected true or false'), false),
});
const OBJECT_RULE = 'expected a JSON object such as {"alias":"moderation-accurate","share":0.05}';

/** Parses `MODERATION_SHADOW`; undefined where it is not set. Throws one `ConfigError` with every problem. */
export const parseShadow = (
  text: string | undefined,
  models: ReadonlyMap<string, ModelAlias> | undefined,
): ShadowSettings | undefined => {
  if (text === undefined || text.trim() === '') return undefined;
  const given = parseJsonValue(text);
  const parsed = v.safeParse(Shadow, isRecord(given) ? given : undefined, { message: expectedText });
  const problems = unknownNames(given, Object.keys(Shadow.entries));
  const wrong = jsonErrorText(text);
  if (!isRecord(given) || wrong !== '') problems.push(`${OBJECT_RULE}${wrong}`);
  else for (const issue of parsed.issues ?? []) problems.push(`${v.getDotPath(issue) ?? ''}: ${issue.message}`);
  if (parsed.success) {
    const { alias, policy, file, texts } = parsed.output;
    if (alias === undefined && policy === undefined)
      problems.push('expected "alias", "policy" or both: without them it would judge as the live judge does');
    // Without a table of aliases its own problems are reported.
    if (alias !== undefined && models?.has(alias) === false)
      problems.push(`alias: ${notConfiguredText('alias', alias, [...models.keys()])}`);
    if (texts && file === undefined) problems.push('texts: expected "file" beside it: texts are kept nowhere else');
  }
  if (!parsed.success || problems.length > 0)
    throw new ConfigError(problems.map((problem) => `MODERATION_SHADOW: ${problem}`));
  const { share, alias, policy, calls, file, file_bytes: limitBytes, texts: hasTexts } = parsed.output;
  return {
    share,
    alias: alias === undefined ? undefined : models?.get(alias),
    policy,
    calls,
    file: file === undefined ? undefined : { path: file, limitBytes, hasTexts },
  };
};
