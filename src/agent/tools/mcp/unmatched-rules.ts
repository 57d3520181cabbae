import { toolPrefix } from '../../config/names.ts';
import { isLiteral, wildcard } from '../../protocol/wildcard.ts';
import type { AgentRuntime } from '../../runtime.ts';
import type { McpStatus } from './connection.ts';
import type { McpServers } from './servers.ts';

type RulesAndTools = {
  /** The tool patterns of permission rules, as they are written. */
  readonly permissions: readonly string[];
  /** The names of all existing tools. */
  readonly tools: readonly string[];
  /** All tool servers. The tools of connected ones are known. */
  readonly statuses: Readonly<Record<string, McpStatus>>;
};

/** Whether a rule could match tools with this prefix. */
const canMatchPrefix = (permission: string, prefix: string): boolean => {
  const [head = ''] = permission.split(/[*?]/);
  return head.startsWith(prefix) || (!isLiteral(permission) && prefix.startsWith(head));
};

/**
 * The rules that match no tool, most often because of a misspelled name. Leaves out rules that may match tools of a server
 * that is not connected, and plain names that no server could have: the configuration has warned of those already.
 */
export const findUnmatchedRules = ({ permissions, tools, statuses }: RulesAndTools): readonly string[] => {
  const servers = Object.keys(statuses);
  const away = servers.filter((server) => statuses[server]?.status !== 'connected');
  return [...new Set(permissions)].filter((permission) => {
    if (tools.some(wildcard(permission))) return false;
    if (isLiteral(permission) && !servers.some((server) => permission.startsWith(toolPrefix(server)))) return false;
    return !away.some((server) => canMatchPrefix(permission, toolPrefix(server)));
  });
};

const TOOLS_READY_LIMIT_MS = 60_000;

/**
 * Logs the agents' rules that match no tool, once the tool servers are connected: a rule with a typing error in it denies
 * nothing. Rejects when the server stops before.
 */
export const logUnmatchedRules = async (
  { catalog, log, ending }: AgentRuntime,
  mcp: Pick<McpServers, 'settled' | 'tools' | 'statuses'>,
): Promise<void> => {
  await mcp.settled(TOOLS_READY_LIMIT_MS, ending);
  const permissions = [...catalog.agents.values()].flatMap(({ rules }) => rules.map((rule) => rule.permission));
  const tools = ['task', ...mcp.tools().map(({ name }) => name)];
  for (const tool of findUnmatchedRules({ permissions, tools, statuses: mcp.statuses() }))
    log('warn', 'rule-matches-no-tool', { tool });
};
