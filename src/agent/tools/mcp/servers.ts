import { pauseUntil, untilAborted } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import type { McpServerConfig } from '../../config/types.ts';
import type { EventDraft } from '../../protocol/events.ts';
import type { AgentTool } from '../tool.ts';
import { createToolbox, settingName } from './agent-tools.ts';
import type { McpTransport, McpTransports } from './client.ts';
import type { McpEvent, McpStatus } from './connection.ts';
import { createProgramLog, formatLastStderr } from './server-output.ts';
import { createToolServer, type ToolServer } from './tool-server.ts';

/** The tool servers of the configuration, kept connected from `start` to `stop`. */
export type McpServers = {
  /** Starts all enabled servers at once, without waiting. */
  readonly start: () => void;
  /**
   * Settles when the first attempt of each server has succeeded or failed, or after `limitMs`. Rejects with the signal's
   * reason. Undefined when there is nothing to wait for.
   */
  readonly settled: (limitMs: number, signal: AbortSignal) => Promise<void> | undefined;
  readonly statuses: () => Readonly<Record<string, McpStatus>>;
  /** Enables a server, and connects now if it is not connected. Fulfilled with the state after that attempt. */
  readonly connect: (name: string, signal?: AbortSignal) => Promise<McpStatus | 'not-found'>;
  /** Disables a server until `connect`. */
  readonly disconnect: (name: string) => Promise<McpStatus | 'not-found'>;
  /** The tools of all enabled servers, connected or not: a call to a disconnected one fails at once with an error. */
  readonly tools: () => readonly AgentTool[];
  /** The instructions of connected servers. These are data of others, not our own instructions. */
  readonly instructions: () => readonly { readonly server: string; readonly text: string }[];
  /** Closes all connections within three seconds. Nothing starts after that. */
  readonly stop: () => Promise<void>;
};

type McpServersOptions = {
  readonly servers: Readonly<Record<string, McpServerConfig>>;
  /** Called for each attempt, so that the transports' code is loaded only when there is a server to connect to. */
  readonly transports: () => McpTransports | Promise<McpTransports>;
  readonly clock: Clock;
  /** From 0 to 1, for spreading attempts. */
  readonly chance: () => number;
  readonly version: string;
  /** Offered as their root to local servers without a directory of their own. Remote ones have nothing here. */
  readonly directory: string;
  readonly log: Log;
  /** Must not throw. */
  readonly publish: (draft: EventDraft) => void;
};

const STOP_LIMIT_MS = 3000;

/** The values that a program is given. */
const secretsOf = (server: McpServerConfig | undefined): readonly string[] =>
  server?.type === 'local' ? Object.values(server.environment) : [];

/** Why a connection was lost, with the end of the program's standard error, which nothing else shows. */
const lossReason = (
  { reason, lastStderr }: Extract<McpEvent, { readonly kind: 'lost' }>,
  server: McpServerConfig | undefined,
): string => {
  const text = lastStderr === undefined ? '' : formatLastStderr(lastStderr, secretsOf(server));
  return text === '' ? reason : `${reason}. It wrote: ${text}`;
};

/** A server's own directory is its root, unless it is relative to where this process runs. */
const rootOf = (cwd: string | undefined, directory: string): string | undefined =>
  cwd === undefined ? directory : cwd.startsWith('/') ? cwd : undefined;

/** Creates the tool servers. Nothing starts before `start`. */
export const createMcpServers = (options: McpServersOptions): McpServers => {
  const { servers: configs, transports, clock, chance, version, directory, log, publish } = options;
  const servers = new Map<string, ToolServer>();
  const toolbox = createToolbox(servers, log);
  let isStopped = false;

  const handleEvent = (server: string, event: McpEvent): void => {
    const setting = settingName(server);
    if (event.kind === 'lost') {
      const reason = lossReason(event, configs[server]);
      log('warn', 'mcp-server-lost', { setting, reason, restMs: event.restMs });
    } else if (event.kind === 'list-failed') log('warn', 'mcp-list-failed', { setting, reason: event.reason });
    else {
      toolbox.refresh();
      if (event.kind === 'tools-changed') publish({ type: 'mcp.tools.changed', properties: { server } });
      else log('info', 'mcp-server-connected', { setting, count: servers.get(server)?.listing().tools.length ?? 0 });
    }
  };
  const createOpener = (config: McpServerConfig, setting: string) => {
    // For all of its connections: a program that is started again and again has one limit.
    const onLogLine = createProgramLog({ log, clock, setting, secrets: secretsOf(config) });
    return async (): Promise<McpTransport> => {
      const { local, remote } = await transports();
      return config.type === 'local' ? local({ ...config, onLogLine }) : remote(config);
    };
  };
  for (const [name, config] of Object.entries(configs)) {
    const { timeoutMs } = config;
    const onEvent = (event: McpEvent): void => handleEvent(name, event);
    const root = config.type === 'local' ? rootOf(config.cwd, directory) : undefined;
    const open = createOpener(config, settingName(name));
    servers.set(name, createToolServer({ open, clock, chance, timeoutMs, version, root, onEvent }));
  }
  /** All first attempts, while they run. */
  let settling: Promise<void> | undefined;
  return {
    start() {
      if (isStopped) return;
      const enabled = [...servers].filter(([name]) => configs[name]?.isEnabled === true);
      if (enabled.length === 0) return;
      settling = Promise.all(enabled.map(([, server]) => server.enable().firstAttempt)).then(() => {
        settling = undefined;
      });
    },
    settled: (limitMs, signal) =>
      settling === undefined ? undefined : pauseUntil(clock, { ms: limitMs, woken: settling }, signal),
    statuses: () => Object.fromEntries([...servers].map(([name, server]) => [name, server.status()])),
    async connect(name, signal) {
      const server = servers.get(name);
      if (server === undefined) return 'not-found';
      if (!isStopped) {
        const attempt = server.enable().reconnectNow();
        await (signal === undefined ? attempt : untilAborted(attempt, signal));
      }
      return server.status();
    },
    async disconnect(name) {
      const server = servers.get(name);
      if (server === undefined) return 'not-found';
      const off = server.disable();
      toolbox.refresh();
      await off;
      return server.status();
    },
    tools: toolbox.tools,
    instructions: () =>
      [...servers].flatMap(([name, server]) => {
        const text = server.instructions() ?? '';
        return text === '' ? [] : [{ server: name, text }];
      }),
    async stop() {
      isStopped = true;
      const off = Promise.all([...servers.values()].map((server) => server.disable())).then(() => {});
      toolbox.refresh();
      await pauseUntil(clock, { ms: STOP_LIMIT_MS, woken: off }, new AbortController().signal);
    },
  };
};
