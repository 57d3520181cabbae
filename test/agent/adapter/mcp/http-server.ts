import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

type Seen = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
};
/** Answers a request itself; false leaves it to the tool server. */
type Before = (request: IncomingMessage, response: ServerResponse) => boolean;

export type HttpToolServer = {
  readonly url: string;
  readonly port: number;
  readonly seen: readonly Seen[];
  /** Calls that were cancelled by notice. */
  readonly cancelled: () => number;
  /** Tool calls whose request is still open. */
  readonly sleeping: () => number;
  readonly sessions: () => number;
  readonly listChanged: () => Promise<void>;
  /** Breaks every connection off and listens no more. */
  readonly stop: () => Promise<void>;
};
export type HttpNeeds = {
  readonly kind: 'streamable' | 'stateless-json' | 'sse';
  readonly before?: Before;
  readonly port?: number;
};

const MEGABYTE = 1_048_576;
const PATH = '/mcp';

const text = (words: string) => ({ content: [{ type: 'text', text: words }] });

/** A tool server over real HTTP on 127.0.0.1, in either of the two ways. */
export const startHttpToolServer = async ({ kind, before, port = 0 }: HttpNeeds): Promise<HttpToolServer> => {
  const seen: Seen[] = [];
  const servers = new Set<Server>();
  const counts = { cancelled: 0, sleeping: 0 };
  const streamables = new Map<string, StreamableHTTPServerTransport>();
  const events = new Map<string, SSEServerTransport>();
  let names = ['echo'];
  let lastSession = 0;

  const toolServer = (): Server => {
    const server = new Server({ name: 'http', version: '0' }, { capabilities: { tools: { listChanged: true } } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: names.map((name) => ({ name, inputSchema: { type: 'object' as const } })),
    }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
      const { words = '', megabytes = 0, sleep = false } = params.arguments ?? {};
      if (sleep === true) {
        counts.sleeping += 1;
        signal.addEventListener('abort', () => {
          counts.cancelled += 1;
        });
        await new Promise(() => {});
      }
      return text(`${words}${'x'.repeat(Number(megabytes) * MEGABYTE)}`);
    });
    servers.add(server);
    return server;
  };
  const streamable = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const id = String(request.headers['mcp-session-id'] ?? '');
    let transport = streamables.get(id);
    if (transport === undefined && id !== '') {
      response.writeHead(404).end();
      return;
    }
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => `session-${++lastSession}`,
        onsessioninitialized: (made) => void streamables.set(made, transport as StreamableHTTPServerTransport),
        onsessionclosed: (gone) => void streamables.delete(gone),
      });
      await toolServer().connect(transport as never);
    }
    await transport.handleRequest(request, response);
  };
  const stateless = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true } as never);
    await toolServer().connect(transport as never);
    await transport.handleRequest(request, response);
  };
  const sse = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const session = new URL(request.url ?? '', 'http://x').searchParams.get('sessionId');
    if (request.method === 'POST' && session !== null)
      return events.get(session)?.handlePostMessage(request, response) ?? void response.writeHead(404).end();
    if (request.method !== 'GET') return void response.writeHead(405).end();
    const transport = new SSEServerTransport('/message', response);
    events.set(transport.sessionId, transport);
    response.on('close', () => events.delete(transport.sessionId));
    await toolServer().connect(transport);
  };
  const answer = { streamable, 'stateless-json': stateless, sse }[kind];
  const http = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    seen.push({ method, path: url, headers });
    if (before?.(request, response) === true) return;
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((settle) => http.listen(port, '127.0.0.1', settle));
  const { port: bound } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}${PATH}`,
    port: bound,
    seen,
    cancelled: () => counts.cancelled,
    sleeping: () => counts.sleeping,
    sessions: () => streamables.size + events.size,
    async listChanged() {
      names = [...names, `more${names.length}`];
      for (const server of servers) await server.sendToolListChanged().catch(() => {});
    },
    async stop() {
      http.closeAllConnections();
      await new Promise((settle) => http.close(settle));
    },
  };
};
