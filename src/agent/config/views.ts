import { tableIn, textIn } from './model-names.ts';
import { type AgentServerConfig, type Medium, type ModelConfig, modelConfigFor, type ProviderConfig } from './types.ts';

type Table = Readonly<Record<string, unknown>>;
type Media = Readonly<Record<Medium, boolean>>;

/** A model as the wire shows it (OpenCode 1.x, `Model`). */
export type ModelView = {
  readonly id: string;
  readonly providerID: string;
  readonly api: { readonly id: string; readonly url: string; readonly npm: string };
  readonly name: string;
  readonly capabilities: {
    readonly temperature: boolean;
    readonly reasoning: boolean;
    readonly attachment: boolean;
    readonly toolcall: boolean;
    readonly input: Media;
    readonly output: Media;
    readonly interleaved: boolean;
  };
  readonly cost: {
    readonly input: number;
    readonly output: number;
    readonly cache: { readonly read: number; readonly write: number };
  };
  readonly limit: { readonly context: number; readonly input?: number; readonly output: number };
  readonly status: 'active';
  readonly options: Table;
  readonly headers: Readonly<Record<string, string>>;
  readonly release_date: string;
  readonly variants: Readonly<Record<string, Table>>;
};

/** A provider as the wire shows it. Has no `key`, unlike the peer's. */
export type ProviderView = {
  readonly id: string;
  readonly name: string;
  readonly source: 'config';
  readonly env: readonly string[];
  readonly options: Table;
  readonly models: Readonly<Record<string, ModelView>>;
};

const mediaOf = (media: readonly Medium[]): Media => ({
  text: media.includes('text'),
  audio: media.includes('audio'),
  image: media.includes('image'),
  video: media.includes('video'),
  pdf: media.includes('pdf'),
});

type Place = { readonly npm: string; readonly url: string; readonly shown: Table };

/** Variants as they are, except that what was written is shown without its secrets. */
const variantViews = (model: ModelConfig, shown: Table): Readonly<Record<string, Table>> =>
  Object.fromEntries(
    [...model.variants].map(([name, options]) => {
      const { disabled: _, ...written } = tableIn(tableIn(shown, 'variants'), name);
      return [name, Object.keys(written).length === 0 ? options : written];
    }),
  );

const modelView = (model: ModelConfig, { npm, url, shown }: Place): ModelView => ({
  id: model.modelID,
  providerID: model.providerID,
  api: { id: textIn(shown, 'id') ?? model.modelID, url, npm },
  name: textIn(shown, 'name') ?? model.modelID,
  capabilities: {
    temperature: model.takesTemperature,
    reasoning: model.reasoning !== false,
    attachment: model.takesAttachments,
    toolcall: model.takesTools,
    input: mediaOf(model.input),
    output: mediaOf(model.output),
    interleaved: false,
  },
  cost: {
    input: model.cost.input,
    output: model.cost.output,
    cache: { read: model.cost.cacheRead, write: model.cost.cacheWrite },
  },
  limit: {
    context: model.limit.context,
    ...(model.limit.input === undefined ? {} : { input: model.limit.input }),
    output: model.limit.output,
  },
  status: 'active',
  options: tableIn(shown, 'options'),
  headers: {},
  release_date: '',
  variants: variantViews(model, shown),
});

const providerView = (provider: ProviderConfig, shown: Table): ProviderView => {
  const { apiKey: _key, headers: _headers, ...options } = tableIn(shown, 'options');
  const url = textIn(options, 'baseURL') ?? textIn(shown, 'api') ?? '';
  return {
    id: provider.id,
    name: textIn(shown, 'name') ?? provider.id,
    source: 'config',
    env: [],
    options,
    models: Object.fromEntries(
      [...provider.models].map(([key, model]) => [
        key,
        modelView(model, { npm: provider.npm, url, shown: tableIn(tableIn(shown, 'models'), key) }),
      ]),
    ),
  };
};

const providerViews = ({ providers, shown }: AgentServerConfig): readonly ProviderView[] =>
  [...providers.values()].map((provider) => providerView(provider, tableIn(tableIn(shown, 'provider'), provider.id)));

/** The model of each provider that is offered first: the default model, or the first one. */
const firstModels = (config: AgentServerConfig): Readonly<Record<string, string>> => {
  const ours = modelConfigFor(config, config.defaultModel);
  return Object.fromEntries(
    [...config.providers.values()].flatMap(({ id, models }) => {
      const [first] = models.keys();
      const chosen = ours?.providerID === id ? ours.modelID : first;
      return chosen === undefined ? [] : [[id, chosen]];
    }),
  );
};

/** The body of `GET /provider`: the configured providers, all of them connected. */
export const providerList = (config: AgentServerConfig) => ({
  all: providerViews(config),
  default: firstModels(config),
  connected: [...config.providers.keys()],
});

/** The body of `GET /config/providers`. */
export const configProviders = (config: AgentServerConfig) => ({
  providers: providerViews(config),
  default: firstModels(config),
});
