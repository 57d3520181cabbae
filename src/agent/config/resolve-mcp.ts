import type { McpSettings } from './mcp-schema.ts';
import type { McpServerConfig } from './types.ts';

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
