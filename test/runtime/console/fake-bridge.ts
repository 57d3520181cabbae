import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export const BRIDGE_KEY = 'canary-bridge-key-0123456789';

const DELTAS = [
  { role: 'assistant', content: '' },
  { reasoning_content: '[tool relay-admin_find_user] started' },
  { reasoning_content: '[tool relay-admin_find_user] finished' },
  { content: 'Mara is user 2. ' },
  { content: 'Her balance is 3.50, and nothing waits for her account.' },
];

/** A bridge of the tests with one scripted answer. */
export type FakeBridge = { readonly url: string; readonly close: () => Promise<void> };

/** Starts it. It must be closed. */
export const startFakeBridge = async (): Promise<FakeBridge> => {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://bridge');
    const json = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (pathname === '/ready') return json(200, { status: 'ok' });
    if (request.headers.authorization !== `Bearer ${BRIDGE_KEY}`) return json(401, { error: { message: 'no' } });
    if (pathname === '/v1/models') return json(200, { data: [{ id: 'build' }, { id: 'maintainer' }] });
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-session-id': 'conversation-1' });
    const chunk = (delta: object, finish: string | null): string =>
      `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'build', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    for (const delta of DELTAS) {
      response.write(chunk(delta, null));
      await pause(30);
    }
    response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
