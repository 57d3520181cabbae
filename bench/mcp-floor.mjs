// What an unguarded tool costs that fetches an address and hands on the text. `sdk`: as most are written, with the SDK's
// high-level server. `same`: over the SDK's low-level server, as relay admin is, so that the difference to relay admin is its
// own code.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const [kind = 'sdk'] = process.argv.slice(2);
const NAME = { name: 'floor', version: '0.0.0' };
const read = async ({ path }) => {
  const response = await fetch(`${process.env.RELAY_BASE_URL}/api/v1/admin/${path}`, {
    headers: { 'x-api-key': process.env.RELAY_ADMIN_API_KEY },
  });
  return { content: [{ type: 'text', text: await response.text() }] };
};

if (kind === 'sdk') {
  const server = new McpServer(NAME);
  server.registerTool('read', { inputSchema: { path: z.string() } }, read);
  await server.connect(new StdioServerTransport());
} else {
  const server = new Server(NAME, { capabilities: { tools: {} } });
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: 'read', inputSchema }] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => read(params.arguments));
  await server.connect(new StdioServerTransport());
}
