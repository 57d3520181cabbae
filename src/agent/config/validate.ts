import * as v from 'valibot';
import { ConfigError, editDistance, expectedText } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import { findIneffectiveSettings } from './ineffective-settings.ts';
import {
  type ConfigIssue,
  type ConfigPath,
  formatPath,
  isWithin,
  modelNames,
  NAME_LIMIT_CHARS,
  nearestKnownName,
  objectField,
  parseModelRef,
  quoteName,
  toolPrefix,
  unsupportedText,
  variantNames,
} from './names.ts';
import { ConfigFile, type ConfigSettings } from './schema.ts';
import { adapterOf } from './schema-provider.ts';
import { unsupportedReason } from './schema-values.ts';
import { answeringAgentIds, primaryAgentIds } from './types.ts';

/** What valibot does not find by itself. `unsupported` settings have no effect and only warn; the others are errors. */
type SchemaIssue = ConfigIssue & { readonly kind: 'unknown-name' | 'list' | 'unsupported' };

/** The schema behind optional, lazy and variant ones, for this value. */
const resolveSchema = (schema: unknown, value: unknown): Readonly<Record<string, unknown>> => {
  if (!isRecord(schema)) return {};
  if (unsupportedReason(schema) !== undefined) return schema;
  if (isRecord(schema.wrapped)) return resolveSchema(schema.wrapped, value);
  if (typeof schema.getter === 'function') return resolveSchema(schema.getter(value), value);
  if (schema.type !== 'variant' || !Array.isArray(schema.options) || !isRecord(value)) return schema;
  const options: readonly unknown[] = schema.options;
  const chosen = options.find(
    (option) =>
      isRecord(option) &&
      isRecord(option.entries) &&
      isRecord(option.entries.type) &&
      option.entries.type.literal === value.type,
  );
  return resolveSchema(chosen, value);
};

/**
 * Compares a value with its schema: finds names that the schema does not have, unsupported settings, and lists in the place
 * of objects, which valibot accepts as objects whose names are numbers.
 */
function* checkNames(anySchema: unknown, value: unknown, path: ConfigPath = []): Generator<SchemaIssue> {
  const schema = resolveSchema(anySchema, value);
  const reason = unsupportedReason(schema);
  if (reason !== undefined) {
    yield { kind: 'unsupported', path, text: unsupportedText(reason) };
    return;
  }
  const entries = isRecord(schema.entries) ? schema.entries : undefined;
  const isTable = entries !== undefined || schema.type === 'record' || schema.type === 'variant';
  if (isTable && Array.isArray(value)) yield { kind: 'list', path, text: 'expected an object' };
  if (!isTable || !isRecord(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    const isKnown = entries !== undefined && Object.hasOwn(entries, name);
    const next = entries === undefined ? schema.value : isKnown ? entries[name] : schema.rest;
    const isMistake = next === undefined ? schema.type === 'object' : !isKnown && isMisspelt(name, entries ?? {});
    if (isMistake) yield { kind: 'unknown-name', path, text: unknownNameText(name, entries ?? {}) };
    else if (next !== undefined) yield* checkNames(next, inner, [...path, name]);
  }
}

type Entries = Readonly<Record<string, unknown>>;

const supportedNames = (entries: Entries): readonly string[] =>
  Object.keys(entries).filter((name) => unsupportedReason(entries[name]) === undefined);

/** Where other names are allowed: whether one differs from a known name by letter case, `_`, `-` or a single letter. */
const isMisspelt = (name: string, entries: Entries): boolean => {
  const plain = (text: string): string => text.slice(0, NAME_LIMIT_CHARS).toLowerCase().replace(/[_-]/g, '');
  return supportedNames(entries).some((known) => editDistance(plain(name), plain(known)) <= 1);
};

/** Suggests the nearest known name, but never an unsupported setting. */
const unknownNameText = (name: string, entries: Entries): string => {
  const known = supportedNames(entries);
  return `unknown name ${quoteName(name)}, the nearest known one is ${quoteName(nearestKnownName(name, known))}`;
};

const nearestText = (name: string, known: readonly string[]): string =>
  known.length === 0 ? '' : `, the nearest one is ${quoteName(nearestKnownName(name, known))}`;

const modelIssues = (value: unknown, path: ConfigPath, names: readonly string[]): readonly ConfigIssue[] =>
  typeof value !== 'string' || names.includes(value)
    ? []
    : [{ path, text: `expected a model that is configured under provider${nearestText(value, names)}` }];

const defaultModelIssues = (file: unknown, names: readonly string[]): readonly ConfigIssue[] => {
  if (Object.keys(objectField(file, 'provider')).length === 0)
    return [{ path: ['provider'], text: 'expected at least one provider with a model' }];
  // A provider without models has its own error.
  if (names.length <= 1 || (isRecord(file) && file.model !== undefined)) return [];
  return [
    { path: ['model'], text: 'expected <provider>/<model key>, because there are several models to choose from' },
  ];
};

/** Of an agent or a command that names a model. */
const variantIssues = (file: unknown, path: ConfigPath, agent: unknown): readonly ConfigIssue[] => {
  if (!isRecord(agent) || typeof agent.model !== 'string' || typeof agent.variant !== 'string') return [];
  const { providerID, modelID } = parseModelRef(agent.model);
  const models = objectField(objectField(objectField(file, 'provider'), providerID), 'models');
  if (!Object.hasOwn(models, modelID)) return [];
  const names = variantNames(models[modelID]);
  if (names.includes(agent.variant)) return [];
  return [{ path: [...path, 'variant'], text: `expected a variant of its model${nearestText(agent.variant, names)}` }];
};

const agentIssues = (file: unknown, names: readonly string[]): readonly ConfigIssue[] => {
  const agents = Object.entries(objectField(file, 'agent')).flatMap(([id, agent]) => [
    ...modelIssues(isRecord(agent) ? agent.model : undefined, ['agent', id, 'model'], names),
    ...variantIssues(file, ['agent', id], agent),
  ]);
  const primary = primaryAgentIds(file);
  const chosen = isRecord(file) ? file.default_agent : undefined;
  const rule = 'that is not disabled, not hidden and no subagent';
  if (primary.length === 0) return [...agents, { path: ['agent'], text: `expected an agent ${rule}` }];
  if (typeof chosen !== 'string' || primary.includes(chosen)) return agents;
  const listed = primary.map(quoteName).join(', ');
  return [...agents, { path: ['default_agent'], text: `expected an agent ${rule}: ${listed}` }];
};

const commandIssues = (file: unknown, names: readonly string[]): readonly ConfigIssue[] => {
  const agents = answeringAgentIds(file);
  return Object.entries(objectField(file, 'command')).flatMap(([name, command]): readonly ConfigIssue[] => {
    if (!isRecord(command)) return [];
    const { agent, model, variant } = command;
    const path = ['command', name];
    const isKnown = typeof agent !== 'string' || agents.includes(agent);
    return [
      ...(isKnown
        ? []
        : [{ path: [...path, 'agent'], text: `expected an agent that is not hidden${nearestText(agent, agents)}` }]),
      ...modelIssues(model, [...path, 'model'], names),
      ...(model === undefined && variant !== undefined
        ? [{ path: [...path, 'variant'], text: 'expected a model beside it, of which it is a variant' }]
        : variantIssues(file, path, command)),
    ];
  });
};

const providerIssues = (file: unknown): readonly ConfigIssue[] =>
  Object.entries(objectField(file, 'provider')).flatMap(([id, provider]) => {
    if (!isRecord(provider)) return [];
    const path = ['provider', id];
    const options = objectField(provider, 'options');
    const npm = adapterOf(id, provider.npm);
    const hasAddress = options.baseURL !== undefined || provider.api !== undefined;
    const isCompatible = npm === '@ai-sdk/openai-compatible';
    return [
      ...(Object.keys(objectField(provider, 'models')).length === 0
        ? [{ path: [...path, 'models'], text: 'expected at least one model, because none is known without it' }]
        : []),
      ...(isCompatible && !hasAddress
        ? [{ path: [...path, 'options', 'baseURL'], text: `expected an address, because ${npm} has none of its own` }]
        : []),
      ...(!isCompatible && !hasAddress && options.apiKey === undefined
        ? [{ path: [...path, 'options', 'apiKey'], text: 'expected a key, such as "{env:NAME_OF_A_VARIABLE}"' }]
        : []),
    ];
  });

/** Whether two servers could list tools with the same name. */
const canShareToolName = (left: string, right: string): boolean =>
  toolPrefix(left).startsWith(toolPrefix(right)) || toolPrefix(right).startsWith(toolPrefix(left));

const mcpIssues = (file: unknown): readonly ConfigIssue[] => {
  const ids = Object.keys(objectField(file, 'mcp'));
  return ids.flatMap((id, index): readonly ConfigIssue[] => {
    const earlier = ids.slice(0, index).find((other) => canShareToolName(id, other));
    if (earlier === undefined) return [];
    const [, longer = ''] = [id, earlier].map(toolPrefix).toSorted((left, right) => left.length - right.length);
    const text = `expected an id that gives no tool a name that ${quoteName(earlier)} could give, such as ${longer}x`;
    return [{ path: ['mcp', id], text }];
  });
};

/** Checks settings that refer to each other. The file may be invalid in other ways, so that one start reports all errors. */
const referenceIssues = (file: unknown): readonly ConfigIssue[] => {
  const names = modelNames(file);
  const settings = isRecord(file) ? file : {};
  return [
    ...modelIssues(settings.model, ['model'], names),
    ...modelIssues(settings.small_model, ['small_model'], names),
    ...defaultModelIssues(file, names),
    ...providerIssues(file),
    ...agentIssues(file, names),
    ...commandIssues(file, names),
    ...mcpIssues(file),
  ];
};

const issueText = (issue: v.BaseIssue<unknown>): string => {
  if (issue.received !== 'undefined' && issue.expected === 'Object') return 'expected an object';
  if (issue.received !== 'undefined' && issue.expected === 'Array') return 'expected a list';
  return expectedText(issue);
};

const isStep = (step: unknown): step is string | number => typeof step === 'string' || typeof step === 'number';
const issuePath = (issue: v.BaseIssue<unknown>): ConfigPath => (issue.path ?? []).map(({ key }) => key).filter(isStep);

const followsFrom = ({ path }: ConfigIssue, earlier: readonly ConfigIssue[]): boolean =>
  earlier.some((other) => isWithin(path, other.path));

type CheckedSettings = { readonly settings: ConfigSettings; readonly warnings: readonly string[] };

/**
 * Validates the merged sources. Throws a `ConfigError` with all errors, including the `known` ones, but without those that
 * only follow from another. `sourceAt` returns the name of the source of a path.
 */
export const validateConfig = (
  file: unknown,
  known: readonly ConfigIssue[],
  sourceAt: (path: ConfigPath) => string,
): CheckedSettings => {
  const lineOf = ({ path, text }: ConfigIssue): string => `${sourceAt(path)}: ${formatPath(path)}: ${text}`;
  const parsed = v.safeParse(ConfigFile, file, { message: issueText });
  const schemaIssues = [...checkNames(ConfigFile, file)];
  const unknown = schemaIssues.filter(({ kind }) => kind === 'unknown-name');
  const first = [...known, ...schemaIssues.filter(({ kind }) => kind === 'list')];
  const valueIssues = (parsed.issues ?? [])
    .map((issue) => ({ path: issuePath(issue), text: issue.message }))
    .filter((problem) => !followsFrom(problem, first));
  const references = referenceIssues(file).filter((problem) => !followsFrom(problem, [...first, ...valueIssues]));
  const lines = [...first, ...unknown, ...valueIssues, ...references].map(lineOf);
  if (!parsed.success || lines.length > 0) throw new ConfigError([...new Set(lines)]);
  const unsupported = schemaIssues.filter(({ kind }) => kind === 'unsupported');
  return { settings: parsed.output, warnings: [...unsupported, ...findIneffectiveSettings(parsed.output)].map(lineOf) };
};
