import { isRecord } from '../../core/record.ts';
import { matchesWildcard } from '../../core/wildcard.ts';
import { agentIds, builtInOf } from './built-in-agents.ts';
import { modelNames, modelRef, variantNames } from './model-names.ts';
import { type ConfigPath, type ConfigProblem, quoted, withoutEffectNow } from './names.ts';
import type { ConfigSettings } from './schema.ts';

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
