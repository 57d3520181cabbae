import type { McpServerConfig as Configured } from './config/types.ts';
import type { McpServerConfig } from './mcp/config.ts';

const serverFrom = (server: Configured): McpServerConfig => {
  const { isEnabled: enabled, timeoutMs } = server;
  if (server.type === 'remote') {
    const { url, headers } = server;
    return { kind: 'remote', url, headers, enabled, timeoutMs, oauth: false };
  }
  const { command, environment, cwd } = server;
  return { kind: 'local', command, environment, enabled, timeoutMs, ...(cwd === undefined ? {} : { cwd }) };
};

/** The tool servers of the configuration, by name. */
export const mcpServersFrom = (servers: ReadonlyMap<string, Configured>): Readonly<Record<string, McpServerConfig>> =>
  Object.fromEntries([...servers].map(([name, server]) => [name, serverFrom(server)]));
