import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that gives each request to the next of several others, and what it streams back as it comes. */
export const startRoundRobin = async (
  addresses: readonly string[],
): Promise<{ readonly address: string; readonly stop: () => void }> => {
  let turn = 0;
  const server = createServer((asked, answered) => {
    const address = addresses[turn % addresses.length];
    turn += 1;
    const { method, headers, url } = asked;
    const passedOn = request(`${address}${url}`, { method, headers }, (answer) => {
      answered.writeHead(answer.statusCode ?? 502, answer.headers);
      answered.flushHeaders();
      answer.on('error', () => answered.destroy());
      answer.pipe(answered);
    });
    passedOn.on('error', () => answered.destroy());
    // A client that leaves is one that the bridge has to hear of.
    answered.on('close', () => passedOn.destroy());
    asked.pipe(passedOn);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
};
