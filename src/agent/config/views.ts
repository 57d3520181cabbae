import type { Rule } from '../protocol/types.ts';
import { tableIn, textIn } from './names.ts';
import {
  type AgentConfig,
  type AgentMode,
  type AgentServerConfig,
  type Medium,
  type ModelConfig,
  modelConfigFor,
  type ProviderConfig,
} from './types.ts';

type Table = Readonly<Record<string, unknown>>;

/** An agent as the wire shows it (OpenCode 1.x, `Agent`). */
export type AgentView = {
  readonly name: string;
  readonly description?: string;
  readonly mode: AgentMode;
  readonly native: boolean;
  readonly hidden: boolean;
  readonly topP?: number;
  readonly temperature?: number;
  readonly color?: string;
  readonly permission: readonly Rule[];
  readonly model?: { readonly providerID: string; readonly modelID: string };
  readonly variant?: string;
  readonly prompt?: string;
  readonly options: Table;
  readonly steps: number;
};

/** What may hold a secret comes from `shown`, the rest from the agent. */
const agentView = (agent: AgentConfig, shown: Table): AgentView => {
  const written = agent.description === undefined ? undefined : (textIn(shown, 'description') ?? agent.description);
  const prompt = textIn(shown, 'prompt');
  const color = textIn(shown, 'color');
  return {
    name: agent.name,
    ...(written === undefined ? {} : { description: written }),
    mode: agent.mode,
    native: agent.isNative,
    hidden: agent.isHidden,
    ...(agent.topP === undefined ? {} : { topP: agent.topP }),
    ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
    ...(color === undefined ? {} : { color }),
    permission: agent.rules,
    ...(agent.model === undefined
      ? {}
      : { model: { providerID: agent.model.providerID, modelID: agent.model.modelID } }),
    ...(agent.variant === undefined ? {} : { variant: agent.variant }),
    ...(prompt === undefined ? {} : { prompt }),
    options: tableIn(shown, 'options'),
    steps: agent.steps,
  };
};

/** The body of `GET /agent`: every agent, the hidden ones too, the default one first. */
export const agentList = ({ agents, defaultAgent, shown }: AgentServerConfig): readonly AgentView[] =>
  [...agents.values()]
    .toSorted((left, right) => Number(right.name === defaultAgent) - Number(left.name === defaultAgent))
    .map((agent) => agentView(agent, tableIn(tableIn(shown, 'agent'), agent.name)));

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
