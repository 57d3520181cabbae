import { resolve } from 'node:path';
import type { HeartbeatTimes } from '../../adapter/postgres/cluster.ts';
import { openSqliteStore } from '../../adapter/sqlite/store.ts';
import { newId } from '../../adapter/web/crypto.ts';
import type { Ids } from '../../agent/protocol/ids.ts';
import type { Database } from '../../agent/settings.ts';
import { createSingleServer, type Peers } from '../../agent/store/cluster.ts';

import type { Store } from '../../agent/store/store.ts';

/** The store of an agent server, with the other servers on it. */
export type AgentStore = { readonly store: Store; readonly peers: Peers; readonly close: () => Promise<void> };

export type AgentStoreNeeds = {
  readonly ids: Ids;
  /** A server that was not heard of for so long is taken for dead by those that share its database. */
  readonly leaseMs: number;
  /** Hears of trouble with a database that is shared, as long as it lasts. */
  readonly onTrouble: (error: unknown) => void;
};

/** One beat that is late kills nobody. */
const BEATS = 3.5;
/** A command is alive at every server, and takes none for dead: what lease they have it does not know. */
const BESIDE = { beatMs: 500, aliveMs: 86_400_000 } as const;

type SharedNeeds = Omit<AgentStoreNeeds, 'leaseMs'> & { readonly times: HeartbeatTimes };

const openShared = async (url: string, { ids, times, onTrouble }: SharedNeeds): Promise<AgentStore> => {
  // What a server with a file has no use for is loaded by those that have.
  const { openPostgres } = await import('../../adapter/postgres/connection.ts');
  const { createPostgresCluster: createPostgresPeers } = await import('../../adapter/postgres/cluster.ts');
  const { openPostgresStore } = await import('../../adapter/postgres/store.ts');
  const connection = await openPostgres({ url });
  const shared = await openPostgresStore({ connection: connection, ids, newServerID: newId, aliveMs: times.aliveMs });
  const peers = createPostgresPeers({ connection: connection, shared, times, onError: onTrouble });
  return {
    store: shared.store,
    peers,
    async close() {
      await peers.close();
      await shared.store.close();
    },
  };
};

const openFile = async (path: string, { ids }: Pick<AgentStoreNeeds, 'ids'>): Promise<AgentStore> => {
  const store = await openSqliteStore({ file: resolve(path), ids });
  return { store, peers: createSingleServer(), close: store.close };
};

/** Opens what `AGENT_DATABASE_URL` names. A `ConfigError` says why it cannot be used. */
export const openAgentStore = async (database: Database, needs: AgentStoreNeeds): Promise<AgentStore> => {
  const { leaseMs } = needs;
  const times = { beatMs: leaseMs / BEATS, aliveMs: leaseMs };
  return database.kind === 'postgres' ? openShared(database.url, { ...needs, times }) : openFile(database.path, needs);
};

/** The same for a command beside servers: it shows that it is alive, and works on no session. */
export const openStoreBeside = async (
  database: Database,
  needs: Pick<AgentStoreNeeds, 'ids'>,
): Promise<Pick<AgentStore, 'store' | 'close'>> => {
  if (database.kind === 'sqlite') return openFile(database.path, needs);
  const opened = await openShared(database.url, { ...needs, times: BESIDE, onTrouble() {} });
  opened.peers.listen({ onEvents() {}, onAbort() {}, onGone() {} });
  return opened;
};
