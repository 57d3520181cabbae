import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { freePort, start } from '../../../runtime/processes.ts';

const PASSWORD = 'only-for-tests';
const PROGRAMS = ['pg_dump', 'pg_restore', 'initdb', 'postgres'];
const HOMES = ['/usr/lib/postgresql', '/usr/pgsql', '/opt/homebrew/opt'];

const directoriesIn = (home: string): readonly string[] => {
  const versions = existsSync(home) ? readdirSync(home) : [];
  return versions
    .sort((left, right) => Number.parseInt(right, 10) - Number.parseInt(left, 10))
    .map((one) => join(home, one, 'bin'));
};
/** Where a whole PostgreSQL is, of which the dumps are tried: a pg_dump takes no server that is newer than itself. */
const binDirectory = (): string | undefined =>
  HOMES.flatMap(directoriesIn).find((bin) => PROGRAMS.every((name) => existsSync(join(bin, name))));

type Owner = { readonly uid: number; readonly gid: number };
/** Under root a server runs as another user, or not at all. */
export const ownerOf = (): Owner | undefined => {
  const { uid, gid } = userInfo();
  if (uid !== 0) return { uid, gid };
  try {
    const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { stdio: 'pipe' }).toString());
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    return undefined;
  }
};

/** What this machine lacks to dump a database, if anything. */
export const missingTools = (): string | undefined =>
  binDirectory() === undefined || ownerOf() === undefined ? 'PostgreSQL with pg_dump' : undefined;

/** A PostgreSQL that comes with the programs that dump and restore it. */
type DumpablePostgres = {
  readonly bin: string;
  readonly urlOf: (database: string) => string;
  readonly createDatabase: (name: string) => Promise<string>;
  readonly stop: () => Promise<void>;
};

/** Starts one. Whoever starts it stops it. */
export const startDumpable = async (): Promise<DumpablePostgres> => {
  const [bin, owner] = [binDirectory(), ownerOf()];
  if (bin === undefined || owner === undefined) throw new Error('There is no PostgreSQL here to start');
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-dumpable-'));
  const secret = join(directory, 'password');
  writeFileSync(secret, PASSWORD);
  for (const path of [directory, secret]) chownSync(path, owner.uid, owner.gid);
  chmodSync(directory, 0o700);
  const data = join(directory, 'data');
  const words = [
    '-D',
    data,
    '-U',
    'gatehouse',
    '-A',
    'scram-sha-256',
    `--pwfile=${secret}`,
    '-E',
    'UTF8',
    '--no-locale',
  ];
  execFileSync(join(bin, 'initdb'), words, { ...owner, stdio: 'pipe', cwd: directory });
  const port = await freePort();
  // A program that drops its rights first: the tests' own way to start one keeps them.
  const run = ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  const flags = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', directory];
  const [command = '', ...before] = userInfo().uid === 0 ? run : ['env'];
  const server = start(command, [...before, join(bin, 'postgres'), ...flags], { directory });
  await server.outputMatching(/ready to accept connections/);
  const urlOf = (database: string): string => `postgres://gatehouse:${PASSWORD}@127.0.0.1:${port}/${database}`;
  return {
    bin,
    urlOf,
    async createDatabase(name) {
      const sql = postgres(urlOf('postgres'), { max: 1 });
      await sql`CREATE DATABASE ${sql(name)}`;
      await sql.end();
      return urlOf(name);
    },
    async stop() {
      server.signal('SIGINT');
      await server.ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
