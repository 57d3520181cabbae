import { untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { lastWordsIn } from '../mcp-last-words.ts';
import { createMcpLink, type McpLink } from '../mcp-link.ts';
import { agentToolsFrom, type SkippedTool } from '../mcp-tools.ts';
import type { EventDraft } from '../protocol/events.ts';
import type { AgentTool } from '../tools/tool.ts';
import { wakeablePause } from '../wakeable-pause.ts';
import type { McpTransport, McpTransports } from './client.ts';
import type { McpServerConfig } from './config.ts';
import type { McpNews, McpStatus } from './connection.ts';

/** The tool servers of the configuration, kept connected from `start` to `stop`. */
export type McpServers = {
  /** Starts every server that is enabled, all at once. Waits for none. */
  readonly start: () => void;
  /**
   * Settles when each of them has been tried once, or after `limitMs`. Rejects with the signal's reason. Nothing when
   * there is nothing to wait for.
   */
  readonly settled: (limitMs: number, signal: AbortSignal) => Promise<void> | undefined;
  readonly statuses: () => Readonly<Record<string, McpStatus>>;
  /** Switches a server on, and tries it now if it is not connected. Fulfilled with what came of that. */
  readonly connect: (name: string, signal?: AbortSignal) => Promise<McpStatus | 'not-found'>;
  /** Switches a server off until it is connected again. */
  readonly disconnect: (name: string) => Promise<McpStatus | 'not-found'>;
  /** The tools of the servers that are on, also of one that is away: a call to it fails at once and says so. */
  readonly tools: () => readonly AgentTool[];
  /** What the servers that are connected say of themselves. Texts of others: data, and no instructions of ours. */
  readonly instructions: () => readonly { readonly server: string; readonly text: string }[];
  /** Ends every connection within three seconds; nothing is started after that. */
  readonly stop: () => Promise<void>;
};

export type McpServersNeeds = {
  readonly servers: Readonly<Record<string, McpServerConfig>>;
  /** Asked for with each attempt: what they are made of is loaded when there is a server to connect to. */
  readonly transports: () => McpTransports | Promise<McpTransports>;
  readonly clock: Clock;
  /** From 0 to 1, for spreading attempts. */
  readonly chance: () => number;
  readonly version: string;
  readonly log: Log;
  /** Must not throw. */
  readonly publish: (draft: EventDraft) => void;
};

const STOP_LIMIT_MS = 3000;
/** Of a list that has many. */
const SKIPPED_LINES_LIMIT = 10;

const keyOf = ({ server, name, reason }: SkippedTool): string => `${server} ${name} ${reason}`;
const settingOf = (server: string): string => `mcp.${server}`;

/** Why a server was lost, and what it said itself where nobody could see that otherwise. */
const lossIn = (
  { reason, lastWords }: Extract<McpNews, { readonly kind: 'lost' }>,
  server: McpServerConfig | undefined,
): string => {
  const given = server?.kind === 'local' ? Object.values(server.environment) : [];
  const words = lastWords === undefined ? '' : lastWordsIn(lastWords, given);
  return words === '' ? reason : `${reason}. It wrote: ${words}`;
};

/** The tools of all servers, which are the same objects until a server has others. */
const createToolbox = (links: ReadonlyMap<string, McpLink>, log: Log) => {
  let tools: readonly AgentTool[] = [];
  let told = new Set<string>();
  return {
    tools: () => tools,
    refresh(): void {
      const found = agentToolsFrom([...links]);
      tools = found.tools;
      const fresh = found.skipped.filter((skipped) => !told.has(keyOf(skipped)));
      told = new Set(found.skipped.map(keyOf));
      for (const { server, name, reason } of fresh.slice(0, SKIPPED_LINES_LIMIT))
        log('warn', 'mcp-tool-skipped', { setting: settingOf(server), tool: name, reason });
      if (fresh.length > SKIPPED_LINES_LIMIT) log('warn', 'mcp-tools-skipped', { count: fresh.length });
    },
  };
};

/** Building it starts nothing. */
export const createMcpServers = (needs: McpServersNeeds): McpServers => {
  const { servers, transports, clock, chance, version, log, publish } = needs;
  const links = new Map<string, McpLink>();
  const toolbox = createToolbox(links, log);
  let isStopped = false;

  const hear = (server: string, news: McpNews): void => {
    const setting = settingOf(server);
    if (news.kind === 'lost') {
      const reason = lossIn(news, servers[server]);
      log('warn', 'mcp-server-lost', { setting, reason, restMs: news.restMs });
    } else if (news.kind === 'list-failed') log('warn', 'mcp-list-failed', { setting, reason: news.reason });
    else {
      toolbox.refresh();
      if (news.kind === 'tools-changed') publish({ type: 'mcp.tools.changed', properties: { server } });
      else log('info', 'mcp-server-connected', { setting, count: links.get(server)?.listing().tools.length ?? 0 });
    }
  };
  const opening = (server: McpServerConfig) => async (): Promise<McpTransport> => {
    const ways = await transports();
    return server.kind === 'local' ? ways.local(server) : ways.remote(server);
  };
  for (const [name, server] of Object.entries(servers)) {
    const { timeoutMs } = server;
    const tell = (news: McpNews): void => hear(name, news);
    links.set(name, createMcpLink({ open: opening(server), clock, chance, timeoutMs, version, tell }));
  }
  /** All first attempts, while they are under way. */
  let settling: Promise<void> | undefined;
  return {
    start() {
      if (isStopped) return;
      const enabled = [...links].filter(([name]) => servers[name]?.enabled === true);
      if (enabled.length === 0) return;
      settling = Promise.all(enabled.map(([, link]) => link.on().first)).then(() => {
        settling = undefined;
      });
    },
    settled: (limitMs, signal) =>
      settling === undefined ? undefined : wakeablePause(clock, { ms: limitMs, woken: settling }, signal),
    statuses: () => Object.fromEntries([...links].map(([name, link]) => [name, link.status()])),
    async connect(name, signal) {
      const link = links.get(name);
      if (link === undefined) return 'not-found';
      if (!isStopped) {
        const tried = link.on().hurry();
        await (signal === undefined ? tried : untilAborted(tried, signal));
      }
      return link.status();
    },
    async disconnect(name) {
      const link = links.get(name);
      if (link === undefined) return 'not-found';
      const off = link.off();
      toolbox.refresh();
      await off;
      return link.status();
    },
    tools: toolbox.tools,
    instructions: () =>
      [...links].flatMap(([server, link]) => {
        const text = link.instructions() ?? '';
        return text === '' ? [] : [{ server, text }];
      }),
    async stop() {
      isStopped = true;
      const off = Promise.all([...links.values()].map((link) => link.off())).then(() => {});
      toolbox.refresh();
      await wakeablePause(clock, { ms: STOP_LIMIT_MS, woken: off }, new AbortController().signal);
    },
  };
};
