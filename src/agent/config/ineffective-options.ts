import { nearestName } from '../../core/config.ts';
import { type BundledAdapter, EFFORTS, isEffort, supportedOptionsFor } from '../model/adapters.ts';

import { type ConfigIssue, type ConfigPath, ineffectiveText, parseModelRef, quoteName } from './names.ts';
import type { ConfigSettings } from './schema.ts';
import { adapterOf, type ModelSettings } from './schema-provider.ts';

type Options = Readonly<Record<string, unknown>>;

const EFFORT_RULE = `of efforts @ai-sdk/anthropic knows ${EFFORTS.join(', ')}`;

const unknownOptionText = (name: string, npm: BundledAdapter, taken: readonly string[]): string =>
  ineffectiveText(`${npm} has no such option, the nearest one is ${quoteName(nearestName(name, taken) ?? '')}`);

const ineffectiveIn = (options: Options, path: ConfigPath, npm: BundledAdapter): readonly ConfigIssue[] => {
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
    return ineffectiveIn(options, [...path, name], npm);
  });

/** Options of agents that no adapter of their possible models takes. An agent without a model may use any. */
const ineffectiveInAgents = ({ agent = {}, provider = {} }: ConfigSettings): readonly ConfigIssue[] => {
  const adapters = new Map(Object.entries(provider).map(([id, { npm }]) => [id, adapterOf(id, npm)]));
  return Object.entries(agent).flatMap(([id, { options = {}, model }]): readonly ConfigIssue[] => {
    const only = model === undefined ? undefined : adapters.get(parseModelRef(model).providerID);
    const possible = only === undefined ? [...new Set(adapters.values())] : [only];
    const path = ['agent', id, 'options'];
    const [first = [], ...others] = possible.map((npm) => ineffectiveIn(options, path, npm));
    const isIneffectiveEverywhere = ({ path: place }: ConfigIssue): boolean =>
      others.every((other) => other.some((problem) => problem.path.at(-1) === place.at(-1)));
    return first.filter(isIneffectiveEverywhere);
  });
};

/** Options that the provider's adapter does not pass to the model. */
export const findIneffectiveOptions = (settings: ConfigSettings): readonly ConfigIssue[] => [
  ...Object.entries(settings.provider ?? {}).flatMap(([id, { npm, models = {} }]) =>
    Object.entries(models).flatMap(([key, model]) => {
      const path = ['provider', id, 'models', key];
      const adapter = adapterOf(id, npm);
      return [
        ...ineffectiveIn(model.options ?? {}, [...path, 'options'], adapter),
        ...ineffectiveInVariants(model, [...path, 'variants'], adapter),
      ];
    }),
  ),
  ...ineffectiveInAgents(settings),
];
