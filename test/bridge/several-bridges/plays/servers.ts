import { pause } from '../../../../src/core/async.ts';
import { HttpClientError } from '../../../../src/core/http/client.ts';
import type { Handler } from '../../../../src/core/http/handler.ts';
import { waysOver } from '../../agent/servers-world.ts';
import { type AgentLink, createAgentLink } from '../../harness/agent-link.ts';
import { type BridgeWorld, createBridgeWorld } from '../../harness/world.ts';
import type { Arena, ArenaServer } from './arena.ts';

/** What becomes of the requests of a bridge that begin a turn, or read one. */
export type Fate = 'arrives' | 'is not sent' | 'loses its answer' | 'breaks in its answer';

/** A bridge of a play, until it is killed. */
export type PlayBridge = {
  readonly world: BridgeWorld;
  readonly links: readonly AgentLink[];
  /** Settles when it is killed: no client hears of it any more. */
  readonly gone: PromiseWithResolvers<undefined>;
  /** What becomes of its next requests. */
  fates: Fate[];
};

const RESTART_MS = 300;
const GRACE = { kind: 'grace', ms: 10_000 } as const;

/** A body whose connection breaks after its first bytes. */
const broken = (body: Response['body']): ReadableStream<Uint8Array> => {
  const reader = body?.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { value } = (await reader?.read()) ?? {};
      if (value !== undefined) controller.enqueue(value);
      await reader?.cancel();
      controller.error(new HttpClientError('ECONNRESET'));
    },
    cancel: () => reader?.cancel(),
  });
};

const isTurn = ({ url }: Request): boolean => /^\/gatehouse\/turns(?:$|\/\w+\/output)/.test(new URL(url).pathname);

/** Two bridges over two agent servers on one store. Each of them may be killed, and another takes its place. */
export const startServers = async (
  arena: Arena,
  given: Parameters<Arena['startServer']>[0],
  onKilled: (server: ArenaServer, living: ArenaServer) => Promise<void>,
) => {
  const servers: [ArenaServer, ArenaServer] = [await arena.startServer(given), await arena.startServer(given)];
  const past: PlayBridge[] = [];
  let isServerAway = false;

  const wayTo =
    (server: ArenaServer, fateOf: () => Fate | undefined): Handler =>
    async (request) => {
      const fate = (isTurn(request) ? fateOf() : undefined) ?? 'arrives';
      if (fate === 'is not sent') throw new HttpClientError('ECONNREFUSED');
      const response = await server.agent.server.handler(request);
      if (fate === 'arrives') return response;
      if (fate === 'breaks in its answer')
        return new Response(broken(response.body), { status: response.status, headers: response.headers });
      await response.body?.cancel();
      throw new HttpClientError('ECONNRESET');
    };
  const startBridge = async (): Promise<PlayBridge> => {
    const bridge: { made?: PlayBridge } = {};
    const fateOf = () => bridge.made?.fates.pop();
    const links = servers.map((server) => createAgentLink(wayTo(server, fateOf)));
    for (const [place, { isGone }] of servers.entries()) if (isGone()) links[place]?.replace(undefined);
    const [{ agent }] = servers;
    const { clock } = arena;
    const ways = waysOver(links);
    const world = await createBridgeWorld({ over: agent, ways, clock, bridges: 1, settings: { onDisconnect: GRACE } });
    bridge.made = { world, links, gone: Promise.withResolvers(), fates: [] };
    return bridge.made;
  };
  const bridges: [PlayBridge, PlayBridge] = [await startBridge(), await startBridge()];

  return {
    bridgeAt: (place: 0 | 1): PlayBridge => bridges[place],
    /** All connections of the bridge break. */
    breakOff: (place: 0 | 1): void => {
      for (const link of bridges[place].links) link.breakOff();
    },
    async killBridge(place: 0 | 1): Promise<void> {
      const killed = bridges[place];
      past.push(killed);
      for (const link of killed.links) {
        link.replace(undefined);
        link.breakOff();
      }
      killed.gone.resolve(undefined);
      bridges[place] = await startBridge();
    },
    /** Nothing, while another one is away. */
    async killServer(place: 0 | 1): Promise<void> {
      if (isServerAway) return;
      isServerAway = true;
      const killed = servers[place];
      const over = killed.vanish();
      for (const { links } of bridges) {
        links[place]?.replace(undefined);
        links[place]?.breakOff();
      }
      // Another server soon ends what this one was at.
      await Promise.all([over, onKilled(killed, servers[place === 0 ? 1 : 0])]);
      await pause(arena.clock, RESTART_MS, new AbortController().signal);
      const server = await arena.startServer(given);
      servers[place] = server;
      for (const bridge of bridges) bridge.links[place]?.replace(wayTo(server, () => bridge.fates.pop()));
      isServerAway = false;
    },
    async stop(): Promise<void> {
      await Promise.all([...bridges, ...past].map(({ world }) => world.bridge.stop()));
      for (const server of servers) await server.stop();
    },
  };
};
