import { USUAL_LIMITS } from '../backend-limits.ts';
import { variantNames } from './model-names.ts';
import { adapterOf } from './provider-adapter.ts';
import type { ModelSettings, ProviderSettings } from './schema-provider.ts';
import type { ModelConfig, ProviderConfig } from './types.ts';

type Options = Readonly<Record<string, unknown>>;

/** A variant that says nothing is the reasoning effort of its name. */
const variantOptions = (name: string, { disabled: _, ...options }: Options): Options =>
  Object.keys(options).length === 0 ? { reasoningEffort: name } : options;

const variantsOf = (model: ModelSettings): ReadonlyMap<string, Options> =>
  new Map(variantNames(model).map((name) => [name, variantOptions(name, model.variants?.[name] ?? {})]));

type Place = { readonly providerID: string; readonly modelID: string; readonly headers: ProviderConfig['headers'] };

const modelFrom = ({ providerID, modelID, headers }: Place, model: ModelSettings): ModelConfig => ({
  providerID,
  modelID,
  upstreamID: model.id ?? modelID,
  name: model.name ?? modelID,
  limit: { context: model.limit?.context ?? 0, input: model.limit?.input, output: model.limit?.output ?? 0 },
  cost: {
    input: model.cost?.input ?? 0,
    output: model.cost?.output ?? 0,
    cacheRead: model.cost?.cache_read ?? 0,
    cacheWrite: model.cost?.cache_write ?? 0,
  },
  reasoning: model.reasoning ?? false,
  takesTemperature: model.temperature ?? true,
  takesTools: model.tool_call ?? true,
  takesAttachments: model.attachment ?? false,
  input: model.modalities?.input ?? ['text'],
  output: model.modalities?.output ?? ['text'],
  options: model.options ?? {},
  variants: variantsOf(model),
  headers: { ...headers, ...model.headers },
});

/** `false` is no limit, which is 0 for whoever keeps it. */
const limitMs = (given: number | false | undefined, usual: number): number => (given === false ? 0 : (given ?? usual));

const providerFrom = (id: string, provider: ProviderSettings): ProviderConfig => {
  const { baseURL, apiKey, headers = {}, timeout, headerTimeout, chunkTimeout } = provider.options ?? {};
  return {
    id,
    name: provider.name ?? id,
    npm: adapterOf(id, provider.npm),
    baseURL: baseURL ?? provider.api,
    apiKey,
    headers,
    limits: {
      headerMs: limitMs(headerTimeout, USUAL_LIMITS.headerMs),
      gapMs: limitMs(chunkTimeout, USUAL_LIMITS.gapMs),
      wholeMs: limitMs(timeout, USUAL_LIMITS.wholeMs),
    },
    models: new Map(
      Object.entries(provider.models ?? {}).map(([modelID, model]) => [
        modelID,
        modelFrom({ providerID: id, modelID, headers }, model),
      ]),
    ),
  };
};

/** Every provider with every model, defaults filled in. */
export const providersFrom = (
  settings: Readonly<Record<string, ProviderSettings>>,
): ReadonlyMap<string, ProviderConfig> =>
  new Map(Object.entries(settings).map(([id, provider]) => [id, providerFrom(id, provider)]));
