import type { EventDraft } from '../../../../src/agent/protocol/events.ts';
import type { AgentTool, ToolOutcome } from '../../../../src/agent/tools/tool.ts';
// Loaded here already: a clock that stands still waits for no files.
import '../../../../src/agent/tools/mcp/client.ts';
import type { LocalMcpServer, McpServerConfig } from '../../../../src/agent/config/types.ts';
import type { McpTransport, McpTransports } from '../../../../src/agent/tools/mcp/client.ts';
import { createMcpServers, type McpServers } from '../../../../src/agent/tools/mcp/servers.ts';
import type { Clock } from '../../../../src/core/clock.ts';
import type { LogFields, LogLevel } from '../../../../src/core/log.ts';

type LogLine = { readonly level: LogLevel; readonly event: string } & LogFields;

export type McpWorld = {
  readonly servers: McpServers;
  readonly events: readonly EventDraft[];
  readonly lines: readonly LogLine[];
  /** Calls a tool by the name that a model has for it. */
  readonly call: (
    name: string,
    input?: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ) => Promise<ToolOutcome>;
  readonly toolNames: () => readonly string[];
};

type McpWorldNeeds = {
  readonly servers: Readonly<Record<string, McpServerConfig>>;
  readonly transports: McpTransports;
  readonly clock: Clock;
  readonly chance?: () => number;
};

/** A local server of this name, which `inMemory` knows by the same name. */
export const local = (name: string, more: Partial<LocalMcpServer> = {}): LocalMcpServer => ({
  name,
  type: 'local',
  command: [name],
  environment: {},
  isEnabled: true,
  cwd: undefined,
  timeoutMs: 30_000,
  ...more,
});

/** Ways to servers in this process: a new one each time, made by what the server's command names. */
export const inMemory = (makers: Readonly<Record<string, () => McpTransport>>): McpTransports => {
  const open = (name: string): McpTransport => {
    const maker = makers[name];
    if (maker === undefined) throw new Error('CANARY: no such server');
    return maker();
  };
  return { local: ({ command }) => open(command[0] ?? ''), remote: ({ url }) => open(url) };
};

const callTool = (
  tools: readonly AgentTool[],
  name: string,
  {
    input = {},
    signal = new AbortController().signal,
  }: { readonly input?: object; readonly signal?: AbortSignal } = {},
): Promise<ToolOutcome> => {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name} among ${tools.map((one) => one.name)}`);
  return tool.run({ ...input }, { sessionID: 's', messageID: 'm', callID: 'c', agent: 'build', signal });
};

/** Servers with everything they tell kept. */
export const createMcpWorld = ({ servers: configs, transports, clock, chance = () => 0 }: McpWorldNeeds): McpWorld => {
  const events: EventDraft[] = [];
  const lines: LogLine[] = [];
  const servers = createMcpServers({
    servers: configs,
    transports: () => transports,
    clock,
    chance,
    version: '1.2.3',
    directory: '/srv/desk',
    log: (level, event, fields = {}) => void lines.push({ level, event, ...fields }),
    publish: (draft) => void events.push(draft),
  });
  return {
    servers,
    events,
    lines,
    call: (name, input = {}, signal = new AbortController().signal) =>
      callTool(servers.tools(), name, { input, signal }),
    toolNames: () => servers.tools().map(({ name }) => name),
  };
};
