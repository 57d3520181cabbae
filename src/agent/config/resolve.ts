import { DEFAULT_LIMITS } from '../model/http.ts';
import { parsePermissionRules } from '../protocol/permission-rules.ts';
import type { Rule } from '../protocol/types.ts';
import { parseModelRef, variantNames } from './names.ts';
import type { AgentEntrySettings, CommandEntrySettings, McpSettings } from './schema.ts';
import { adapterOf, type ModelSettings, type ProviderSettings } from './schema-provider.ts';
import {
  type AgentConfig,
  agentIds,
  builtInAgentFor,
  type CommandConfig,
  type McpServerConfig,
  type ModelConfig,
  type ProviderConfig,
} from './types.ts';

type AgentDefaults = { readonly rules: readonly Rule[]; readonly steps: number };

const resolveAgent = (name: string, agent: AgentEntrySettings, { rules, steps }: AgentDefaults): AgentConfig => {
  const builtIn = builtInAgentFor(name);
  return {
    name,
    description: agent.description ?? (builtIn.description || undefined),
    mode: agent.mode ?? builtIn.mode,
    isNative: builtIn.isNative,
    isHidden: agent.hidden ?? builtIn.isHidden,
    color: agent.color,
    temperature: agent.temperature,
    topP: agent.top_p,
    model: agent.model === undefined ? undefined : parseModelRef(agent.model),
    variant: agent.variant,
    prompt: agent.prompt,
    options: agent.options ?? {},
    steps: agent.steps ?? steps,
    // The rules of a built-in agent apply even if the file allows everything for all agents.
    rules: [...rules, ...parsePermissionRules(builtIn.permission), ...parsePermissionRules(agent.permission ?? {})],
  };
};

/** The built-in agents and those of the file, without the disabled ones. */
export const resolveAgents = (
  settings: Readonly<Record<string, AgentEntrySettings>>,
  shared: AgentDefaults,
): ReadonlyMap<string, AgentConfig> =>
  new Map(agentIds({ agent: settings }).map((id) => [id, resolveAgent(id, settings[id] ?? {}, shared)]));

/** The commands by their names. */
export const resolveCommands = (
  settings: Readonly<Record<string, CommandEntrySettings>>,
): ReadonlyMap<string, CommandConfig> =>
  new Map(
    Object.entries(settings).map(([name, { template, description, agent, model, variant }]) => {
      const ref = model === undefined ? undefined : parseModelRef(model);
      const chosen = ref === undefined || variant === undefined ? ref : { ...ref, variant };
      return [name, { name, template, description, agent, model: chosen }];
    }),
  );

const DEFAULT_TIMEOUT_MS = 30_000;

const resolveMcpServer = (name: string, server: McpSettings): McpServerConfig => {
  const shared = { name, isEnabled: server.enabled ?? true, timeoutMs: server.timeout ?? DEFAULT_TIMEOUT_MS };
  if (server.type === 'remote') return { ...shared, type: 'remote', url: server.url, headers: server.headers ?? {} };
  const { command, cwd, environment = {} } = server;
  return { ...shared, type: 'local', command, cwd, environment };
};

/** All tool servers, including disabled ones, which are listed too. */
export const resolveMcpServers = (
  settings: Readonly<Record<string, McpSettings>>,
): ReadonlyMap<string, McpServerConfig> =>
  new Map(Object.entries(settings).map(([name, server]) => [name, resolveMcpServer(name, server)]));

type Options = Readonly<Record<string, unknown>>;

/** An empty variant is the reasoning effort of its name. */
const variantOptions = (name: string, { disabled: _, ...options }: Options): Options =>
  Object.keys(options).length === 0 ? { reasoningEffort: name } : options;

const resolveVariants = (model: ModelSettings): ReadonlyMap<string, Options> =>
  new Map(variantNames(model).map((name) => [name, variantOptions(name, model.variants?.[name] ?? {})]));

type ModelLocation = {
  readonly providerID: string;
  readonly modelID: string;
  readonly headers: ProviderConfig['headers'];
};

const resolveModel = ({ providerID, modelID, headers }: ModelLocation, model: ModelSettings): ModelConfig => ({
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
  variants: resolveVariants(model),
  headers: { ...headers, ...model.headers },
});

/** `false` means no limit, which is 0 in `BackendLimits`. */
const limitMs = (given: number | false | undefined, fallback: number): number =>
  given === false ? 0 : (given ?? fallback);

const resolveProvider = (id: string, provider: ProviderSettings): ProviderConfig => {
  const { baseURL, apiKey, headers = {}, timeout, headerTimeout, chunkTimeout } = provider.options ?? {};
  return {
    id,
    name: provider.name ?? id,
    npm: adapterOf(id, provider.npm),
    baseURL: baseURL ?? provider.api,
    apiKey,
    headers,
    limits: {
      headerMs: limitMs(headerTimeout, DEFAULT_LIMITS.headerMs),
      gapMs: limitMs(chunkTimeout, DEFAULT_LIMITS.gapMs),
      wholeMs: limitMs(timeout, DEFAULT_LIMITS.wholeMs),
    },
    models: new Map(
      Object.entries(provider.models ?? {}).map(([modelID, model]) => [
        modelID,
        resolveModel({ providerID: id, modelID, headers }, model),
      ]),
    ),
  };
};

/** All providers with their models and all defaults. */
export const resolveProviders = (
  settings: Readonly<Record<string, ProviderSettings>>,
): ReadonlyMap<string, ProviderConfig> =>
  new Map(Object.entries(settings).map(([id, provider]) => [id, resolveProvider(id, provider)]));
