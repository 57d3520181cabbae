import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  InitializeRequestSchema,
  type JSONRPCMessage,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { McpTransport } from '../../../../src/agent/tools/mcp/client.ts';

type Answer = Readonly<Record<string, unknown>>;
type Asked = {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
};
export type PeerNeeds = {
  /** Entries of the list, as odd as a test wants them. */
  readonly tools?: () => readonly unknown[];
  /** Instead of `tools`: the whole answer to a request for a list. */
  readonly page?: (cursor: string | undefined) => Answer | Promise<Answer>;
  readonly call?: (asked: Asked) => Answer | Promise<Answer>;
  readonly instructions?: string;
  /** Never answers the handshake. */
  readonly isMute?: boolean;
};

/** A tool server in this process, and the way to it. */
export type Peer = {
  readonly transport: McpTransport;
  readonly server: Server;
  /** What the client has sent, in order. */
  readonly received: readonly JSONRPCMessage[];
  readonly isClosed: () => boolean;
};

export const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });
export const text = (words: string, more: object = {}) => ({ content: [{ type: 'text', text: words }], ...more });
/** A promise for ever. */
export const never = <T>(): Promise<T> => new Promise(() => {});

/** A tool server of the SDK's that says what the test wants. */
export const createPeer = (needs: PeerNeeds = {}): Peer => {
  const { tools = () => [tool('echo')], page = () => ({ tools: tools() }), isMute = false, instructions } = needs;
  const call = needs.call ?? (({ input }) => text(JSON.stringify(input)));
  const server = new Server(
    { name: 'peer', version: '0' },
    { capabilities: { tools: { listChanged: true } }, ...(instructions === undefined ? {} : { instructions }) },
  );
  if (isMute) server.setRequestHandler(InitializeRequestSchema, () => never());
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => ({ ...(await page(params?.cursor)) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => ({
    ...(await call({ name: params.name, input: params.arguments ?? {}, signal })),
  }));
  const [transport, other] = InMemoryTransport.createLinkedPair();
  const received: JSONRPCMessage[] = [];
  let isClosed = false;
  void server.connect(other);
  server.onclose = () => {
    isClosed = true;
  };
  const receive = other.onmessage;
  other.onmessage = (message, extra) => {
    received.push(message);
    receive?.(message, extra);
  };
  return { transport, server, received, isClosed: () => isClosed };
};
