import { isRecord } from '../../core/json.ts';
import { matchesWildcard } from '../protocol/wildcard.ts';
import { findIneffectiveOptions } from './ineffective-options.ts';
import {
  type ConfigIssue,
  type ConfigPath,
  ineffectiveText,
  modelNames,
  parseModelRef,
  quoteName,
  toolPrefix,
  variantNames,
} from './names.ts';
import type { AgentEntrySettings, ConfigSettings } from './schema.ts';
import { agentIds, builtInAgentFor } from './types.ts';

const modelsWithVariant = (settings: ConfigSettings, variant: string): readonly string[] =>
  modelNames(settings).filter((name) => {
    const { providerID, modelID } = parseModelRef(name);
    return variantNames(settings.provider?.[providerID]?.models?.[modelID]).includes(variant);
  });

/** Variants that some model has, but not the agent's default model. */
const variantsOfOtherModels = (settings: ConfigSettings): readonly ConfigIssue[] => {
  return Object.entries(settings.agent ?? {}).flatMap(([id, agent]): readonly ConfigIssue[] => {
    const { variant, model, disable } = agent;
    const usual = (id === 'title' ? settings.small_model : undefined) ?? settings.model ?? modelNames(settings)[0];
    if (variant === undefined || model !== undefined || disable === true || usual === undefined) return [];
    const having = modelsWithVariant(settings, variant);
    if (having.length === 0 || having.includes(usual)) return [];
    const why = `its model ${quoteName(usual)} has no such variant; others have it, such as ${quoteName(having[0] ?? '')}`;
    return [{ path: ['agent', id, 'variant'], text: ineffectiveText(why) }];
  });
};

const taskAgents = (settings: ConfigSettings): readonly string[] =>
  agentIds(settings).filter((id) => {
    const { mode, isHidden } = builtInAgentFor(id);
    const written = settings.agent?.[id];
    return (written?.mode ?? mode) !== 'primary' && !(written?.hidden ?? isHidden);
  });

const unmatchedTaskPatterns = (
  permission: unknown,
  path: ConfigPath,
  agents: readonly string[],
): readonly ConfigIssue[] => {
  const patterns = isRecord(permission) && isRecord(permission.task) ? Object.keys(permission.task) : [];
  return patterns
    .filter((pattern) => pattern !== '*' && !agents.some((agent) => matchesWildcard(agent, pattern)))
    .map((pattern) => ({
      path: [...path, 'task', pattern],
      text: ineffectiveText('no agent that takes work has this name'),
    }));
};

/** Settings of agents that refer to no existing model or agent. */
const ineffectiveAgentSettings = (settings: ConfigSettings): readonly ConfigIssue[] => {
  const agents = taskAgents(settings);
  return [
    ...variantsOfOtherModels(settings),
    ...unmatchedTaskPatterns(settings.permission, ['permission'], agents),
    ...Object.entries(settings.agent ?? {}).flatMap(([id, { permission }]) =>
      unmatchedTaskPatterns(permission, ['agent', id, 'permission'], agents),
    ),
  ];
};

/** The only tool whose calls have patterns, and the only one that is not of a tool server. */
const TASK = 'task';

const isLiteral = (tool: string): boolean => !/[*?]/.test(tool);

const ineffectiveRulesIn = (
  permission: unknown,
  path: ConfigPath,
  prefixes: readonly string[],
): readonly ConfigIssue[] =>
  Object.entries(isRecord(permission) ? permission : {}).flatMap(([tool, actions]): readonly ConfigIssue[] => {
    const isTask = matchesWildcard(TASK, tool);
    if (isTask) return [];
    if (isLiteral(tool) && !prefixes.some((prefix) => tool.startsWith(prefix)))
      return [{ path: [...path, tool], text: ineffectiveText('no tool here has this name') }];
    return Object.keys(isRecord(actions) ? actions : {})
      .filter((pattern) => !matchesWildcard('*', pattern))
      .map((pattern) => ({
        path: [...path, tool, pattern],
        text: ineffectiveText('the pattern of a call of these tools is always *'),
      }));
  });

/** Permission rules that can match no call, whatever tools the servers have. */
const ineffectiveRules = ({ permission, agent = {}, mcp = {} }: ConfigSettings): readonly ConfigIssue[] => {
  const prefixes = Object.keys(mcp).map(toolPrefix);
  return [
    ...ineffectiveRulesIn(permission, ['permission'], prefixes),
    ...Object.entries(agent).flatMap(([id, settings]) =>
      ineffectiveRulesIn(settings.permission, ['agent', id, 'permission'], prefixes),
    ),
  ];
};

type AgentEntry = readonly [id: string, agent: AgentEntrySettings];

const enabledAgents = ({ agent = {} }: ConfigSettings): readonly AgentEntry[] =>
  Object.entries(agent).filter(([, { disable }]) => disable !== true);

/** The model of an agent when a request names none. */
const defaultModelFor = (settings: ConfigSettings, [id, agent]: AgentEntry): string | undefined => {
  const [only] = modelNames(settings);
  const small = id === 'title' ? settings.small_model : undefined;
  return agent.model ?? small ?? settings.model ?? only;
};

const ineffectiveTemperatures = (settings: ConfigSettings): readonly ConfigIssue[] =>
  enabledAgents(settings).flatMap((entry): readonly ConfigIssue[] => {
    const [id, { temperature }] = entry;
    const name = defaultModelFor(settings, entry);
    if (temperature === undefined || name === undefined) return [];
    const { providerID, modelID } = parseModelRef(name);
    if (settings.provider?.[providerID]?.models?.[modelID]?.temperature !== false) return [];
    const why = `the model ${quoteName(name)} takes none, as its own temperature says`;
    return [{ path: ['agent', id, 'temperature'], text: ineffectiveText(why) }];
  });

/** Variants of agents without a model of their own that no model has. */
const unknownVariants = (settings: ConfigSettings): readonly ConfigIssue[] => {
  const models = Object.values(settings.provider ?? {}).flatMap(({ models = {} }) => Object.values(models));
  const known = models.flatMap(variantNames);
  return enabledAgents(settings)
    .filter(([, { variant, model }]) => model === undefined && variant !== undefined && !known.includes(variant))
    .map(([id]) => ({ path: ['agent', id, 'variant'], text: ineffectiveText('no model has this variant') }));
};

/** The agents for titles and summaries run one step, without tools. */
const ineffectiveAtHelpers = (settings: ConfigSettings): readonly ConfigIssue[] =>
  enabledAgents(settings)
    .filter(([id, { hidden }]) => builtInAgentFor(id).isHidden && hidden !== false)
    .flatMap(([id, agent]) =>
      (['steps', 'permission'] as const)
        .filter((name) => agent[name] !== undefined)
        .map((name) => ({
          path: ['agent', id, name],
          text: ineffectiveText('this agent takes one step and has no tools'),
        })),
    );

const ineffectiveElsewhere = ({
  agent = {},
  small_model: small,
  compaction,
}: ConfigSettings): readonly ConfigIssue[] => [
  ...(agent.compaction?.disable === true
    ? [
        {
          path: ['agent', 'compaction', 'disable'],
          text: ineffectiveText('summaries are made all the same, and compaction.auto says when'),
        },
      ]
    : []),
  ...(compaction?.auto === false && compaction.reserved !== undefined
    ? [{ path: ['compaction', 'reserved'], text: ineffectiveText('compaction.auto keeps nothing free') }]
    : []),
  ...(small !== undefined && (agent.title?.disable === true || agent.title?.model !== undefined)
    ? [
        {
          path: ['small_model'],
          text: ineffectiveText('agent.title says which model writes titles, or that none does'),
        },
      ]
    : []),
];

/** Valid settings that have no effect because of other settings. */
export const findIneffectiveSettings = (settings: ConfigSettings): readonly ConfigIssue[] => [
  ...findIneffectiveOptions(settings),
  ...ineffectiveTemperatures(settings),
  ...unknownVariants(settings),
  ...ineffectiveAgentSettings(settings),
  ...ineffectiveAtHelpers(settings),
  ...ineffectiveElsewhere(settings),
  ...ineffectiveRules(settings),
];
