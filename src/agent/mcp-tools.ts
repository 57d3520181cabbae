import type { Skipped } from './mcp/tool-list.ts';
import type { McpLink } from './mcp-link.ts';
import type { AgentTool } from './tools/tool.ts';

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
          patternsOf: () => ['*'],
          run: (input, { signal }) => call({ name: tool, input }, signal),
        });
    }
  }
  return { tools: [...tools.values()], skipped };
};
