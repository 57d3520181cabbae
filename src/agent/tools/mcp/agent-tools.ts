import type { Log } from '../../../core/log.ts';
import type { AgentTool } from '../tool.ts';
import type { SkippedEntry } from './tool-list.ts';
import type { ToolServer } from './tool-server.ts';

/** A server with its name in the configuration. */
export type NamedServer = readonly [name: string, server: Pick<ToolServer, 'listing' | 'call'>];

/** A tool that is not offered, with a name that can be logged. */
type SkippedTool = SkippedEntry & { readonly server: string };

/** The longest name that all models accept. */
const NAME_LIMIT_CHARS = 64;

const toNameCharacters = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_');

/** The name under which a model calls a server's tool. */
export const toolNameFor = (server: string, tool: string): string =>
  `${toNameCharacters(server)}_${toNameCharacters(tool)}`;

/**
 * The tools of all servers under unique names. Of two tools with the same name, the one of the earlier server is offered.
 */
export const createAgentTools = (
  servers: readonly NamedServer[],
): { readonly tools: readonly AgentTool[]; readonly skipped: readonly SkippedTool[] } => {
  const tools = new Map<string, AgentTool>();
  const skipped: SkippedTool[] = [];
  for (const [server, { listing, call }] of servers) {
    const skip = (tool: string, reason: string): void => {
      skipped.push({ server, name: toNameCharacters(tool.slice(0, NAME_LIMIT_CHARS)), reason });
    };
    for (const { name, reason } of listing().skipped) skip(name, reason);
    for (const { name: tool, description, inputSchema, isDestructive } of listing().tools) {
      const name = toolNameFor(server, tool);
      if (name.length > NAME_LIMIT_CHARS) skip(tool, `a name of more than ${NAME_LIMIT_CHARS} characters`);
      else if (tools.has(name)) skip(tool, 'a name that is taken');
      else
        tools.set(name, {
          name,
          description,
          inputSchema,
          ...(isDestructive === true ? { isDestructive } : {}),
          origin: { server, tool },
          patternsFor: () => ['*'],
          run: (input, { signal, span }) => call({ name: tool, input, ...(span && { trace: span.context }) }, signal),
        });
    }
  }
  return { tools: [...tools.values()], skipped };
};

/** How many skipped tools of one list are logged. */
const SKIPPED_LINES_LIMIT = 10;

const skippedKey = ({ server, name, reason }: SkippedTool): string => `${server} ${name} ${reason}`;
/** The setting of a server, for the log. */
export const settingName = (server: string): string => `mcp.${server}`;

/** The tools of all servers. `tools` returns the same array until `refresh`, which logs newly skipped tools. */
export const createToolbox = (servers: ReadonlyMap<string, ToolServer>, log: Log) => {
  let tools: readonly AgentTool[] = [];
  let logged = new Set<string>();
  return {
    tools: () => tools,
    refresh(): void {
      const found = createAgentTools([...servers]);
      tools = found.tools;
      const fresh = found.skipped.filter((skipped) => !logged.has(skippedKey(skipped)));
      logged = new Set(found.skipped.map(skippedKey));
      for (const { server, name, reason } of fresh.slice(0, SKIPPED_LINES_LIMIT))
        log('warn', 'mcp-tool-skipped', { setting: settingName(server), tool: name, reason });
      if (fresh.length > SKIPPED_LINES_LIMIT) log('warn', 'mcp-tools-skipped', { count: fresh.length });
    },
  };
};
