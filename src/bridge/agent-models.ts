import * as v from 'valibot';
import type { AgentModel, AgentModels } from './agent/types.ts';

const Name = v.pipe(v.string(), v.minLength(1));

const ModelRecord = v.object({
  name: v.fallback(v.optional(Name), undefined),
  limit: v.fallback(v.object({ context: v.pipe(v.number(), v.minValue(0)) }), { context: 0 }),
  variants: v.fallback(v.record(v.string(), v.unknown()), {}),
});

const ProviderRecord = v.object({
  // A name with a slash would make another name of `provider/key`.
  id: v.pipe(v.string(), v.regex(/^[^/]+$/)),
  models: v.record(v.string(), v.fallback(v.nullable(ModelRecord), null)),
});

/** `GET /config/providers`. Providers and models that are not understood count as not there. */
export const ProvidersRecord = v.object({
  providers: v.array(v.fallback(v.nullable(ProviderRecord), null)),
  default: v.fallback(v.record(v.string(), v.string()), {}),
});
type ProvidersRecord = v.InferOutput<typeof ProvidersRecord>;

const ModelName = v.fallback(v.optional(v.string()), undefined);

/** What we read of `GET /config`. */
export const ConfigRecord = v.object({ model: ModelName, small_model: ModelName });
type ConfigRecord = v.InferOutput<typeof ConfigRecord>;

/**
 * The agent's models, in its order. A default that is none of them is no default: OpenCode shows whatever was written, and
 * our own server hides a name that came out of a variable. Then a single provider's first choice is the agent's, too.
 */
export const modelsFrom = (listed: ProvidersRecord, config: ConfigRecord): AgentModels => {
  const providers = listed.providers.filter((provider) => provider !== null);
  const models = providers.flatMap(({ id: providerID, models: records }) =>
    Object.entries(records).flatMap(([modelID, record]): AgentModel[] => {
      if (record === null) return [];
      const { name = modelID, variants, limit } = record;
      return [{ providerID, modelID, name, variants: Object.keys(variants), contextTokens: limit.context }];
    }),
  );
  const names = new Set(models.map(({ providerID, modelID }) => `${providerID}/${modelID}`));
  const known = (name: string | undefined): string | undefined =>
    name !== undefined && names.has(name) ? name : undefined;
  const [first, ...others] = providers;
  const onlyChoice = first === undefined || others.length > 0 ? undefined : `${first.id}/${listed.default[first.id]}`;
  return {
    models,
    defaultModel: known(config.model) ?? known(onlyChoice),
    smallModel: known(config.small_model),
  };
};
