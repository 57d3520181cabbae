import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

export type Bridge = {
  /** Where the server on standard streams is to be found over HTTP. */
  readonly url: string;
  readonly stop: () => Promise<void>;
};

type Command = {
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** What is handed on in place of an answer: to see whether anybody notices. */
  readonly bent?: (message: JSONRPCMessage) => JSONRPCMessage;
};
type Session = { readonly http: StreamableHTTPServerTransport; readonly close: () => Promise<void> };

const bodyOf = async (message: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? undefined : JSON.parse(text);
};

/**
 * Lets those who only speak HTTP talk to a server on standard streams: a process for each session, and every message
 * handed on as it is. On loopback alone.
 */
export const bridgeToHttp = async ({ args, variables, bent = (message) => message }: Command): Promise<Bridge> => {
  const sessions = new Map<string, Session>();

  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const stdio = new StdioClientTransport({
      command: process.execPath,
      args: [...args],
      env: { ...variables },
      stderr: 'ignore',
    });
    const http = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { http, close: () => stdio.close() }),
    });
    http.onmessage = (message) => void stdio.send(message).catch(() => {});
    stdio.onmessage = (message) => void http.send(bent(message)).catch(() => {});
    await Promise.all([stdio.start(), http.start()]);
    return http;
  };
  const serve = async (message: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const body = message.method === 'POST' ? await bodyOf(message) : undefined;
    const session = sessions.get(String(message.headers['mcp-session-id']));
    if (session !== undefined) return session.http.handleRequest(message, reply, body);
    if (isInitializeRequest(body)) return (await open()).handleRequest(message, reply, body);
    reply.writeHead(404).end();
  };
  const server = createServer((message, reply) => {
    serve(message, reply).catch(() => void reply.destroy());
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async stop() {
      await Promise.all([...sessions.values()].map(({ close }) => close()));
      server.closeAllConnections();
      await new Promise<void>((settle) => server.close(() => settle()));
    },
  };
};
