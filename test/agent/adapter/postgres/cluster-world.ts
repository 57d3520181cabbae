import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres, { type Sql } from 'postgres';
import { newId } from '../../../../src/adapter/web-crypto.ts';
import { createPostgresCluster, type HeartbeatTimes } from '../../../../src/agent/adapter/postgres/cluster.ts';
import { openPostgres } from '../../../../src/agent/adapter/postgres/connection.ts';
import { openPostgresStore } from '../../../../src/agent/adapter/postgres/store.ts';
import type { EventDraft } from '../../../../src/agent/protocol/events.ts';
import type { DirectoryEvent, Store, StoreChange } from '../../../../src/agent/store/store.ts';
import { reported } from '../../store/samples.ts';
import { dropSchema, type TestPostgres } from './world.ts';

/** Short, so that a test sees a server die. */
const TIMES: HeartbeatTimes = { beatMs: 150, aliveMs: 900 };
const PATIENCE_MS = 25_000;

/** A store and its peers, without the server above them. */
export type Peer = Awaited<ReturnType<typeof openPeer>>;

type PeerGiven = {
  readonly times?: HeartbeatTimes;
  readonly awayLimitMs?: number;
  readonly eventLimitBytes?: number;
  readonly connections?: number;
  readonly answerLimitMs?: number;
};

/** Opens one that has not begun to hear of the others. */
export const openPeer = async (url: string, schema: string, given: PeerGiven = {}) => {
  const { times = TIMES, connections = 4, awayLimitMs, eventLimitBytes, answerLimitMs = 10_000 } = given;
  const connection = await openPostgres({ url, schema, connections, queryLimitMs: answerLimitMs });
  const shared = await openPostgresStore({
    connection: connection,
    newServerID: newId,
    aliveMs: times.aliveMs,
    ...(awayLimitMs === undefined ? {} : { awayLimitMs }),
    ...(eventLimitBytes === undefined ? {} : { eventLimitBytes }),
  });
  const errors: unknown[] = [];
  const peers = createPostgresCluster({
    connection: connection,
    shared,
    times,
    onError: (error) => void errors.push(error),
  });
  const { store, membership } = shared;
  /** Texts as they were told here: those of others as they are heard, own ones as they are answered. */
  const log: string[] = [];
  const aborts: string[] = [];
  let gone = 0;
  const note = (placed: readonly DirectoryEvent[]): void => void log.push(...placed.map(({ event }) => textOf(event)));
  return {
    connection,
    store,
    membership,
    ...peers,
    log,
    aborts,
    errors,
    gone: () => gone,
    listen: (onAbort: (sessionID: string, promptID?: string) => void = () => {}) =>
      peers.listen({
        onEvents: note,
        onAbort(sessionID, promptID) {
          aborts.push(promptID ?? sessionID);
          onAbort(sessionID, promptID);
        },
        onAbandoned() {
          gone += 1;
        },
      }),
    /** Keeps an event of this text, and notes it. */
    async report(text: string, changes: readonly StoreChange[] = [], under?: string): Promise<void> {
      note(await store.commit(changes, [reported(text)], under));
    },
    /** Ends as a server does that is told to. */
    async leave(): Promise<void> {
      await peers.close();
      await store.close();
    },
    /** Says nothing more to the database, as one that was killed. */
    async vanish(): Promise<void> {
      await peers.close();
      await connection.close();
    },
  };
};

/** The text that `told` was given. */
const textOf = (event: EventDraft): string =>
  event.type === 'message.part.delta' ? event.properties.delta : event.type;
/** All that is kept, in order. */
export const textsIn = async (store: Pick<Store, 'events'>): Promise<readonly string[]> =>
  (await store.events({ afterID: '', limit: 1_000_000 })).map(({ event }) => textOf(event));

/** Waits for what other servers do. */
export const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const limit = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > limit) throw new Error(`waited too long until ${what}`);
    await sleep(10);
  }
};

/** Peers on a schema of their own, and somebody who may do everything there. */
export const withPeers = async (
  database: TestPostgres,
  count: number,
  body: (peers: readonly Peer[], world: { readonly schema: string; readonly root: Sql }) => Promise<void>,
  given: PeerGiven = {},
): Promise<void> => {
  const schema = database.freshSchema();
  const root = postgres(database.url, { max: 2, connection: { search_path: schema }, onnotice() {} });
  const peers: Peer[] = [];
  try {
    for (let index = 0; index < count; index++) peers.push(await openPeer(database.url, schema, given));
    await body(peers, { schema, root });
  } finally {
    await Promise.all(peers.map((peer) => peer.vanish().catch(() => {})));
    await root.end({ timeout: 1 });
    await dropSchema(database, schema);
  }
};

/** A way to a database that can be cut, or stand still. */
export const startWire = async (port: number) => {
  const sockets = new Set<Socket>();
  let isToCut = (_answer: Buffer): boolean => false;
  let isStill = false;
  let cuts = 0;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    near.on('data', (bytes) => void (isStill || far.write(bytes)));
    far.on('data', (bytes) => {
      if (isStill) return;
      if (isToCut(bytes)) {
        cuts += 1;
        return end();
      }
      near.write(bytes);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    /** The address of a database by this way. */
    urlOf: (url: string): string => Object.assign(new URL(url), { port: String(address.port) }).href,
    /** From now on an answer that fits is lost, and its connection with it. */
    cutAt(fits: (answer: Buffer) => boolean): void {
      isToCut = fits;
    },
    cuts: () => cuts,
    /** What is said is lost, and no connection ends. */
    standStill(isSo: boolean): void {
      isStill = isSo;
    },
    cutAll(): void {
      for (const socket of [...sockets]) socket.destroy();
    },
    async stop(): Promise<void> {
      for (const socket of [...sockets]) socket.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
};
