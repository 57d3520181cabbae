import { wildcard } from '../../core/wildcard.ts';
import type { McpStatus } from './connection.ts';

export type RulesAndTools = {
  /** Tools of rules, as they are written. */
  readonly permissions: readonly string[];
  /** Names of all tools that there are. */
  readonly tools: readonly string[];
  /** Every tool server, and whether its tools are known. */
  readonly statuses: Readonly<Record<string, McpStatus>>;
};

const prefixOf = (server: string): string => `${server.replace(/[^\w-]/g, '_')}_`;
const isLiteral = (permission: string): boolean => !/[*?]/.test(permission);

/** Whether a rule could be about tools that begin so. */
const canBegin = (permission: string, prefix: string): boolean => {
  const [head = ''] = permission.split(/[*?]/);
  return head.startsWith(prefix) || (!isLiteral(permission) && prefix.startsWith(head));
};

/**
 * Rules that are about none of the tools: most often a name with a slip in it. Nothing is said of what may be about a
 * server that is away, nor of plain names that no server could give: of those the configuration has warned already.
 */
export const unmatchedRules = ({ permissions, tools, statuses }: RulesAndTools): readonly string[] => {
  const servers = Object.keys(statuses);
  const away = servers.filter((server) => statuses[server]?.status !== 'connected');
  return [...new Set(permissions)].filter((permission) => {
    if (tools.some(wildcard(permission))) return false;
    if (isLiteral(permission) && !servers.some((server) => permission.startsWith(prefixOf(server)))) return false;
    return !away.some((server) => canBegin(permission, prefixOf(server)));
  });
};
