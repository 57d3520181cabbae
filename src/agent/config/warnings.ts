import type { AgentSettings } from './agent-schema.ts';
import { builtInOf } from './built-in-agents.ts';
import { idleAgents } from './idle-agents.ts';
import { idleRules } from './idle-rules.ts';
import { modelNames, modelRef, variantNames } from './model-names.ts';
import { type ConfigProblem, quoted, withoutEffectNow } from './names.ts';
import type { ConfigSettings } from './schema.ts';
import { idleOptions } from './warnings-options.ts';

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
