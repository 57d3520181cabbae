import { resolve } from 'node:path';
import { newId } from '../../adapter/web-crypto.ts';
import type { HeartbeatTimes } from '../../agent/adapter/postgres/cluster.ts';
import type { OnStoreMade } from '../../agent/adapter/sqlite/schema.ts';
import { claimServerFile } from '../../agent/adapter/sqlite/server-lock.ts';
import { openSqliteStore } from '../../agent/adapter/sqlite/store.ts';
import type { Ids } from '../../agent/protocol/ids.ts';
import type { Database } from '../../agent/settings.ts';
import { createSingleServer, type Peers } from '../../agent/store/cluster.ts';

import type { Store } from '../../agent/store/store.ts';

/** The store of an agent server, with the other servers on it. */
type AgentStore = { readonly store: Store; readonly peers: Peers; readonly close: () => Promise<void> };

/** What opening a store needs. */
type AgentStoreNeeds = {
  readonly ids: Ids;
  /** A server without a heartbeat for this long counts as dead for the others that share its database. */
  readonly leaseMs: number;
  /** Called with errors of a shared database, as long as they last. */
  readonly onError: (error: unknown) => void;
  /** Called when a new file was made for the store. */
  readonly onMade?: OnStoreMade;
};
/** What opening a file needs. */
type FileNeeds = Pick<AgentStoreNeeds, 'ids' | 'onMade'>;

/** One late heartbeat does not make a server count as dead. */
const HEARTBEATS_PER_LEASE = 3.5;
/** Every server sees the command as alive, and the command counts no server as dead, because it does not know their lease. */
const COMMAND_TIMES = { beatMs: 500, aliveMs: 86_400_000 } as const;

type SharedNeeds = Pick<AgentStoreNeeds, 'onError'> & { readonly times: HeartbeatTimes };

const openShared = async (url: string, { times, onError }: SharedNeeds): Promise<AgentStore> => {
  // Loaded only for PostgreSQL: a server with a file does not need it.
  const { openPostgres } = await import('../../agent/adapter/postgres/connection.ts');
  const { createPostgresCluster } = await import('../../agent/adapter/postgres/cluster.ts');
  const { openPostgresStore } = await import('../../agent/adapter/postgres/store.ts');
  const { explainPostgresError } = await import('../../agent/adapter/postgres/errors.ts');
  const connection = await openPostgres({ url });
  const opening = openPostgresStore({ connection, newServerID: newId, aliveMs: times.aliveMs });
  const shared = await opening.catch(async (error: unknown) => {
    await connection.close();
    throw explainPostgresError(error);
  });
  const peers = createPostgresCluster({ connection, shared, times, onError });
  return {
    store: shared.store,
    peers,
    async close() {
      await peers.close();
      await shared.store.close();
    },
  };
};

const openFile = async (path: string, needs: FileNeeds): Promise<AgentStore> => {
  const store = await openSqliteStore({ file: resolve(path), ...needs });
  return { store, peers: createSingleServer(store), close: store.close };
};

/** The same for a server, which would end the running answers of another one on the file. */
const openFileForServer = async (path: string, needs: FileNeeds): Promise<AgentStore> => {
  const opened = await openFile(path, needs);
  try {
    const release = await claimServerFile(resolve(path));
    return { ...opened, close: () => opened.close().finally(release) };
  } catch (error) {
    await opened.close();
    throw error;
  }
};

/** Opens what `AGENT_DATABASE_URL` names. A `ConfigError` says why it cannot be used. */
export const openAgentStore = async (
  database: Database,
  { leaseMs, onError, ...needs }: AgentStoreNeeds,
): Promise<AgentStore> => {
  const times = { beatMs: leaseMs / HEARTBEATS_PER_LEASE, aliveMs: leaseMs };
  return database.kind === 'postgres'
    ? openShared(database.url, { times, onError })
    : openFileForServer(database.path, needs);
};

/** The same for a command that runs next to servers: it sends heartbeats and runs no session. */
export const openStoreForCommand = async (
  database: Database,
  needs: FileNeeds,
): Promise<Pick<AgentStore, 'store' | 'close'>> => {
  if (database.kind === 'sqlite') return openFile(database.path, needs);
  const opened = await openShared(database.url, { times: COMMAND_TIMES, onError() {} });
  opened.peers.listen({ onEvents() {}, onAbort() {}, onAbandoned() {} });
  return opened;
};
