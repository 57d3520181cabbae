import * as v from 'valibot';
import { ConfigError, expectedText } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import {
  type ConfigPath,
  type ConfigProblem,
  isWithin,
  meantName,
  modelNames,
  modelRef,
  pathText,
  quoted,
  tableIn,
  variantNames,
  withoutEffect,
} from './names.ts';
import { ConfigFile, type ConfigSettings } from './schema.ts';
import { adapterOf } from './schema-provider.ts';
import { inertBecause } from './schema-values.ts';
import { primaryAgentIds } from './types.ts';
import { idleSettings } from './warnings.ts';

/** What a schema does not say of a value by itself: `inert` settings have no effect here, the rest are problems. */
export type Unfit = ConfigProblem & { readonly kind: 'unknown-name' | 'list' | 'inert' };

/** The schema that stands behind those that only lead to it. */
const schemaFor = (schema: unknown, value: unknown): Readonly<Record<string, unknown>> => {
  if (!isRecord(schema)) return {};
  if (inertBecause(schema) !== undefined) return schema;
  if (isRecord(schema.wrapped)) return schemaFor(schema.wrapped, value);
  if (typeof schema.getter === 'function') return schemaFor(schema.getter(value), value);
  if (schema.type !== 'variant' || !Array.isArray(schema.options) || !isRecord(value)) return schema;
  const options: readonly unknown[] = schema.options;
  const chosen = options.find(
    (option) =>
      isRecord(option) &&
      isRecord(option.entries) &&
      isRecord(option.entries.type) &&
      option.entries.type.literal === value.type,
  );
  return schemaFor(chosen, value);
};

/**
 * Goes through a value along its schema: names that the schema does not have, settings without effect, and lists where
 * objects belong, which valibot takes for objects whose names are numbers.
 */
export function* unfitNames(anySchema: unknown, value: unknown, path: ConfigPath = []): Generator<Unfit> {
  const schema = schemaFor(anySchema, value);
  const why = inertBecause(schema);
  if (why !== undefined) {
    yield { kind: 'inert', path, text: withoutEffect(why) };
    return;
  }
  const entries = isRecord(schema.entries) ? schema.entries : undefined;
  const isTable = entries !== undefined || schema.type === 'record' || schema.type === 'variant';
  if (isTable && Array.isArray(value)) yield { kind: 'list', path, text: 'expected an object' };
  if (!isTable || !isRecord(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    const next = entries === undefined ? schema.value : Object.hasOwn(entries, name) ? entries[name] : schema.rest;
    if (next !== undefined) yield* unfitNames(next, inner, [...path, name]);
    else if (schema.type === 'object') yield { kind: 'unknown-name', path, text: unknownName(name, entries ?? {}) };
  }
}

/** A setting without effect is never what was meant. */
const unknownName = (name: string, entries: Readonly<Record<string, unknown>>): string => {
  const known = Object.keys(entries).filter((other) => inertBecause(entries[other]) === undefined);
  return `unknown name ${quoted(name)}, the nearest known one is ${quoted(meantName(name, known))}`;
};

const nearest = (name: string, known: readonly string[]): string =>
  known.length === 0 ? '' : `, the nearest one is ${quoted(meantName(name, known))}`;

const modelProblems = (value: unknown, path: ConfigPath, names: readonly string[]): readonly ConfigProblem[] =>
  typeof value !== 'string' || names.includes(value)
    ? []
    : [{ path, text: `expected a model that is configured under provider${nearest(value, names)}` }];

const defaultModelProblems = (file: unknown, names: readonly string[]): readonly ConfigProblem[] => {
  if (Object.keys(tableIn(file, 'provider')).length === 0)
    return [{ path: ['provider'], text: 'expected at least one provider with a model' }];
  // A provider without models is told of by itself.
  if (names.length <= 1 || (isRecord(file) && file.model !== undefined)) return [];
  return [
    { path: ['model'], text: 'expected <provider>/<model key>, because there are several models to choose from' },
  ];
};

const variantProblems = (file: unknown, id: string, agent: unknown): readonly ConfigProblem[] => {
  if (!isRecord(agent) || typeof agent.model !== 'string' || typeof agent.variant !== 'string') return [];
  const { providerID, modelID } = modelRef(agent.model);
  const models = tableIn(tableIn(tableIn(file, 'provider'), providerID), 'models');
  if (!Object.hasOwn(models, modelID)) return [];
  const names = variantNames(models[modelID]);
  if (names.includes(agent.variant)) return [];
  return [{ path: ['agent', id, 'variant'], text: `expected a variant of its model${nearest(agent.variant, names)}` }];
};

const agentProblems = (file: unknown, names: readonly string[]): readonly ConfigProblem[] => {
  const agents = Object.entries(tableIn(file, 'agent')).flatMap(([id, agent]) => [
    ...modelProblems(isRecord(agent) ? agent.model : undefined, ['agent', id, 'model'], names),
    ...variantProblems(file, id, agent),
  ]);
  const primary = primaryAgentIds(file);
  const chosen = isRecord(file) ? file.default_agent : undefined;
  const rule = 'that is not disabled, not hidden and no subagent';
  if (primary.length === 0) return [...agents, { path: ['agent'], text: `expected an agent ${rule}` }];
  if (typeof chosen !== 'string' || primary.includes(chosen)) return agents;
  const listed = primary.map(quoted).join(', ');
  return [...agents, { path: ['default_agent'], text: `expected an agent ${rule}: ${listed}` }];
};

const providerProblems = (file: unknown): readonly ConfigProblem[] =>
  Object.entries(tableIn(file, 'provider')).flatMap(([id, provider]) => {
    if (!isRecord(provider)) return [];
    const path = ['provider', id];
    const options = tableIn(provider, 'options');
    const npm = adapterOf(id, provider.npm);
    const hasAddress = options.baseURL !== undefined || provider.api !== undefined;
    const isCompatible = npm === '@ai-sdk/openai-compatible';
    return [
      ...(Object.keys(tableIn(provider, 'models')).length === 0
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

/** The beginning of the names of a server's tools, in which all but letters, digits, `_` and `-` look the same. */
const toolPrefix = (id: string): string => `${id.replace(/[^\w-]/g, '_')}_`;
/** Whether one of two servers could list a tool under a name that the other one has, and be taken for it. */
const canBeMistaken = (left: string, right: string): boolean =>
  toolPrefix(left).startsWith(toolPrefix(right)) || toolPrefix(right).startsWith(toolPrefix(left));

const mcpProblems = (file: unknown): readonly ConfigProblem[] => {
  const ids = Object.keys(tableIn(file, 'mcp'));
  return ids.flatMap((id, index): readonly ConfigProblem[] => {
    const earlier = ids.slice(0, index).find((other) => canBeMistaken(id, other));
    if (earlier === undefined) return [];
    const [, longer = ''] = [id, earlier].map(toolPrefix).toSorted((left, right) => left.length - right.length);
    const text = `expected an id that gives no tool a name that ${quoted(earlier)} could give, such as ${longer}x`;
    return [{ path: ['mcp', id], text }];
  });
};

/** What must fit together. Looks at a file that may be wrong in other ways too, so that one start tells it all. */
export const crossProblems = (file: unknown): readonly ConfigProblem[] => {
  const names = modelNames(file);
  const settings = isRecord(file) ? file : {};
  return [
    ...modelProblems(settings.model, ['model'], names),
    ...modelProblems(settings.small_model, ['small_model'], names),
    ...defaultModelProblems(file, names),
    ...providerProblems(file),
    ...agentProblems(file, names),
    ...mcpProblems(file),
  ];
};

const words = (issue: v.BaseIssue<unknown>): string => {
  if (issue.received !== 'undefined' && issue.expected === 'Object') return 'expected an object';
  if (issue.received !== 'undefined' && issue.expected === 'Array') return 'expected a list';
  return expectedText(issue);
};

const isStep = (step: unknown): step is string | number => typeof step === 'string' || typeof step === 'number';
const pathOf = (issue: v.BaseIssue<unknown>): ConfigPath => (issue.path ?? []).map(({ key }) => key).filter(isStep);

const follows = ({ path }: ConfigProblem, earlier: readonly ConfigProblem[]): boolean =>
  earlier.some((other) => isWithin(path, other.path));

export type CheckedSettings = { readonly settings: ConfigSettings; readonly warnings: readonly string[] };

/**
 * A merged file as a type. Throws a `ConfigError` with every problem that it has, those known before among them; what
 * would only follow from one of them is left out. `told` puts the source's name before a path.
 */
export const checkedSettings = (
  file: unknown,
  known: readonly ConfigProblem[],
  told: (path: ConfigPath) => string,
): CheckedSettings => {
  const lineOf = ({ path, text }: ConfigProblem): string => `${told(path)}: ${pathText(path)}: ${text}`;
  const parsed = v.safeParse(ConfigFile, file, { message: words });
  const unfit = [...unfitNames(ConfigFile, file)];
  const unknown = unfit.filter(({ kind }) => kind === 'unknown-name');
  const first = [...known, ...unfit.filter(({ kind }) => kind === 'list')];
  const wrong = (parsed.issues ?? [])
    .map((issue) => ({ path: pathOf(issue), text: issue.message }))
    .filter((problem) => !follows(problem, first));
  const misfits = crossProblems(file).filter((problem) => !follows(problem, [...first, ...wrong]));
  const lines = [...first, ...unknown, ...wrong, ...misfits].map(lineOf);
  if (!parsed.success || lines.length > 0) throw new ConfigError([...new Set(lines)]);
  const inert = unfit.filter(({ kind }) => kind === 'inert');
  return { settings: parsed.output, warnings: [...inert, ...idleSettings(parsed.output)].map(lineOf) };
};
