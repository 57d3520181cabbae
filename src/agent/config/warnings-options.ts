import { nearestName } from '../../core/config.ts';
import { type BundledAdapter, EFFORTS, isEffort, supportedOptionsFor } from '../model/adapters.ts';

import { type ConfigPath, type ConfigProblem, modelRef, quoted, withoutEffectNow } from './names.ts';
import type { ConfigSettings } from './schema.ts';
import { adapterOf, type ModelSettings } from './schema-provider.ts';

type Options = Readonly<Record<string, unknown>>;

const EFFORT_RULE = `of efforts @ai-sdk/anthropic knows ${EFFORTS.join(', ')}`;

const dropped = (name: string, npm: BundledAdapter, taken: readonly string[]): string =>
  withoutEffectNow(`${npm} has no such option, the nearest one is ${quoted(nearestName(name, taken) ?? '')}`);

const idleIn = (options: Options, path: ConfigPath, npm: BundledAdapter): readonly ConfigProblem[] => {
  const taken = supportedOptionsFor(npm);
  if (taken === undefined) return [];
  return Object.entries(options).flatMap(([name, value]): readonly ConfigProblem[] => {
    if (!taken.includes(name)) return [{ path: [...path, name], text: dropped(name, npm, taken) }];
    const isOddEffort = npm === '@ai-sdk/anthropic' && name === 'reasoningEffort' && !isEffort(value);
    return isOddEffort ? [{ path: [...path, name], text: withoutEffectNow(EFFORT_RULE) }] : [];
  });
};

const idleInVariants = (model: ModelSettings, path: ConfigPath, npm: BundledAdapter): readonly ConfigProblem[] =>
  Object.entries(model.variants ?? {}).flatMap(([name, { disabled, ...options }]): readonly ConfigProblem[] => {
    if (disabled === true) return [];
    const isEmpty = Object.keys(options).length === 0;
    if (isEmpty && npm === '@ai-sdk/anthropic' && !isEffort(name))
      return [{ path: [...path, name], text: withoutEffectNow(EFFORT_RULE) }];
    return idleIn(options, [...path, name], npm);
  });

/** What no adapter of the models that an agent may speak with takes; without a model of its own it may be any. */
const idleInAgents = ({ agent = {}, provider = {} }: ConfigSettings): readonly ConfigProblem[] => {
  const adapters = new Map(Object.entries(provider).map(([id, { npm }]) => [id, adapterOf(id, npm)]));
  return Object.entries(agent).flatMap(([id, { options = {}, model }]): readonly ConfigProblem[] => {
    const only = model === undefined ? undefined : adapters.get(modelRef(model).providerID);
    const spoken = only === undefined ? [...new Set(adapters.values())] : [only];
    const path = ['agent', id, 'options'];
    const [first = [], ...others] = spoken.map((npm) => idleIn(options, path, npm));
    const isIdleEverywhere = ({ path: place }: ConfigProblem): boolean =>
      others.every((other) => other.some((problem) => problem.path.at(-1) === place.at(-1)));
    return first.filter(isIdleEverywhere);
  });
};

/** Options that the adapter would drop on the way to the model. */
export const idleOptions = (settings: ConfigSettings): readonly ConfigProblem[] => [
  ...Object.entries(settings.provider ?? {}).flatMap(([id, { npm, models = {} }]) =>
    Object.entries(models).flatMap(([key, model]) => {
      const path = ['provider', id, 'models', key];
      const adapter = adapterOf(id, npm);
      return [
        ...idleIn(model.options ?? {}, [...path, 'options'], adapter),
        ...idleInVariants(model, [...path, 'variants'], adapter),
      ];
    }),
  ),
  ...idleInAgents(settings),
];
