import { nearestName } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import { type BundledAdapter, EFFORTS, isEffort, supportedOptionsFor } from '../model/adapters.ts';
import { isLiteral, matchesWildcard } from '../protocol/wildcard.ts';
import { type ConfigIssue, type ConfigPath, ineffectiveText, quoteName, toolPrefix } from './names.ts';
import type { ConfigSettings } from './schema.ts';
import { adapterOf, type ModelSettings } from './schema-provider.ts';
import { agentIds, builtInAgentFor } from './types.ts';

const EFFORT_RULE = `of efforts @ai-sdk/anthropic knows ${EFFORTS.join(', ')}`;

const unknownOptionText = (name: string, npm: BundledAdapter, taken: readonly string[]): string =>
  ineffectiveText(`${npm} has no such option, the nearest one is ${quoteName(nearestName(name, taken) ?? '')}`);

const ineffectiveOptions = (
  options: Readonly<Record<string, unknown>>,
  path: ConfigPath,
  npm: BundledAdapter,
): readonly ConfigIssue[] => {
  const taken = supportedOptionsFor(npm);
  if (taken === undefined) return [];
  return Object.entries(options).flatMap(([name, value]): readonly ConfigIssue[] => {
    if (!taken.includes(name)) return [{ path: [...path, name], text: unknownOptionText(name, npm, taken) }];
    const isOddEffort = npm === '@ai-sdk/anthropic' && name === 'reasoningEffort' && !isEffort(value);
    return isOddEffort ? [{ path: [...path, name], text: ineffectiveText(EFFORT_RULE) }] : [];
  });
};

const ineffectiveInVariants = (model: ModelSettings, path: ConfigPath, npm: BundledAdapter): readonly ConfigIssue[] =>
  Object.entries(model.variants ?? {}).flatMap(([name, { disabled, ...options }]): readonly ConfigIssue[] => {
    if (disabled === true) return [];
    const isEmpty = Object.keys(options).length === 0;
    if (isEmpty && npm === '@ai-sdk/anthropic' && !isEffort(name))
      return [{ path: [...path, name], text: ineffectiveText(EFFORT_RULE) }];
    return ineffectiveOptions(options, [...path, name], npm);
  });

/** Options of models that the provider's adapter does not pass on. */
const ineffectiveInModels = ({ provider = {} }: ConfigSettings): readonly ConfigIssue[] =>
  Object.entries(provider).flatMap(([id, { npm, models = {} }]) =>
    Object.entries(models).flatMap(([key, model]) => {
      const path = ['provider', id, 'models', key];
      const adapter = adapterOf(id, npm);
      return [
        ...ineffectiveOptions(model.options ?? {}, [...path, 'options'], adapter),
        ...ineffectiveInVariants(model, [...path, 'variants'], adapter),
      ];
    }),
  );

const taskAgents = (settings: ConfigSettings): readonly string[] =>
  agentIds(settings).filter((id) => {
    const { mode, isHidden } = builtInAgentFor(id);
    const written = settings.agent?.[id];
    return (written?.mode ?? mode) !== 'primary' && !(written?.hidden ?? isHidden);
  });

/** The only tool whose calls have patterns, and the only one that is not of a tool server. */
const TASK = 'task';

/** What rules can match: names of tools begin with one of `prefixes`, and `task` has the names of `agents` as patterns. */
type Matchable = { readonly prefixes: readonly string[]; readonly agents: readonly string[] };

const ineffectiveRulesIn = (
  permission: unknown,
  path: ConfigPath,
  { prefixes, agents }: Matchable,
): readonly ConfigIssue[] =>
  Object.entries(isRecord(permission) ? permission : {}).flatMap(([tool, actions]): readonly ConfigIssue[] => {
    const isTask = matchesWildcard(TASK, tool);
    if (!isTask && isLiteral(tool) && !prefixes.some((prefix) => tool.startsWith(prefix)))
      return [{ path: [...path, tool], text: ineffectiveText('no tool here has this name') }];
    if (isTask && tool !== TASK) return [];
    const matched = isTask ? ['*', ...agents] : ['*'];
    const why = isTask ? 'no agent that takes work has this name' : 'the pattern of a call of these tools is always *';
    return Object.keys(isRecord(actions) ? actions : {})
      .filter((pattern) => !matched.some((text) => matchesWildcard(text, pattern)))
      .map((pattern) => ({ path: [...path, tool, pattern], text: ineffectiveText(why) }));
  });

/** Permission rules that can match no call, whatever tools the servers have. */
const ineffectiveRules = (settings: ConfigSettings): readonly ConfigIssue[] => {
  const { permission, agent = {}, mcp = {} } = settings;
  const matchable = { prefixes: Object.keys(mcp).map(toolPrefix), agents: taskAgents(settings) };
  return [
    ...ineffectiveRulesIn(permission, ['permission'], matchable),
    ...Object.entries(agent).flatMap(([id, own]) =>
      ineffectiveRulesIn(own.permission, ['agent', id, 'permission'], matchable),
    ),
  ];
};

/** Options and rules that have no effect, most often because of a misspelled name. */
export const findIneffectiveSettings = (settings: ConfigSettings): readonly ConfigIssue[] => [
  ...ineffectiveInModels(settings),
  ...ineffectiveRules(settings),
];
