import { isRecord } from '../../core/json.ts';
import { matchesWildcard } from '../../core/wildcard.ts';
import {
  type ConfigPath,
  type ConfigProblem,
  modelNames,
  modelRef,
  quoted,
  variantNames,
  withoutEffectNow,
} from './names.ts';
import type { AgentSettings, ConfigSettings } from './schema.ts';
import { agentIds, builtInOf } from './types.ts';
import { idleOptions } from './warnings-options.ts';

const modelsWith = (settings: ConfigSettings, variant: string): readonly string[] =>
  modelNames(settings).filter((name) => {
    const { providerID, modelID } = modelRef(name);
    return variantNames(settings.provider?.[providerID]?.models?.[modelID]).includes(variant);
  });

/** A variant that some model has, but not the one that speaks for the agent unless somebody names another. */
const missedVariants = (settings: ConfigSettings): readonly ConfigProblem[] => {
  return Object.entries(settings.agent ?? {}).flatMap(([id, agent]): readonly ConfigProblem[] => {
    const { variant, model, disable } = agent;
    const usual = (id === 'title' ? settings.small_model : undefined) ?? settings.model ?? modelNames(settings)[0];
    if (variant === undefined || model !== undefined || disable === true || usual === undefined) return [];
    const having = modelsWith(settings, variant);
    if (having.length === 0 || having.includes(usual)) return [];
    const why = `its model ${quoted(usual)} has no such variant; others have it, such as ${quoted(having[0] ?? '')}`;
    return [{ path: ['agent', id, 'variant'], text: withoutEffectNow(why) }];
  });
};

const takersIn = (settings: ConfigSettings): readonly string[] =>
  agentIds(settings).filter((id) => {
    const { mode, isHidden } = builtInOf(id);
    const written = settings.agent?.[id];
    return (written?.mode ?? mode) !== 'primary' && !(written?.hidden ?? isHidden);
  });

const missedTakers = (permission: unknown, path: ConfigPath, takers: readonly string[]): readonly ConfigProblem[] => {
  const patterns = isRecord(permission) && isRecord(permission.task) ? Object.keys(permission.task) : [];
  return patterns
    .filter((pattern) => pattern !== '*' && !takers.some((taker) => matchesWildcard(taker, pattern)))
    .map((pattern) => ({
      path: [...path, 'task', pattern],
      text: withoutEffectNow('no agent that takes work has this name'),
    }));
};

/** What is written of agents, and meets no model and no agent that there is. */
export const idleAgents = (settings: ConfigSettings): readonly ConfigProblem[] => {
  const takers = takersIn(settings);
  return [
    ...missedVariants(settings),
    ...missedTakers(settings.permission, ['permission'], takers),
    ...Object.entries(settings.agent ?? {}).flatMap(([id, { permission }]) =>
      missedTakers(permission, ['agent', id, 'permission'], takers),
    ),
  ];
};

/** The one tool whose calls have patterns, and the one that no tool server brings. */
const TASK = 'task';

const isLiteral = (tool: string): boolean => !/[*?]/.test(tool);

const idleIn = (permission: unknown, path: ConfigPath, prefixes: readonly string[]): readonly ConfigProblem[] =>
  Object.entries(isRecord(permission) ? permission : {}).flatMap(([tool, actions]): readonly ConfigProblem[] => {
    const isTask = matchesWildcard(TASK, tool);
    if (isTask) return [];
    if (isLiteral(tool) && !prefixes.some((prefix) => tool.startsWith(prefix)))
      return [{ path: [...path, tool], text: withoutEffectNow('no tool here has this name') }];
    return Object.keys(isRecord(actions) ? actions : {})
      .filter((pattern) => !matchesWildcard('*', pattern))
      .map((pattern) => ({
        path: [...path, tool, pattern],
        text: withoutEffectNow('the pattern of a call of these tools is always *'),
      }));
  });

/** Permission rules that can cover no call, whatever tools the servers bring. */
export const idleRules = ({ permission, agent = {}, mcp = {} }: ConfigSettings): readonly ConfigProblem[] => {
  const prefixes = Object.keys(mcp).map((server) => `${server.replace(/[^\w-]/g, '_')}_`);
  return [
    ...idleIn(permission, ['permission'], prefixes),
    ...Object.entries(agent).flatMap(([id, settings]) =>
      idleIn(settings.permission, ['agent', id, 'permission'], prefixes),
    ),
  ];
};

type AgentEntry = readonly [id: string, agent: AgentSettings];

const agentsIn = ({ agent = {} }: ConfigSettings): readonly AgentEntry[] =>
  Object.entries(agent).filter(([, { disable }]) => disable !== true);

/** The model that an agent speaks with unless somebody names another one. */
const usualModel = (settings: ConfigSettings, [id, agent]: AgentEntry): string | undefined => {
  const [only] = modelNames(settings);
  const small = id === 'title' ? settings.small_model : undefined;
  return agent.model ?? small ?? settings.model ?? only;
};

const idleTemperatures = (settings: ConfigSettings): readonly ConfigProblem[] =>
  agentsIn(settings).flatMap((entry): readonly ConfigProblem[] => {
    const [id, { temperature }] = entry;
    const name = usualModel(settings, entry);
    if (temperature === undefined || name === undefined) return [];
    const { providerID, modelID } = modelRef(name);
    if (settings.provider?.[providerID]?.models?.[modelID]?.temperature !== false) return [];
    const why = `the model ${quoted(name)} takes none, as its own temperature says`;
    return [{ path: ['agent', id, 'temperature'], text: withoutEffectNow(why) }];
  });

/** A variant that the agent would take of whatever model speaks for it, and that none has. */
const idleVariants = (settings: ConfigSettings): readonly ConfigProblem[] => {
  const models = Object.values(settings.provider ?? {}).flatMap(({ models = {} }) => Object.values(models));
  const known = models.flatMap(variantNames);
  return agentsIn(settings)
    .filter(([, { variant, model }]) => model === undefined && variant !== undefined && !known.includes(variant))
    .map(([id]) => ({ path: ['agent', id, 'variant'], text: withoutEffectNow('no model has this variant') }));
};

/** Titles and summaries are asked for in one step, and without tools. */
const idleAtHelpers = (settings: ConfigSettings): readonly ConfigProblem[] =>
  agentsIn(settings)
    .filter(([id, { hidden }]) => builtInOf(id).isHidden && hidden !== false)
    .flatMap(([id, agent]) =>
      (['steps', 'permission'] as const)
        .filter((name) => agent[name] !== undefined)
        .map((name) => ({
          path: ['agent', id, name],
          text: withoutEffectNow('this agent takes one step and has no tools'),
        })),
    );

const idleElsewhere = ({ agent = {}, small_model: small, compaction }: ConfigSettings): readonly ConfigProblem[] => [
  ...(agent.compaction?.disable === true
    ? [
        {
          path: ['agent', 'compaction', 'disable'],
          text: withoutEffectNow('summaries are made all the same, and compaction.auto says when'),
        },
      ]
    : []),
  ...(compaction?.auto === false && compaction.reserved !== undefined
    ? [{ path: ['compaction', 'reserved'], text: withoutEffectNow('compaction.auto keeps nothing free') }]
    : []),
  ...(small !== undefined && (agent.title?.disable === true || agent.title?.model !== undefined)
    ? [
        {
          path: ['small_model'],
          text: withoutEffectNow('agent.title says which model writes titles, or that none does'),
        },
      ]
    : []),
];

/** Settings that are right, and of which nothing comes beside the others: a line for each. */
export const idleSettings = (settings: ConfigSettings): readonly ConfigProblem[] => [
  ...idleOptions(settings),
  ...idleTemperatures(settings),
  ...idleVariants(settings),
  ...idleAgents(settings),
  ...idleAtHelpers(settings),
  ...idleElsewhere(settings),
  ...idleRules(settings),
];
