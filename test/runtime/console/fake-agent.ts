import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fakeSessionAnswer } from './fake-sessions.ts';

/** A permission request, as an agent server lists it. */
export type FakeRequest = {
  readonly id: string;
  readonly sessionID: string;
  readonly permission: string;
  readonly patterns: readonly string[];
  readonly always: readonly string[];
  readonly alwaysMs?: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly agent?: string;
  readonly title: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly argumentsHash: string;
  readonly time: { readonly asked: number; readonly ends: number };
};
type FakeDecision = Readonly<Record<string, unknown>> & { readonly id: string; readonly reply: string };

/** An agent server of the tests: it holds requests, and takes answers as the real one does. */
export type FakeAgent = {
  readonly url: string;
  /** Opens a request for a call with these arguments. */
  readonly ask: (tool: string, input: Readonly<Record<string, unknown>>, more?: Partial<FakeRequest>) => FakeRequest;
  /** Ends a request as time does. */
  readonly expire: (id: string) => void;
  /** Gives an open request other arguments, which a real server never does. */
  readonly changeArguments: (id: string, input: Readonly<Record<string, unknown>>) => void;
  /** The answers that were taken. */
  readonly replies: () => readonly FakeDecision[];
  readonly titles: Map<string, string>;
  readonly close: () => Promise<void>;
};

const send = (response: ServerResponse, status: number, value: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
};

const WAIT_MS = 300_000;

/** Starts an agent server of the tests. It must be closed. */
export const startFakeAgent = async (): Promise<FakeAgent> => {
  const open = new Map<string, FakeRequest>();
  const decided: FakeDecision[] = [];
  /** The rules that answers of always have made, by id. */
  const standing = new Map<string, Readonly<Record<string, unknown>>>();
  const titles = new Map<string, string>();
  const streams = new Set<ServerResponse>();
  let last = 0;
  const publish = (type: string, properties: unknown): void => {
    for (const stream of streams)
      stream.write(`data: ${JSON.stringify({ directory: '/', payload: { type, properties } })}\n\n`);
  };
  const end = ({ id, sessionID, permission, patterns, argumentsHash }: FakeRequest, how: { reply: string }): void => {
    open.delete(id);
    decided.unshift({ id, sessionID, permission, patterns, argumentsHash, at: Date.now(), ...how });
    publish('permission.replied', { sessionID, requestID: id, reply: how.reply });
  };
  const reply = async (request: IncomingMessage, response: ServerResponse, id: string): Promise<void> => {
    const body = JSON.parse(await text(request)) as {
      reply: string;
      by?: string;
      message?: string;
      argumentsHash?: string;
    };
    const found = open.get(id);
    const before = decided.find((decision) => decision.id === id);
    if (found === undefined)
      return send(response, 404, { name: 'NotFoundError', data: { message: 'gone', decided: before } });
    if (body.argumentsHash !== undefined && body.argumentsHash !== found.argumentsHash)
      return send(response, 409, { error: { code: 'arguments_changed', message: 'changed' } });
    const { by, message } = body;
    end(found, {
      reply: body.reply,
      ...(by === undefined ? {} : { by }),
      ...(message === undefined ? {} : { message }),
    });
    const { sessionID, permission, always: patterns, alwaysMs } = found;
    const since = Date.now();
    if (body.reply === 'always' && alwaysMs !== undefined)
      standing.set(id, { id, sessionID, permission, patterns, by, since, until: since + alwaysMs, uses: 2 });
    send(response, 200, true);
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://agent');
    const replied = /^\/permission\/(\w+)\/reply$/.exec(pathname)?.[1];
    if (replied !== undefined) void reply(request, response, replied);
    else if (pathname === '/permission/standing') send(response, 200, [...standing.values()]);
    else if (request.method === 'DELETE' && pathname.startsWith('/permission/standing/'))
      send(response, standing.delete(pathname.split('/').at(-1) ?? '') ? 200 : 404, true);
    else if (pathname === '/permission') send(response, 200, [...open.values()]);
    else if (pathname === '/permission/decisions') send(response, 200, decided);
    else if (pathname === '/global/event') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      streams.add(response);
      response.on('close', () => streams.delete(response));
      publish('server.connected', {});
    } else {
      const answer = fakeSessionAnswer(request, titles);
      send(response, answer === undefined ? 404 : 200, answer ?? {});
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const withInput = (
    request: Omit<FakeRequest, 'arguments' | 'argumentsHash'>,
    input: Readonly<Record<string, unknown>>,
  ): FakeRequest => ({
    ...request,
    metadata: { ...request.metadata, input },
    arguments: input,
    argumentsHash: hash('sha256', JSON.stringify(input)),
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ask(tool, input, more = {}) {
      last += 1;
      const id = `per_${last}`;
      const asked = Date.now();
      const sessionID = `ses_${last}`;
      const request = withInput(
        {
          id,
          sessionID,
          title: titles.get(sessionID) ?? 'A conversation',
          permission: tool,
          patterns: ['*'],
          always: ['*'],
          alwaysMs: 3_600_000,
          agent: 'maintainer',
          time: { asked, ends: asked + WAIT_MS },
          ...more,
          metadata: { tool, ...more.metadata },
        },
        input,
      );
      open.set(id, request);
      publish('permission.asked', request);
      return request;
    },
    expire(id) {
      const found = open.get(id);
      if (found !== undefined) end(found, { reply: 'expired' });
    },
    changeArguments(id, input) {
      const found = open.get(id);
      if (found !== undefined) open.set(id, withInput(found, input));
      publish('permission.asked', open.get(id));
    },
    replies: () => decided,
    titles,
    async close() {
      for (const stream of streams) stream.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
