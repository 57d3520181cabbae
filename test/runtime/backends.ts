import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { JUDGE_MODEL } from '../../src/demo/judge/judge.ts';
import { createDemoJudge } from '../../src/demo/judge/server.ts';
import type { Variables } from './processes.ts';

/** One chat call as it reached the backend. */
type Call = {
  readonly path: string;
  readonly authorization: string;
  /** Everything that was asked, as one text. */
  readonly text: string;
  /** How many chat calls there have been, this one included. */
  readonly count: number;
  /** Settles when the caller's connection is gone, with the moment. */
  readonly closed: Promise<number>;
};

/** What the backend does instead of judging: answers, or never answers, or drips, or breaks off. */
type FaultyReply =
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  | 'hang'
  | 'drip'
  | 'reset'
  | 'reset-in-body'
  | { readonly delayMs: number };

export type Script = (call: Call) => FaultyReply | undefined;

export type Backend = {
  readonly address: string;
  readonly port: number;
  readonly calls: readonly Call[];
  /** The next chat call that arrives, from now on. */
  readonly nextCall: () => Promise<Call>;
  readonly stop: () => Promise<void>;
};

const DRIP_EVERY_MS = 50;

const misbehave = async (
  faultyReply: Exclude<FaultyReply, { readonly delayMs: number }>,
  reply: ServerResponse,
): Promise<void> => {
  if (faultyReply === 'hang') return;
  if (faultyReply === 'reset') return void reply.socket?.resetAndDestroy();
  if (faultyReply === 'reset-in-body') {
    reply.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    reply.write('{"model":"demo-judge","mess', () => reply.socket?.resetAndDestroy());
    return;
  }
  if (faultyReply === 'drip') {
    reply.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => reply.write(' '), DRIP_EVERY_MS);
    reply.on('close', () => clearInterval(timer));
    return;
  }
  reply
    .writeHead(faultyReply.status, { 'content-type': 'application/json', ...faultyReply.headers })
    .end(faultyReply.body);
};

const closing = (socket: Socket): Promise<number> =>
  new Promise((settle) => {
    socket.once('close', () => settle(performance.now()));
  });

/** The demo judge over real HTTP, which does something else whenever the script says so. */
export const startBackend = async (script: Script = () => undefined): Promise<Backend> => {
  const judge = createDemoJudge();
  const calls: Call[] = [];
  const waiting = new Set<(call: Call) => void>();

  const judged = async (message: IncomingMessage, reply: ServerResponse, body: Buffer): Promise<void> => {
    const { method = 'GET', url = '/' } = message;
    const answer = await judge(
      new Request(`http://backend${url}`, { method, ...(method === 'POST' ? { body: new Uint8Array(body) } : {}) }),
    );
    reply.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  };
  const answer = async (message: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const body = await buffer(message);
    // What it knows about a model is no chat call.
    if (message.method !== 'POST' || message.url === '/api/show') return judged(message, reply, body);
    const call: Call = {
      path: message.url ?? '',
      authorization: message.headers.authorization ?? '',
      text: body.toString(),
      count: calls.length + 1,
      closed: closing(message.socket),
    };
    calls.push(call);
    for (const listener of waiting) listener(call);
    waiting.clear();
    const faultyReply = script(call);
    if (faultyReply === undefined) return judged(message, reply, body);
    if (typeof faultyReply === 'string' || 'status' in faultyReply) return misbehave(faultyReply, reply);
    setTimeout(() => void judged(message, reply, body), faultyReply.delayMs);
  };

  const server = createServer((message, reply) => {
    answer(message, reply).catch(() => reply.destroy());
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    port,
    calls,
    nextCall: () => new Promise((settle) => waiting.add(settle)),
    stop: () =>
      new Promise((settle) => {
        server.close(() => settle());
        server.closeAllConnections();
      }),
  };
};

const ALIASES = ['moderation-fast', 'moderation-standard', 'moderation-accurate', 'omni-moderation-latest'];

/** The variables of a gateway that has the demo judge at `address` as its own server, without a gateway key. */
export const judgedBy = (address: string): Variables => ({
  BACKEND_BASE_URL: address,
  MODERATION_MODELS: JSON.stringify(Object.fromEntries(ALIASES.map((alias) => [alias, JUDGE_MODEL]))),
});
