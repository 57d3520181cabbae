import type { Variables } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import { parsePermissionRules } from '../protocol/permission-rules.ts';
import { type ConfigProblem, modelNames, modelRef } from './names.ts';
import { shownConfig } from './redacted.ts';
import { agentsFrom, mcpFrom, providersFrom } from './resolve.ts';
import type { ConfigSettings } from './schema.ts';
import { type ConfigSource, configSources, mergedOver, type ReadFile, sourceOf } from './sources.ts';
import { type AgentServerConfig, DEFAULT_RULES, FIRST_AGENT, primaryAgentIds } from './types.ts';
import { checkedSettings } from './validate.ts';

const PERMISSION_TIMEOUT_MS = 300_000;
const TURN_TIMEOUT_MS = 1_800_000;
const STEPS = 50;
const OUTPUT_LINES = 2000;
const OUTPUT_BYTES = 51_200;

type Instructions = AgentServerConfig['instructions'];
type Read = Pick<AgentServerConfig, 'shown' | 'warnings' | 'instructions'>;

const merged = (sources: readonly ConfigSource[], part: 'written' | 'filled'): unknown =>
  sources.map((source) => source[part]).reduce((base, over) => mergedOver(base, over));

/** The texts of `instructions`, and a problem for each file that cannot be read. */
const readInstructions = (
  file: unknown,
  readFile: ReadFile,
): { readonly instructions: Instructions; readonly problems: readonly ConfigProblem[] } => {
  const given: readonly unknown[] = isRecord(file) && Array.isArray(file.instructions) ? file.instructions : [];
  const read = given.map((path) => ({ path, text: typeof path === 'string' ? readFile(path)?.trim() : undefined }));
  return {
    instructions: read.flatMap(({ path, text }) =>
      typeof path === 'string' && text !== undefined ? [{ path, text }] : [],
    ),
    problems: read.flatMap(({ path, text }, index) =>
      typeof path === 'string' && path !== '' && text === undefined
        ? [{ path: ['instructions', index], text: 'expected the path of a file that can be read' }]
        : [],
    ),
  };
};

/** A text that was checked cannot fail here any more; should it, that is a bug and no `ConfigError`. */
const resolved = (settings: ConfigSettings, read: Read): AgentServerConfig => {
  const [onlyModel] = modelNames(settings);
  const defaultModel = settings.model ?? onlyModel;
  const primary = primaryAgentIds(settings);
  const defaultAgent = settings.default_agent ?? primary.find((id) => id === FIRST_AGENT) ?? primary[0];
  if (defaultModel === undefined || defaultAgent === undefined) throw new Error('Cannot resolve what was not checked');
  const rules = [...DEFAULT_RULES, ...parsePermissionRules(settings.permission ?? {})];
  const steps = settings.steps ?? STEPS;
  return {
    ...read,
    providers: providersFrom(settings.provider ?? {}),
    defaultModel: modelRef(defaultModel),
    smallModel: settings.small_model === undefined ? undefined : modelRef(settings.small_model),
    agents: agentsFrom(settings.agent ?? {}, { rules, steps }),
    defaultAgent,
    mcp: mcpFrom(settings.mcp ?? {}),
    rules,
    permissionTimeoutMs: settings.permission_timeout ?? PERMISSION_TIMEOUT_MS,
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
 * The startup configuration from the file that `AGENT_CONFIG` names and the text in `AGENT_CONFIG_CONTENT`, the latter
 * merged over the former. Throws one `ConfigError` with every problem in it, by path and never with a value.
 */
export const readAgentConfig = (variables: Variables, readFile: ReadFile): AgentServerConfig => {
  const sources = configSources(variables, readFile);
  const file = merged(sources, 'filled');
  const written = merged(sources, 'written');
  const { instructions, problems } = readInstructions(file, readFile);
  const known = [...sources.flatMap((source) => source.problems), ...problems];
  const { settings, warnings } = checkedSettings(file, known, (path) => sourceOf(path, sources));
  return resolved(settings, { shown: shownConfig(isRecord(written) ? written : {}), warnings, instructions });
};
