import { pauseUntil, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { REDACTED, withoutSecrets } from '../../core/redact.ts';
import { visibleLines } from '../../core/text.ts';
import type { EventDraft } from '../protocol/events.ts';
import type { AgentTool } from '../tools/tool.ts';
import type { McpTransport, McpTransports } from './client.ts';
import type { McpServerConfig } from './config.ts';
import { createMcpLink, type McpLink, type McpNews, type McpStatus } from './connection.ts';
import type { Skipped } from './tool-list.ts';

const LIMIT_CHARS = 200;
/** Shorter ones are numbers and switches. */
const SECRET_CHARS = 6;

/** What Node adds to the words of an error: where it was thrown, and by which Node. */
const ADDED = /^(?:at .+|\^+|Node\.js v[\d.]+)$/;

const without = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length >= SECRET_CHARS)
    .toSorted((left, right) => right.length - left.length)
    .reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);

/** The last lines that fit, as one. */
const lastLines = (lines: readonly string[]): string =>
  lines.reduceRight((end, line) => (`${line} ${end}`.length <= LIMIT_CHARS ? `${line} ${end}`.trim() : end), '');

/**
 * What a program wrote before it failed, as one short line for the log. `secrets` are texts that it was given: what is
 * found of them, or looks like another, is replaced.
 */
export const lastWordsIn = (written: string, secrets: readonly string[]): string => {
  const lines = withoutSecrets(without(written, secrets))
    .split('\n')
    .map((line) => visibleLines(line, LIMIT_CHARS).replaceAll('\t', ' '))
    .filter((line) => line !== '' && !ADDED.test(line));
  return lastLines(lines);
};

export type NamedLink = readonly [server: string, link: Pick<McpLink, 'listing' | 'call'>];

/** A tool that is not offered, by a name that may be shown. */
export type SkippedTool = Skipped & { readonly server: string };

/** The longest that every model takes. */
const NAME_LIMIT_CHARS = 64;

const fit = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_');

/** The name under which a model calls a server's tool. */
export const toolNameFor = (server: string, tool: string): string => `${fit(server)}_${fit(tool)}`;

/**
 * The tools of all servers under names that are theirs alone. Of two tools with one name the first is kept, in the order
 * of the servers.
 */
export const agentToolsFrom = (
  links: readonly NamedLink[],
): { readonly tools: readonly AgentTool[]; readonly skipped: readonly SkippedTool[] } => {
  const tools = new Map<string, AgentTool>();
  const skipped: SkippedTool[] = [];
  for (const [server, { listing, call }] of links) {
    const skip = (tool: string, reason: string): void => {
      skipped.push({ server, name: fit(tool.slice(0, NAME_LIMIT_CHARS)), reason });
    };
    for (const { name, reason } of listing().skipped) skip(name, reason);
    for (const { name: tool, description, inputSchema } of listing().tools) {
      const name = toolNameFor(server, tool);
      if (name.length > NAME_LIMIT_CHARS) skip(tool, `a name of more than ${NAME_LIMIT_CHARS} characters`);
      else if (tools.has(name)) skip(tool, 'a name that is taken');
      else
        tools.set(name, {
          name,
          description,
          inputSchema,
          origin: { server, tool },
          patternsFor: () => ['*'],
          run: (input, { signal }) => call({ name: tool, input }, signal),
        });
    }
  }
  return { tools: [...tools.values()], skipped };
};

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
      settling === undefined ? undefined : pauseUntil(clock, { ms: limitMs, woken: settling }, signal),
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
      await pauseUntil(clock, { ms: STOP_LIMIT_MS, woken: off }, new AbortController().signal);
    },
  };
};
