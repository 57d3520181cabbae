import { HttpClientError, type OpenHttpStream } from '../../../src/core/http/client.ts';
import type { AgentWorld } from '../../agent/harness/world.ts';
import { type AgentLink, createAgentLink } from '../harness/agent-link.ts';
import { type BridgeGiven, type BridgeWorld, createBridgeWorld, startAgentWorld } from '../harness/world.ts';

/** One of several agent servers, and what lies between the bridge and it. */
export type Server = {
  readonly agent: AgentWorld;
  readonly link: AgentLink;
  /** Is gone at once, with all its connections. */
  readonly goAway: () => void;
  /** Answers again, as it did. */
  readonly comeBack: () => void;
  /** Says that it cannot answer now. */
  readonly turnAway: () => void;
};

export type ServersWorld = { readonly world: BridgeWorld; readonly servers: readonly [Server, Server] };

const serverOf = (agent: AgentWorld): Server => {
  const link = createAgentLink(agent.server.handler);
  return {
    agent,
    link,
    goAway() {
      link.replace(undefined);
      link.breakOff();
    },
    comeBack: () => link.replace(agent.server.handler),
    turnAway: () => link.replace(async () => new Response('{}', { status: 503, headers: { 'retry-after': '1' } })),
  };
};

/** The ways to several servers, told apart by their hosts. */
export const waysOver = (links: readonly AgentLink[]): NonNullable<BridgeGiven['ways']> => {
  const linkAt = (url: string): AgentLink => {
    const found = links[Number(/\d+/.exec(new URL(url).host)?.[0])];
    if (found === undefined) throw new HttpClientError('ENOTFOUND');
    return found;
  };
  const stream: OpenHttpStream = (asked) => linkAt(asked.url).stream(asked);
  return {
    baseUrls: links.map((_, place) => `http://agent-${place}.test`),
    httpClient: (sent) => linkAt(sent.url).httpClient(sent),
    stream,
  };
};

/** A bridge over two agent servers. They are stopped by who has made them. */
export const withAgents = async (
  [one, other]: readonly [AgentWorld, AgentWorld],
  body: (servers: ServersWorld) => Promise<void>,
  prepare: (servers: ServersWorld['servers']) => void = () => {},
): Promise<void> => {
  const servers = [serverOf(one), serverOf(other)] as const;
  prepare(servers);
  const world = await createBridgeWorld({ over: one, ways: waysOver(servers.map(({ link }) => link)) });
  try {
    await body({ world, servers });
  } finally {
    await world.stop();
  }
};

/**
 * A bridge over two agent servers with one store between them, in memory. Neither hears of the other's events before they
 * are read from the store, nor knows what the other one is at.
 */
export const withServers = async (
  given: BridgeGiven,
  body: (servers: ServersWorld) => Promise<void>,
  prepare?: (servers: ServersWorld['servers']) => void,
): Promise<void> => {
  const one = await startAgentWorld(given);
  const other = await startAgentWorld({ ...given, store: one.store });
  try {
    await withAgents([one, other], body, prepare);
  } finally {
    await other.server.stop();
  }
};
