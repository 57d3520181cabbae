import type { McpServerConfig } from '../../../../../src/agent/config/types.ts';
import { McpServerError } from '../../../../../src/agent/tools/mcp/errors.ts';
import { createFakeClock } from '../../../../fake-clock.ts';
import { createPeer, type Peer, type PeerNeeds } from '../peer.ts';
import { createMcpWorld, inMemory, local } from '../world.ts';

export const NOBODY = new AbortController().signal;

/** One server named `demo`, a new peer for every attempt; `needs` may change from one attempt to the next. */
export const oneServer = (needs: () => PeerNeeds | McpServerError, more: Partial<McpServerConfig> = {}) => {
  const clock = createFakeClock();
  const peers: Peer[] = [];
  const attempts: number[] = [];
  const startedAt = clock.now();
  const transports = inMemory({
    demo() {
      attempts.push(clock.now() - startedAt);
      const found = needs();
      if (found instanceof McpServerError) throw found;
      const peer = createPeer(found);
      peers.push(peer);
      return peer.transport;
    },
  });
  const config = { ...local('demo'), ...more } as McpServerConfig;
  const world = createMcpWorld({ servers: { demo: config }, transports, clock });
  return {
    ...world,
    clock,
    attempts,
    peer(): Peer {
      const peer = peers.at(-1);
      if (peer === undefined) throw new Error('no peer was made');
      return peer;
    },
    settle: () => clock.advance(0),
  };
};

export const begun = async (...given: Parameters<typeof oneServer>) => {
  const world = oneServer(...given);
  world.servers.start();
  await world.settle();
  return world;
};

export const failing = () => new McpServerError('unreachable', 'The program could not be started');
