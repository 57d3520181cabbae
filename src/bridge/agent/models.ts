import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { notConfiguredText } from '../../core/identifier.ts';
import type { AgentClient, AgentModel, AgentModels } from './types.ts';

const Name = v.pipe(v.string(), v.minLength(1));

const ModelRecord = v.object({
  name: v.fallback(v.optional(Name), undefined),
  limit: v.fallback(v.object({ context: v.pipe(v.number(), v.minValue(0)) }), { context: 0 }),
  variants: v.fallback(v.record(v.string(), v.unknown()), {}),
  api: v.fallback(v.object({ npm: v.optional(Name) }), {}),
  capabilities: v.fallback(v.object({ input: v.record(v.string(), v.boolean()) }), { input: {} }),
});

const ProviderRecord = v.object({
  // A name with a slash would make another name of `provider/key`.
  id: v.pipe(v.string(), v.regex(/^[^/]+$/)),
  models: v.record(v.string(), v.fallback(v.nullable(ModelRecord), null)),
});

/** `GET /config/providers`. Providers and models of another form are left out. */
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
 * The agent's models, in its order. A default that is none of them is ignored: OpenCode shows whatever was configured, and
 * our own server hides a name that came out of a variable. Then the default of a single provider is the agent's default.
 */
export const toAgentModels = (listed: ProvidersRecord, config: ConfigRecord): AgentModels => {
  const providers = listed.providers.filter((provider) => provider !== null);
  const models = providers.flatMap(({ id: providerID, models: records }) =>
    Object.entries(records).flatMap(([modelID, record]): AgentModel[] => {
      if (record === null) return [];
      const { name = modelID, variants, limit, api, capabilities } = record;
      const media = Object.entries(capabilities.input).flatMap(([medium, isTaken]) => (isTaken ? [medium] : []));
      const shown = { name, variants: Object.keys(variants), contextTokens: limit.context, adapter: api.npm, media };
      return [{ providerID, modelID, ...shown }];
    }),
  );
  const names = new Set(models.map(({ providerID, modelID }) => `${providerID}/${modelID}`));
  const ifListed = (name: string | undefined): string | undefined =>
    name !== undefined && names.has(name) ? name : undefined;
  const [first, ...others] = providers;
  const onlyChoice = first === undefined || others.length > 0 ? undefined : `${first.id}/${listed.default[first.id]}`;
  return {
    models: models,
    defaultModel: ifListed(config.model) ?? ifListed(onlyChoice),
    smallModel: ifListed(config.small_model),
  };
};

/** The agent's models by the names that clients use. */
export type ModelCatalog = {
  /** The default first, then in the agent's order. */
  readonly list: () => Promise<readonly AgentModel[]>;
  /**
   * A model by `provider/key`, by a key that only one provider has, or the default when none is named.
   * Faults with `model-not-found`.
   */
  readonly find: (name: string | undefined) => Promise<AgentModel>;
  /** The model for titles and other background tasks, else the given one. */
  readonly findSmall: (otherwise: AgentModel) => Promise<AgentModel>;
};

/** An agent reads its models when it starts, so after a restart of it they may be out of date for this time. */
const CACHE_MS = 30_000;

/** `provider/key`, as clients name the model. */
export const modelNameOf = ({ providerID, modelID }: Pick<AgentModel, 'providerID' | 'modelID'>): string =>
  `${providerID}/${modelID}`;

/** `defaultModel`: the setting, which comes before the agent's own default. `secrets` are never quoted in an error. */
export const createModelCatalog = (
  agent: Pick<AgentClient, 'models'>,
  clock: Clock,
  defaultModel: string | undefined,
  secrets: readonly string[] = [],
): ModelCatalog => {
  let cached: { readonly models: Promise<AgentModels>; readonly until: number } | undefined;
  // Shared by concurrent requests, so it must not abort with one of them: calls of the agent have a time limit of their own.
  const models = (): Promise<AgentModels> => {
    if (cached !== undefined && clock.now() < cached.until) return cached.models;
    const fetched = { models: agent.models(new AbortController().signal), until: clock.now() + CACHE_MS };
    cached = fetched;
    fetched.models.catch(() => {
      if (cached === fetched) cached = undefined;
    });
    return fetched.models;
  };
  const findByName = (known: AgentModels, name: string): AgentModel | undefined => {
    const whole = known.models.find((model) => modelNameOf(model) === name);
    if (whole !== undefined) return whole;
    const byKey = known.models.filter(({ modelID }) => modelID === name);
    return byKey.length === 1 ? byKey[0] : undefined;
  };
  const findDefault = (known: AgentModels): AgentModel | undefined => {
    const name = defaultModel ?? known.defaultModel;
    return (
      (name === undefined ? undefined : findByName(known, name)) ??
      (defaultModel === undefined ? known.models[0] : undefined)
    );
  };
  return {
    async list() {
      const known = await models();
      const first = findDefault(known);
      return first === undefined ? known.models : [first, ...known.models.filter((model) => model !== first)];
    },
    async find(name) {
      const known = await models();
      const found = name === undefined ? findDefault(known) : findByName(known, name);
      if (found !== undefined) return found;
      const valid = known.models.map(modelNameOf);
      const message = name === undefined ? {} : { message: notConfiguredText('model', name, valid, secrets) };
      throw new Fault({ kind: 'model-not-found', valid, ...message });
    },
    async findSmall(otherwise) {
      const known = await models();
      return (known.smallModel === undefined ? undefined : findByName(known, known.smallModel)) ?? otherwise;
    },
  };
};
