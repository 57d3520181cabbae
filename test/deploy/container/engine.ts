import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Output = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type Engine = {
  /** A directory of this run, which goes with it. */
  readonly directory: string;
  readonly variables: NodeJS.ProcessEnv;
  /** Before every other word of podman. */
  readonly storage: readonly string[];
  /** Runs podman to its end, whatever that is. */
  readonly podman: (...words: string[]) => Promise<Output>;
  /** The same, and fails with what podman says unless it ends with 0. */
  readonly must: (...words: string[]) => Promise<string>;
};

const COMMAND_LIMIT_MS = 300_000;
const OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024;

/** Whether a program is on the path. */
export const has = (name: string): boolean => spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined;

/** Where Debian puts a PostgreSQL server, which is on nobody's path. */
export const postgresDirectory = (): string | undefined => {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
  return versions
    .map((version) => join('/usr/lib/postgresql', version))
    .find((it) => existsSync(join(it, 'bin/initdb')));
};

/** What the images need and this machine lacks. One of them holds Redis, and one PostgreSQL. */
export const missingEngine = (): string | undefined =>
  ['podman', 'redis-server'].find((name) => !has(name)) ??
  (postgresDirectory() === undefined ? "PostgreSQL's server" : undefined);

/** Runs a program to its end. */
export const ran = (program: string, words: readonly string[], variables: NodeJS.ProcessEnv): Promise<Output> =>
  new Promise((settle) => {
    execFile(
      program,
      words,
      { env: variables, timeout: COMMAND_LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: OUTPUT_LIMIT_BYTES },
      (error, stdout, stderr) =>
        settle({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr }),
    );
  });

/** Where processes may not raise limits, and control groups are of the older kind, podman's own defaults do not start. */
const SETTINGS = (runtime: string) => `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "${runtime}"
`;

/**
 * podman with images, containers and volumes of its own in a new directory. All of it is gone when this process ends:
 * nothing of whoever runs the tests is seen or touched.
 */
export const createEngine = (): Engine => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-containers-'));
  const settings = join(directory, 'containers.conf');
  writeFileSync(settings, SETTINGS(has('runc') ? 'runc' : 'crun'));
  mkdirSync(join(directory, 'run'));
  const variables = { ...process.env, CONTAINERS_CONF: settings };
  const storage = ['--root', join(directory, 'storage'), '--runroot', join(directory, 'run')];
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  process.on('exit', () => {
    const quietly = { env: variables, stdio: 'ignore' } as const;
    spawnSync('podman', [...storage, 'rm', '--all', '--force', '--time', '0'], quietly);
    spawnSync('umount', [join(directory, 'storage/overlay')], quietly);
    execFileSync('rm', ['-rf', directory], quietly);
    rmSync(directory, { recursive: true, force: true });
  });
  const podman: Engine['podman'] = (...words) => ran('podman', [...storage, ...words], variables);
  return {
    directory,
    variables,
    storage,
    podman,
    async must(...words) {
      const { code, stdout, stderr } = await podman(...words);
      if (code !== 0) throw new Error(`podman ${words.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
      return stdout.trim();
    },
  };
};
