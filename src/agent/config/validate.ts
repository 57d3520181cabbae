import { isRecord } from '../../core/record.ts';
import { primaryAgentIds } from './built-in-agents.ts';
import { modelNames, modelRef, tableIn, variantNames } from './model-names.ts';
import { type ConfigPath, type ConfigProblem, meantName, quoted } from './names.ts';
import { adapterOf } from './provider-adapter.ts';

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
