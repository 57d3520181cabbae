import type { BundledAdapter } from '../model/adapters.ts';
import type { BackendLimits } from '../model/http.ts';
import { type PermissionSettings, parsePermissionRules } from '../protocol/permission-rules.ts';
import type { ModelRef, Rule } from '../protocol/types.ts';
import { objectField } from './names.ts';

/** `primary` answers users, `subagent` works for other agents, `all` does both. */
type AgentMode = 'primary' | 'subagent' | 'all';

type BuiltIn = {
  readonly description: string;
  readonly mode: AgentMode;
  readonly isHidden: boolean;
  readonly permission: PermissionSettings;
};

/** The first permission rules of every agent. Later rules override them. */
export const DEFAULT_RULES: readonly Rule[] = parsePermissionRules('allow');

const BUILT_IN: ReadonlyMap<string, BuiltIn> = new Map([
  [
    'build',
    { description: 'Answers, and uses every tool that it may.', mode: 'primary', isHidden: false, permission: {} },
  ],
  [
    'plan',
    {
      description: 'Looks and thinks ahead without changing files.',
      mode: 'primary',
      isHidden: false,
      permission: { edit: 'deny' },
    },
  ],
  [
    'general',
    {
      description: 'Works through a task of several steps for another agent and reports what came of it.',
      mode: 'subagent',
      isHidden: false,
      permission: {},
    },
  ],
  ['title', { description: 'Names a session.', mode: 'primary', isHidden: true, permission: { '*': 'deny' } }],
  [
    'compaction',
    { description: 'Sums up a long session.', mode: 'primary', isHidden: true, permission: { '*': 'deny' } },
  ],
]);

/** The default agent, if it is not disabled. */
export const FIRST_AGENT = 'build';
const CUSTOM_AGENT: BuiltIn = { description: '', mode: 'all', isHidden: false, permission: {} };

/** The defaults of an agent, before the settings of the file. */
export const builtInAgentFor = (id: string): BuiltIn & { readonly isNative: boolean } => ({
  ...(BUILT_IN.get(id) ?? CUSTOM_AGENT),
  isNative: BUILT_IN.has(id),
});

/** The ids of all agents of a configuration, valid or not, without the disabled ones. */
export const agentIds = (file: unknown): readonly string[] => {
  const written = objectField(file, 'agent');
  return [...new Set([...BUILT_IN.keys(), ...Object.keys(written)])].filter(
    (id) => objectField(written, id).disable !== true,
  );
};

/** The ids of the agents of a configuration, valid or not, that prompts may name. */
export const answeringAgentIds = (file: unknown): readonly string[] => {
  const written = objectField(file, 'agent');
  return agentIds(file).filter((id) => (objectField(written, id).hidden ?? builtInAgentFor(id).isHidden) !== true);
};

/** The ids of those of them that answer users. */
export const primaryAgentIds = (file: unknown): readonly string[] => {
  const written = objectField(file, 'agent');
  return answeringAgentIds(file).filter(
    (id) => (objectField(written, id).mode ?? builtInAgentFor(id).mode) !== 'subagent',
  );
};

export type Medium = 'text' | 'audio' | 'image' | 'video' | 'pdf';
type Options = Readonly<Record<string, unknown>>;

/** A model with all settings. A limit of 0 tokens is unknown. */
export type ModelConfig = {
  readonly providerID: string;
  /** Its key in the configuration, which is its id on our wire. */
  readonly modelID: string;
  /** Its id at the provider. */
  readonly upstreamID: string;
  readonly name: string;
  readonly limit: { readonly context: number; readonly input: number | undefined; readonly output: number };
  /** Money for a million tokens. */
  readonly cost: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
  };
  /** `split`: its think sections become parts of their own. */
  readonly reasoning: boolean | 'split';
  readonly takesTemperature: boolean;
  readonly takesTools: boolean;
  readonly takesAttachments: boolean;
  readonly input: readonly Medium[];
  readonly output: readonly Medium[];
  readonly options: Options;
  /** What each variant adds to the options. */
  readonly variants: ReadonlyMap<string, Options>;
  /** Includes those of its provider. */
  readonly headers: Readonly<Record<string, string>>;
};

export type ProviderConfig = {
  readonly id: string;
  readonly name: string;
  readonly npm: BundledAdapter;
  /** None: the adapter's own. */
  readonly baseURL: string | undefined;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: BackendLimits;
  readonly models: ReadonlyMap<string, ModelConfig>;
};

export type AgentConfig = {
  readonly name: string;
  readonly description: string | undefined;
  readonly mode: AgentMode;
  readonly isNative: boolean;
  readonly isHidden: boolean;
  readonly color: string | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly model: ModelRef | undefined;
  readonly variant: string | undefined;
  /** Undefined: the built-in prompt of its kind of agent. */
  readonly prompt: string | undefined;
  /** Added to those of the model that answers. */
  readonly options: Options;
  readonly steps: number;
  /** The default rules, the configuration's, and its own. The last one that matches a call applies. */
  readonly rules: readonly Rule[];
};

/** A prompt that clients send by name. */
export type CommandConfig = {
  readonly name: string;
  /** With placeholders for arguments, as `expandTemplate` takes them. */
  readonly template: string;
  readonly description: string | undefined;
  /** Undefined: the one that the client names, or the session's. The same holds for the model. */
  readonly agent: string | undefined;
  readonly model: ModelRef | undefined;
};

type McpServerCommon = {
  readonly name: string;
  readonly isEnabled: boolean;
  /** For connecting, for listing the tools and for every call. */
  readonly timeoutMs: number;
};

/** A tool server that is started as a program, and communicates over its standard streams. */
export type LocalMcpServer = McpServerCommon & {
  readonly type: 'local';
  /** The program and its arguments. No shell runs it. */
  readonly command: readonly string[];
  /** Relative to the working directory. */
  readonly cwd: string | undefined;
  /** All variables that the program gets beside `PATH`, `HOME` and `LANG`. */
  readonly environment: Readonly<Record<string, string>>;
};

/** A tool server that is reached over HTTP. */
export type RemoteMcpServer = McpServerCommon & {
  readonly type: 'remote';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** A tool server with all defaults filled in. */
export type McpServerConfig = LocalMcpServer | RemoteMcpServer;

/** How much of a tool's output a model gets. The whole output is stored. */
export type OutputLimits = { readonly maxLines: number; readonly maxBytes: number };

/** The validated startup configuration with all defaults. Holds secrets: only `redacted` may leave the server. */
export type AgentServerConfig = {
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  readonly defaultModel: ModelRef;
  /** For titles. Undefined: the model of the session. */
  readonly smallModel: ModelRef | undefined;
  /** Every agent that is not disabled, the hidden ones too. */
  readonly agents: ReadonlyMap<string, AgentConfig>;
  readonly defaultAgent: string;
  readonly commands: ReadonlyMap<string, CommandConfig>;
  readonly mcp: ReadonlyMap<string, McpServerConfig>;
  /** The default rules and the configuration's own, with which the rules of each agent begin. */
  readonly rules: readonly Rule[];
  readonly permissionTimeoutMs: number;
  /** Patterns of the names of tools whose calls are never allowed with `always`. */
  readonly permissionOnceOnly: readonly string[];
  readonly turnTimeoutMs: number;
  readonly steps: number;
  readonly compaction: { readonly isAuto: boolean; readonly reservedTokens: number | undefined };
  readonly toolOutput: OutputLimits;
  /** Texts for every system prompt, in order. */
  readonly instructions: readonly { readonly path: string; readonly text: string }[];
  /** The configuration as it was written, without secrets. */
  readonly redacted: Readonly<Record<string, unknown>>;
  /** A line for each setting that has no effect. */
  readonly warnings: readonly string[];
};

/** The model of a reference, or undefined: a stored session may refer to a model that was removed. */
export const modelConfigFor = (
  { providers }: Pick<AgentServerConfig, 'providers'>,
  { providerID, modelID }: ModelRef,
): ModelConfig | undefined => providers.get(providerID)?.models.get(modelID);
