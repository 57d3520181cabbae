import { placeholdersOf } from '../protocol/command-template.ts';
import { objectField, textField } from './names.ts';
import {
  type AgentConfig,
  type AgentServerConfig,
  type Medium,
  type ModelConfig,
  modelConfigFor,
  type ProviderConfig,
} from './types.ts';

type Table = Readonly<Record<string, unknown>>;

/** An agent as the wire shows it (OpenCode 1.x, `Agent`). Settings that may hold a secret come from `redacted`. */
const toAgentView = (agent: AgentConfig, redacted: Table) => {
  const written =
    agent.description === undefined ? undefined : (textField(redacted, 'description') ?? agent.description);
  const prompt = textField(redacted, 'prompt');
  const color = textField(redacted, 'color');
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
    options: objectField(redacted, 'options'),
    steps: agent.steps,
  };
};

/** The body of `GET /agent`: all agents, including hidden ones, the default one first. */
export const createAgentList = ({ agents, defaultAgent, redacted }: AgentServerConfig) =>
  [...agents.values()]
    .toSorted((left, right) => Number(right.name === defaultAgent) - Number(left.name === defaultAgent))
    .map((agent) => toAgentView(agent, objectField(objectField(redacted, 'agent'), agent.name)));

/** The body of `GET /command` (OpenCode 1.x, `Command`): what clients offer by name. */
export const createCommandList = ({ commands, redacted }: AgentServerConfig) =>
  [...commands.values()].map(({ name, template, agent, model }) => {
    const shown = objectField(objectField(redacted, 'command'), name);
    const description = textField(shown, 'description');
    return {
      name,
      ...(description === undefined ? {} : { description }),
      ...(agent === undefined ? {} : { agent }),
      ...(model === undefined ? {} : { model: `${model.providerID}/${model.modelID}` }),
      source: 'command',
      template: textField(shown, 'template') ?? '',
      hints: placeholdersOf(template),
    };
  });

type Media = Readonly<Record<Medium, boolean>>;

const toMedia = (media: readonly Medium[]): Media => ({
  text: media.includes('text'),
  audio: media.includes('audio'),
  image: media.includes('image'),
  video: media.includes('video'),
  pdf: media.includes('pdf'),
});

type ModelContext = { readonly npm: string; readonly url: string; readonly redacted: Table };

/** All variants. Those that are written in the file are redacted. */
const toVariantViews = (model: ModelConfig, redacted: Table): Readonly<Record<string, Table>> =>
  Object.fromEntries(
    [...model.variants].map(([name, options]) => {
      const { disabled: _, ...written } = objectField(objectField(redacted, 'variants'), name);
      return [name, Object.keys(written).length === 0 ? options : written];
    }),
  );

/** A model as the wire shows it (OpenCode 1.x, `Model`). */
const toModelView = (model: ModelConfig, { npm, url, redacted }: ModelContext) => ({
  id: model.modelID,
  providerID: model.providerID,
  api: { id: textField(redacted, 'id') ?? model.modelID, url, npm },
  name: textField(redacted, 'name') ?? model.modelID,
  capabilities: {
    temperature: model.takesTemperature,
    reasoning: model.reasoning !== false,
    attachment: model.takesAttachments,
    toolcall: model.takesTools,
    input: toMedia(model.input),
    output: toMedia(model.output),
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
  status: 'active' as const,
  options: objectField(redacted, 'options'),
  headers: {},
  release_date: '',
  variants: toVariantViews(model, redacted),
});

/** A provider as the wire shows it. Has no `key`, unlike OpenCode's. */
const toProviderView = (provider: ProviderConfig, redacted: Table) => {
  const { apiKey: _key, headers: _headers, ...options } = objectField(redacted, 'options');
  const url = textField(options, 'baseURL') ?? textField(redacted, 'api') ?? '';
  return {
    id: provider.id,
    name: textField(redacted, 'name') ?? provider.id,
    source: 'config' as const,
    env: [],
    options,
    models: Object.fromEntries(
      [...provider.models].map(([key, model]) => [
        key,
        toModelView(model, { npm: provider.npm, url, redacted: objectField(objectField(redacted, 'models'), key) }),
      ]),
    ),
  };
};

const toProviderViews = ({ providers, redacted }: AgentServerConfig) =>
  [...providers.values()].map((provider) =>
    toProviderView(provider, objectField(objectField(redacted, 'provider'), provider.id)),
  );

/** The model of each provider that clients offer first: the default model, or the first one. */
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
export const createProviderList = (config: AgentServerConfig) => ({
  all: toProviderViews(config),
  default: firstModels(config),
  connected: [...config.providers.keys()],
});

/** The body of `GET /config/providers`. */
export const createConfigProviders = (config: AgentServerConfig) => ({
  providers: toProviderViews(config),
  default: firstModels(config),
});

/** The configuration in the shapes of `GET /config`, `/provider`, `/config/providers`, `/agent` and `/command`. */
export type ConfigViews = {
  readonly config: unknown;
  readonly provider: unknown;
  readonly configProviders: unknown;
  readonly agent: unknown;
  readonly command: unknown;
};
