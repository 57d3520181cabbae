// What an unguarded tool costs: the SDK's high-level server with one tool that fetches an address and hands on the text.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'floor', version: '0.0.0' });
server.registerTool('read', { inputSchema: { path: z.string() } }, async ({ path }) => {
  const response = await fetch(`${process.env.RELAY_BASE_URL}/api/v1/admin/${path}`, {
    headers: { 'x-api-key': process.env.RELAY_ADMIN_API_KEY },
  });
  return { content: [{ type: 'text', text: await response.text() }] };
});
await server.connect(new StdioServerTransport());
