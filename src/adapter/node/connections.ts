import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What a connection may cost that has no request to answer: no key was sent on it. */
export type ConnectionLimits = {
  /** How long a connection may take for the whole head of its next request, the first one included. */
  readonly headMs: number;
  /** How many connections may be without a running request. One more closes the one that has been so for the longest. */
  readonly idle: number;
};

/**
 * A connection without a request takes 14 KB, and 27 KB with an unfinished head of 16 KB: 1,000 stay under 27 MB. Clients
 * send the head with the connection, so that 10 s is long.
 */
export const CONNECTION_LIMITS: ConnectionLimits = { headMs: 10_000, idle: 1000 };

/** Every open connection, and which of them have no running request. */
export type Connections = {
  readonly opened: (socket: Socket) => void;
  /** A request has begun, whose response is `reply`. */
  readonly began: (socket: Socket, reply: ServerResponse) => void;
  /** The open connections, each with the last response that was begun on it. */
  readonly all: () => ReadonlyMap<Socket, ServerResponse | undefined>;
};

/** Keeps the connections of a server, and closes the oldest idle one when there are more than `idleLimit`. */
export const createConnections = (idleLimit: number): Connections => {
  const replies = new Map<Socket, ServerResponse | undefined>();
  // In the order in which they became idle.
  const idle = new Set<Socket>();

  const rest = (socket: Socket): void => {
    idle.add(socket);
    if (idle.size <= idleLimit) return;
    const [oldest] = idle;
    if (oldest === undefined) return;
    idle.delete(oldest);
    oldest.destroy();
  };

  return {
    opened(socket) {
      replies.set(socket, undefined);
      rest(socket);
      socket.once('close', () => {
        replies.delete(socket);
        idle.delete(socket);
      });
    },
    began(socket, reply) {
      replies.set(socket, reply);
      idle.delete(socket);
      reply.once('close', () => {
        // A request that was sent ahead may run already.
        if (replies.get(socket) === reply) rest(socket);
      });
    },
    all: () => replies,
  };
};
