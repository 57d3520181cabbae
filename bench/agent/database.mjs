import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { loadEmbeddedPostgres } from '../../test/agent/adapter/postgres/embedded.ts';
import { freePort, pin, treeCpuMs, withChildren } from '../process.mjs';

/** A PostgreSQL server as it comes, durable commits included, in `directory` and on these cores. */
export const startDatabase = async (directory, cpus) => {
  mkdirSync(directory, { recursive: true });
  // Under root the server runs as another user.
  chmodSync(directory, 0o777);
  const port = await freePort();
  const { default: EmbeddedPostgres } = await loadEmbeddedPostgres();
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'pg'),
    user: 'bench',
    password: 'bench',
    port,
    persistent: true,
    createPostgresUser: false,
    onLog() {},
    onError() {},
  });
  await server.initialise();
  await server.start();
  const pid = Number(readFileSync(join(directory, 'pg', 'postmaster.pid'), 'utf8').split('\n')[0]);
  const hold = (on) => pin(withChildren(pid), on);
  hold(cpus);
  const url = (name) => `postgres://bench:bench@127.0.0.1:${port}/${name}`;
  let count = 0;
  return {
    /** The address of a new, empty database. */
    async freshDatabase() {
      count += 1;
      const sql = postgres(url('postgres'), { max: 1, onnotice() {} });
      await sql.unsafe(`CREATE DATABASE fresh_${count}`);
      await sql.end();
      return url(`fresh_${count}`);
    },
    /** The processor time of all its processes. */
    cpuMs: () => treeCpuMs(pid),
    hold,
    stop: () => server.stop(),
  };
};
