import { DEFAULT_LIMITS } from '../model/http.ts';
import { parsePermissionRules } from '../protocol/permission-rules.ts';
import type { Rule } from '../protocol/types.ts';
import { modelRef, variantNames } from './names.ts';
import type { AgentSettings, McpSettings } from './schema.ts';
import { adapterOf, type ModelSettings, type ProviderSettings } from './schema-provider.ts';
import {
  type AgentConfig,
  agentIds,
  builtInOf,
  type McpServerConfig,
  type ModelConfig,
  type ProviderConfig,
} from './types.ts';

type Shared = { readonly rules: readonly Rule[]; readonly steps: number };

const agentFrom = (name: string, agent: AgentSettings, { rules, steps }: Shared): AgentConfig => {
  const builtIn = builtInOf(name);
  return {
    name,
    description: agent.description ?? (builtIn.description || undefined),
    mode: agent.mode ?? builtIn.mode,
    isNative: builtIn.isNative,
    isHidden: agent.hidden ?? builtIn.isHidden,
    color: agent.color,
    temperature: agent.temperature,
    topP: agent.top_p,
    model: agent.model === undefined ? undefined : modelRef(agent.model),
    variant: agent.variant,
    prompt: agent.prompt,
    options: agent.options ?? {},
    steps: agent.steps ?? steps,
    // What a built-in agent is not for stays denied, also where the file allows everything for all.
    rules: [...rules, ...parsePermissionRules(builtIn.permission), ...parsePermissionRules(agent.permission ?? {})],
  };
};

/** The built-in agents and those of the file, without the disabled ones. */
export const agentsFrom = (
  settings: Readonly<Record<string, AgentSettings>>,
  shared: Shared,
): ReadonlyMap<string, AgentConfig> =>
  new Map(agentIds({ agent: settings }).map((id) => [id, agentFrom(id, settings[id] ?? {}, shared)]));

const USUAL_TIMEOUT_MS = 30_000;

const serverFrom = (name: string, server: McpSettings): McpServerConfig => {
  const shared = { name, isEnabled: server.enabled ?? true, timeoutMs: server.timeout ?? USUAL_TIMEOUT_MS };
  if (server.type === 'remote') return { ...shared, type: 'remote', url: server.url, headers: server.headers ?? {} };
  const { command, cwd, environment = {} } = server;
  return { ...shared, type: 'local', command, cwd, environment };
};

/** The tool servers, the disabled ones too: they are listed. */
export const mcpFrom = (settings: Readonly<Record<string, McpSettings>>): ReadonlyMap<string, McpServerConfig> =>
  new Map(Object.entries(settings).map(([name, server]) => [name, serverFrom(name, server)]));

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
      headerMs: limitMs(headerTimeout, DEFAULT_LIMITS.headerMs),
      gapMs: limitMs(chunkTimeout, DEFAULT_LIMITS.gapMs),
      wholeMs: limitMs(timeout, DEFAULT_LIMITS.wholeMs),
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
