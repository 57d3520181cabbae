import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { freePort } from '../../../runtime/processes.ts';
import { loadEmbeddedPostgres } from './embedded.ts';

const PASSWORD = 'only-for-tests';

/** A PostgreSQL server of the tests' own, on loopback. */
export type TestPostgres = {
  readonly port: number;
  /** The address of a fresh schema's database. */
  readonly url: string;
  /** A name that no other test of this process uses. */
  readonly freshSchema: () => string;
  /** The address of a new, empty database. */
  readonly freshDatabase: () => Promise<string>;
  /** Stops it as an operator would, or at once, and starts it again. */
  readonly restart: (downMs?: number) => Promise<void>;
  readonly stop: () => Promise<void>;
};

type OwnServer = {
  /** Whether the test stops, restarts or fills its server, and so needs one that no other file uses. */
  readonly isOwn?: boolean;
  /** How many connections the server accepts. */
  readonly connections?: number;
};

let count = 0;

const freshDatabaseAt = async (url: string): Promise<string> => {
  count += 1;
  const name = `fresh_${process.pid}_${count}`;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`CREATE DATABASE ${sql(name)}`;
  await sql.end();
  return url.replace(/[^/]+$/, name);
};
const freshSchema = (): string => {
  count += 1;
  return `test_${process.pid}_${count}`;
};

/** The server that `test/run.mjs` started for all files, with a database of this file's own in it. */
const joinPostgres = async (server: string): Promise<TestPostgres> => ({
  port: Number(new URL(server).port),
  url: await freshDatabaseAt(server),
  freshSchema,
  freshDatabase: () => freshDatabaseAt(server),
  restart: () => Promise.reject(new Error('This server is shared: ask for one with isOwn')),
  // It ends with the run, and its directory with it.
  stop: async () => {},
});

/** Starts a server, which takes about a second. The caller stops it. */
const startOwnPostgres = async (connections: number): Promise<TestPostgres> => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-postgres-'));
  // Under root the server runs as another user.
  chmodSync(directory, 0o777);
  const port = await freePort();
  const { default: EmbeddedPostgres } = await loadEmbeddedPostgres();
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    user: 'gatehouse',
    password: PASSWORD,
    port,
    persistent: true,
    createPostgresUser: false,
    initdbFlags: ['--no-sync'],
    // No test takes the machine's power away: what is written need not reach the disk.
    postgresFlags: ['listen_addresses=127.0.0.1', `max_connections=${connections}`, 'fsync=off'].flatMap((setting) => [
      '-c',
      setting,
    ]),
    onLog() {},
    onError() {},
  });
  await server.initialise();
  await server.start();
  const url = `postgres://gatehouse:${PASSWORD}@127.0.0.1:${port}/postgres`;
  return {
    port,
    url,
    freshSchema,
    freshDatabase: () => freshDatabaseAt(url),
    async restart(downMs = 0) {
      await server.stop();
      await new Promise((resolve) => setTimeout(resolve, downMs));
      await server.start();
    },
    async stop() {
      await server.stop();
      if (existsSync(directory)) rmSync(directory, { recursive: true, force: true });
    },
  };
};

/** A database to test on: in the server of the whole run where there is one, else in one that is started for this file. */
export const startPostgres = ({ isOwn = false, connections = 60 }: OwnServer = {}): Promise<TestPostgres> => {
  const shared = process.env.TEST_POSTGRES_URL;
  return isOwn || shared === undefined ? startOwnPostgres(connections) : joinPostgres(shared);
};

/** Removes a schema and all in it. */
export const dropSchema = async ({ url }: TestPostgres, schema: string): Promise<void> => {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`DROP SCHEMA IF EXISTS ${sql(schema)} CASCADE`;
  await sql.end();
};
