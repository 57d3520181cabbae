import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { newId, randomBytes } from '../../../../src/adapter/web-crypto.ts';
import { createPostgresCluster, type HeartbeatTimes } from '../../../../src/agent/adapter/postgres/cluster.ts';
import { openPostgres } from '../../../../src/agent/adapter/postgres/connection.ts';
import { openPostgresStore } from '../../../../src/agent/adapter/postgres/store.ts';
import { createIds } from '../../../../src/agent/protocol/ids.ts';
import { type AgentWorld, createAgentWorld, type WorldGiven } from '../../harness/world.ts';
import type { TestPostgres } from './world.ts';

/** An agent server that is one of several. */
export type Replica = AgentWorld & {
  readonly schema: string;
  /** Ends as a server does that is told to. */
  readonly leave: () => Promise<void>;
  /** Is gone as a server is that was killed: it says nothing more to the database. */
  readonly vanish: () => Promise<void>;
  readonly errors: unknown[];
  /** A request and its whole answer. Rejects when the server has vanished, as a connection to one that was killed does. */
  readonly whole: (
    method: string,
    path: string,
    body?: unknown,
  ) => Promise<{ readonly status: number; readonly text: string }>;
};

/** Short, so that a test sees a server die. */
const TIMES: HeartbeatTimes = { beatMs: 150, aliveMs: 900 };

/** Starts an agent server on a schema of the database, beside whatever others there are. */
export const startReplica = async (
  { url }: TestPostgres,
  schema: string,
  given: WorldGiven = {},
  times: HeartbeatTimes = TIMES,
): Promise<Replica> => {
  const clock = systemClock;
  const ids = createIds(clock, randomBytes);
  const connection = await openPostgres({ url, schema, connections: 4 });
  const { aliveMs } = times;
  const shared = await openPostgresStore({ connection, newServerID: newId, aliveMs });
  const errors: unknown[] = [];
  const onFailure = (error: unknown): void => void errors.push(error);
  const peers = createPostgresCluster({ connection: connection, shared, times, onError: onFailure });
  const { store } = shared;
  const world = await createAgentWorld({ ...given, store, changes: { clock, ids, peers, ...given.changes } });
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => {});
  const asked = new Set<Promise<void>>();
  return {
    ...world,
    schema,
    errors,
    whole(method, path, body) {
      const asking = world
        .call(method, path, body)
        .then(async (reply) => ({ status: reply.status, text: await reply.text() }));
      const ended = asking.then(
        () => {},
        () => {},
      );
      asked.add(ended);
      void ended.then(() => asked.delete(ended));
      return Promise.race([gone.promise, asking]);
    },
    async leave() {
      await world.server.stop();
      // As Node's server does, which ends when its last answer is sent.
      await Promise.all(asked);
      await peers.close();
      await store.close();
    },
    async vanish() {
      gone.reject(new Error('The server is gone'));
      await peers.close();
      await connection.close();
      // What still runs in it fails by itself.
      void world.server.stop();
    },
  };
};
