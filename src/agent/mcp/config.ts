import type { McpServerConfig as Configured } from '../config/types.ts';

/** A tool server that is a program: it is started, and spoken to over its standard streams. */
export type LocalMcpServer = {
  readonly kind: 'local';
  /** The program, and behind it its arguments. No shell is involved. */
  readonly command: readonly string[];
  readonly cwd?: string;
  /** All that the program gets beside `PATH`, `HOME` and `LANG`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  readonly timeoutMs: number;
};

/** A tool server that is reached over HTTP. */
export type RemoteMcpServer = {
  readonly kind: 'remote';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  readonly timeoutMs: number;
  /** Accepted for configurations of others, and without effect: the headers are the only credentials. */
  readonly oauth: boolean;
};

/** A tool server as the configuration has it, with every default filled in. */
export type McpServerConfig = LocalMcpServer | RemoteMcpServer;

/** For the handshake, for the list of tools and for each call, unless the configuration says otherwise. */
export const MCP_TIMEOUT_MS = 30_000;

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
