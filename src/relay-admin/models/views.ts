import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';
import { redactedLine } from '../../core/text.ts';
import { parseAnswer } from '../relay/response.ts';
import { RelayId } from '../relay/users.ts';

const NAME_LIMIT = 60;
const WORD_LIMIT = 20;
const LIMITS_SHOWN = 5;
const GROUP_IDS_SHOWN = 20;

/** Limits that the relay stores for a family of models under one name. */
const FAMILIES = [
  { scope: 'antigravity:gemini', prefix: 'gemini' },
  { scope: 'claude-fable-5', prefix: 'claude-fable' },
  { scope: 'openai:image_generation', prefix: 'gpt-image' },
] as const;

const Word = v.nullish(v.string(), '');
/** Parts that only some versions send. In another shape they count as absent, so that they make no answer fail. */
const Models = v.fallback(v.nullish(v.array(v.string()), []), []);
const Names = v.fallback(v.nullish(v.record(v.string(), v.unknown()), {}), {});
const Part = <const Entries extends v.ObjectEntries>(entries: Entries) =>
  v.fallback(v.nullish(v.object(entries), null), null);

const AccountRow = v.object({
  id: RelayId,
  name: Word,
  platform: Word,
  status: Word,
  schedulable: v.boolean(),
  credentials: Part({ model_mapping: Names }),
  extra: Part({ model_rate_limits: Names }),
});

const GroupRow = v.object({
  id: RelayId,
  name: Word,
  platform: Word,
  status: Word,
  rpm_limit: v.nullish(v.number(), null),
  rate_multiplier: v.nullish(v.number(), null),
  default_mapped_model: v.fallback(Word, ''),
  model_routing: Names,
  models_list_config: Part({ models: Models }),
  model_allowlist: Part({ enabled: v.fallback(v.boolean(), false), models: Models }),
});

const ChannelRow = v.object({
  id: RelayId,
  name: Word,
  status: Word,
  restrict_models: v.nullish(v.boolean(), false),
  group_ids: v.fallback(v.nullish(v.array(RelayId), []), []),
  model_pricing: v.fallback(v.nullish(v.array(v.object({ models: Models })), []), []),
  model_mapping: v.fallback(v.nullish(v.record(v.string(), Names), {}), {}),
});

/** An account in the result. The fields about a model are null when the call named none. */
export const AccountView = v.strictObject({
  id: v.number(),
  name: v.string(),
  platform: v.string(),
  status: v.string(),
  schedulable: v.boolean(),
  model_mapping: v.pipe(
    v.nullable(v.picklist(['lists_model', 'lists_others', 'none'])),
    v.description('none: no mapping, so any model of the platform'),
  ),
  model_limits: v.pipe(
    v.nullable(v.array(v.strictObject({ scope: v.string(), resets_at: v.nullable(v.string()) }))),
    v.description('automatic limits; one with a time in the past is over'),
  ),
});

export type AccountView = v.InferOutput<typeof AccountView>;

/** Fields of a group that name models. Releases have one of the first two. */
const MODEL_FIELDS = ['models_list_config', 'model_allowlist', 'default_mapped_model', 'model_routing'] as const;

/** A group in the result. */
export const GroupView = v.strictObject({
  id: v.number(),
  name: v.string(),
  platform: v.string(),
  status: v.string(),
  rpm_limit: v.pipe(v.nullable(v.number()), v.description('for each user in it; 0 is no limit')),
  rate_multiplier: v.nullable(v.number()),
  model_in: v.nullable(v.array(v.picklist(MODEL_FIELDS))),
  allows_model: v.pipe(
    v.nullable(v.boolean()),
    v.description('whether its model_allowlist holds the model; null: it has none that is enabled'),
  ),
});

export type GroupView = v.InferOutput<typeof GroupView>;

/** A channel in the result. */
export const ChannelView = v.strictObject({
  id: v.number(),
  name: v.string(),
  status: v.string(),
  restrict_models: v.boolean(),
  lists_model: v.pipe(
    v.nullable(v.boolean()),
    v.description('false with restrict_models: it does not allow the model'),
  ),
  maps_model: v.nullable(v.boolean()),
  group_ids: v.array(v.number()),
});

export type ChannelView = v.InferOutput<typeof ChannelView>;

/** Whether a pattern of the relay matches a model. Ignores case; a star at the end matches any ending. */
export const matchesPattern = (pattern: string, model: string): boolean => {
  const [wanted, name] = [pattern.toLowerCase(), model.toLowerCase()];
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted;
};

const resetTime = (limit: unknown): string | null => {
  const parsed = v.safeParse(v.object({ rate_limit_reset_at: v.string() }), limit);
  return parsed.success ? redactedLine(parsed.output.rate_limit_reset_at, 40) : null;
};

/** The names under which the relay may store a limit of this model. */
const limitScopesFor = (model: string, mapped: unknown): readonly string[] => [
  model.toLowerCase(),
  ...(typeof mapped === 'string' ? [mapped.toLowerCase()] : []),
  ...FAMILIES.filter(({ prefix }) => model.toLowerCase().startsWith(prefix)).map(({ scope }) => scope),
];

const toAccountView = (row: v.InferOutput<typeof AccountRow>, model: string | undefined): AccountView => {
  const shown = {
    id: row.id,
    name: redactedLine(row.name, NAME_LIMIT),
    platform: redactedLine(row.platform, WORD_LIMIT),
    status: redactedLine(row.status, WORD_LIMIT),
    schedulable: row.schedulable,
  };
  if (model === undefined) return { ...shown, model_mapping: null, model_limits: null };
  const mapping = Object.entries(row.credentials?.model_mapping ?? {});
  const entry = mapping.find(([pattern]) => matchesPattern(pattern, model));
  const scopes = limitScopesFor(model, entry?.[1]);
  const limits = Object.entries(row.extra?.model_rate_limits ?? {})
    .filter(([scope]) => scopes.includes(scope.toLowerCase()))
    .slice(0, LIMITS_SHOWN);
  return {
    ...shown,
    model_mapping: mapping.length === 0 ? 'none' : entry === undefined ? 'lists_others' : 'lists_model',
    model_limits: limits.map(([scope, limit]) => ({
      scope: redactedLine(scope, NAME_LIMIT),
      resets_at: resetTime(limit),
    })),
  };
};

const toGroupView = (row: v.InferOutput<typeof GroupRow>, model: string | undefined): GroupView => {
  const places = {
    models_list_config: row.models_list_config?.models ?? [],
    model_allowlist: row.model_allowlist?.models ?? [],
    default_mapped_model: [row.default_mapped_model],
    model_routing: Object.keys(row.model_routing),
  };
  const holds = (patterns: readonly string[]) => patterns.some((pattern) => matchesPattern(pattern, model ?? ''));
  return {
    id: row.id,
    name: redactedLine(row.name, NAME_LIMIT),
    platform: redactedLine(row.platform, WORD_LIMIT),
    status: redactedLine(row.status, WORD_LIMIT),
    rpm_limit: row.rpm_limit,
    rate_multiplier: row.rate_multiplier,
    model_in: model === undefined ? null : MODEL_FIELDS.filter((name) => holds(places[name])),
    allows_model: model === undefined || row.model_allowlist?.enabled !== true ? null : holds(places.model_allowlist),
  };
};

const toChannelView = (row: v.InferOutput<typeof ChannelRow>, model: string | undefined): ChannelView => {
  const listed = row.model_pricing.flatMap(({ models }) => models);
  const mapped = Object.values(row.model_mapping).flatMap((names) => Object.keys(names));
  const holds = (patterns: readonly string[]) =>
    model === undefined ? null : patterns.some((pattern) => matchesPattern(pattern, model));
  return {
    id: row.id,
    name: redactedLine(row.name, NAME_LIMIT),
    status: redactedLine(row.status, WORD_LIMIT),
    restrict_models: row.restrict_models,
    lists_model: holds(listed),
    maps_model: holds(mapped),
    group_ids: row.group_ids.slice(0, GROUP_IDS_SHOWN),
  };
};

/** Views of all accounts. Throws `upstream-contract` when a row is not an account. */
export const toAccountViews = (rows: readonly unknown[], model: string | undefined): readonly AccountView[] =>
  parseAnswer(v.array(AccountRow), rows).map((row) => toAccountView(row, model));

const rankOf = ({ model_limits, model_mapping }: AccountView): number => {
  if (model_limits !== null && model_limits.length > 0) return 0;
  return ['lists_model', 'none', 'lists_others'].indexOf(model_mapping ?? 'none') + 1;
};

/** The most relevant accounts first, because the list may be cut: those with a limit of the model, then those that list it. */
export const sortByRelevance = (accounts: readonly AccountView[]): readonly AccountView[] =>
  accounts.toSorted((left, right) => rankOf(left) - rankOf(right));

/** Views of the groups that name the model or do not allow it, or of all without a model. Throws as `toAccountViews` does. */
export const toGroupViews = (rows: readonly unknown[], model: string | undefined): readonly GroupView[] =>
  parseAnswer(v.array(GroupRow), rows)
    .map((row) => toGroupView(row, model))
    .filter(({ model_in, allows_model }) => model_in === null || model_in.length > 0 || allows_model === false);

/** The setting for models that groups of this release have; null when no row shows one. */
export const findGroupModelSetting = (rows: readonly unknown[]): 'model_allowlist' | 'models_list_config' | null => {
  const has = (name: string): boolean => rows.some((row) => isRecord(row) && Object.hasOwn(row, name));
  if (has('model_allowlist')) return 'model_allowlist';
  return has('models_list_config') ? 'models_list_config' : null;
};

/** Views of the channels that name the model, or that restrict models and so exclude it. Throws as `toAccountViews` does. */
export const toChannelViews = (rows: readonly unknown[], model: string | undefined): readonly ChannelView[] =>
  parseAnswer(v.array(ChannelRow), rows)
    .map((row) => toChannelView(row, model))
    .filter(({ restrict_models, lists_model, maps_model }) => lists_model !== false || maps_model || restrict_models);
