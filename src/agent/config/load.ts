import { type ReadFile, readOrReason, unreadableFile, type Variables } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import { parsePermissionRules } from '../protocol/permission-rules.ts';
import { type ConfigIssue, modelNames, parseModelRef } from './names.ts';
import { redactConfig } from './redacted.ts';
import { resolveAgents, resolveCommands, resolveMcpServers, resolveProviders } from './resolve.ts';
import type { ConfigSettings } from './schema.ts';
import { type ConfigSource, findSource, mergeConfig, readConfigSources } from './sources.ts';
import { type AgentServerConfig, DEFAULT_RULES, FIRST_AGENT, primaryAgentIds } from './types.ts';
import { validateConfig } from './validate.ts';

const PERMISSION_TIMEOUT_MS = 300_000;
/** The tools of relay admin that change something, under the name that the examples give the server. */
const PERMISSION_ONCE_ONLY = [
  'relay-admin_recharge',
  'relay-admin_update_user_limits',
  'relay-admin_set_account_schedulable',
];
const TURN_TIMEOUT_MS = 1_800_000;
const STEPS = 50;
const OUTPUT_LINES = 2000;
const OUTPUT_BYTES = 51_200;

type Instructions = AgentServerConfig['instructions'];
type LoadedParts = Pick<AgentServerConfig, 'redacted' | 'warnings' | 'instructions'>;

const mergeSources = (sources: readonly ConfigSource[], part: 'written' | 'resolved'): unknown =>
  sources.map((source) => source[part]).reduce((base, over) => mergeConfig(base, over));

/** The texts of `instructions`, and an issue for each file that cannot be read. */
const readInstructions = (
  file: unknown,
  readFile: ReadFile,
): { readonly instructions: Instructions; readonly issues: readonly ConfigIssue[] } => {
  const given: readonly unknown[] = isRecord(file) && Array.isArray(file.instructions) ? file.instructions : [];
  const loaded = given.map((path) => {
    const { text = undefined, reason = '' } = typeof path === 'string' ? readOrReason(readFile, path) : {};
    return { path, text: text?.trim(), reason };
  });
  return {
    instructions: loaded.flatMap(({ path, text }) =>
      typeof path === 'string' && text !== undefined ? [{ path, text }] : [],
    ),
    issues: loaded.flatMap(({ path, text, reason }, index) =>
      typeof path === 'string' && path !== '' && text === undefined
        ? [{ path: ['instructions', index], text: unreadableFile(reason) }]
        : [],
    ),
  };
};

/** Fills in the defaults of validated settings. An error here is a bug, not a `ConfigError`. */
const resolveConfig = (settings: ConfigSettings, loaded: LoadedParts): AgentServerConfig => {
  const [onlyModel] = modelNames(settings);
  const defaultModel = settings.model ?? onlyModel;
  const primary = primaryAgentIds(settings);
  const defaultAgent = settings.default_agent ?? primary.find((id) => id === FIRST_AGENT) ?? primary[0];
  if (defaultModel === undefined || defaultAgent === undefined) throw new Error('Cannot resolve what was not checked');
  const rules = [...DEFAULT_RULES, ...parsePermissionRules(settings.permission ?? {})];
  const steps = settings.steps ?? STEPS;
  return {
    ...loaded,
    providers: resolveProviders(settings.provider ?? {}),
    defaultModel: parseModelRef(defaultModel),
    smallModel: settings.small_model === undefined ? undefined : parseModelRef(settings.small_model),
    agents: resolveAgents(settings.agent ?? {}, { rules, steps }),
    defaultAgent,
    commands: resolveCommands(settings.command ?? {}),
    mcp: resolveMcpServers(settings.mcp ?? {}),
    rules,
    permissionTimeoutMs: settings.permission_timeout ?? PERMISSION_TIMEOUT_MS,
    permissionOnceOnly: settings.permission_once_only ?? PERMISSION_ONCE_ONLY,
    turnTimeoutMs: settings.turn_timeout ?? TURN_TIMEOUT_MS,
    steps,
    compaction: { isAuto: settings.compaction?.auto ?? true, reservedTokens: settings.compaction?.reserved },
    toolOutput: {
      maxLines: settings.tool_output?.max_lines ?? OUTPUT_LINES,
      maxBytes: settings.tool_output?.max_bytes ?? OUTPUT_BYTES,
    },
  };
};

/**
 * Reads the startup configuration from the file that `AGENT_CONFIG` names and the text in `AGENT_CONFIG_CONTENT`, which
 * overrides the file. Throws one `ConfigError` with all errors, each with its path and never with a value.
 */
export const readAgentConfig = (variables: Variables, readFile: ReadFile): AgentServerConfig => {
  const sources = readConfigSources(variables, readFile);
  const file = mergeSources(sources, 'resolved');
  const written = mergeSources(sources, 'written');
  const { instructions, issues } = readInstructions(file, readFile);
  const known = [...sources.flatMap((source) => source.issues), ...issues];
  const { settings, warnings } = validateConfig(file, known, (path) => findSource(path, sources));
  // Whatever was configured: clients hide their commands for sharing then.
  const redacted = { ...redactConfig(isRecord(written) ? written : {}), share: 'disabled' };
  return resolveConfig(settings, { redacted, warnings, instructions });
};
