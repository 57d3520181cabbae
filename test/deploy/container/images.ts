import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ROOT } from '../../runtime/processes.ts';
import { VERSION } from '../helm/world.ts';
import { type Engine, postgresDirectory } from './engine.ts';

export const TARGETS = ['gateway', 'agent', 'bridge', 'console', 'relay-admin'] as const;
export type Target = (typeof TARGETS)[number];

export const PREFIX = 'localhost/gatehouse';
export const imageOf = (target: Target): string => `${PREFIX}-${target}:v${VERSION}`;
/** Stands for the images that are fetched from a registry: made of what runs these tests. */
export const BASE = 'localhost/base:test';
const BUILDER = 'localhost/builder:test';
export const REDIS = 'localhost/redis:test';
export const POSTGRES = 'localhost/postgres:test';

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

const put = (file: string, place: string): void => {
  mkdirSync(dirname(place), { recursive: true });
  copyFileSync(file, place);
};

const pathOf = (name: string): string =>
  realpathSync(execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim());

/** Puts a program under a root, with the libraries that it is linked to. */
const putProgram = (file: string, root: string, place: string): void => {
  put(file, join(root, place));
  chmodSync(join(root, place), 0o755);
  const libraries = execFileSync('ldd', [file], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g);
  for (const [, library = ''] of libraries) put(realpathSync(library), join(root, library));
};

/** As distroless images are: Node in /nodejs/bin, certificates, a user, and no shell. */
const makeBase = (root: string): void => {
  putProgram(realpathSync(process.execPath), root, 'nodejs/bin/node');
  if (existsSync(CERTIFICATES)) put(CERTIFICATES, join(root, CERTIFICATES));
  mkdirSync(join(root, 'etc'), { recursive: true });
  writeFileSync(
    join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n',
  );
};

/** What the build needs beside: npm, a shell for it and for RUN, mkdir and chmod. */
const makeBuilder = (root: string): void => {
  const npm = pathOf('npm');
  cpSync(dirname(dirname(npm)), join(root, 'opt/npm'), { recursive: true });
  for (const name of ['sh', 'mkdir', 'chmod']) putProgram(pathOf(name), root, `bin/${name}`);
  const command = join(root, 'bin/npm');
  writeFileSync(command, '#!/bin/sh\nexec node /opt/npm/bin/npm-cli.js "$@"\n');
  chmodSync(command, 0o755);
  for (const name of ['tmp', 'root']) mkdirSync(join(root, name));
};

const makeRedis = (root: string): void => {
  for (const name of ['redis-server', 'redis-cli']) putProgram(pathOf(name), root, `usr/bin/${name}`);
};

/** The part of the official image's way to begin that compose.yaml counts on: its four variables, and its refusal. */
const POSTGRES_ENTRYPOINT = (programs: string): string => `#!/bin/sh
set -eu
PATH=${programs}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "$POSTGRES_PASSWORD" ]; then
    echo 'Error: Database is uninitialized and superuser password is not specified.' >&2
    exit 1
  fi
  echo "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --no-locale --encoding=UTF8
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_DB" | postgres --single postgres
fi
exec postgres -c 'listen_addresses=*' -c unix_socket_directories=/tmp
`;

const makePostgres = (root: string): void => {
  const home = postgresDirectory() ?? '';
  for (const name of ['postgres', 'initdb', 'pg_isready'])
    putProgram(join(home, 'bin', name), root, `${home}/bin/${name}`);
  // Its compiler for queries has a library of 100 MB, and is optional.
  const isNeeded = (file: string): boolean => !/llvmjit|bitcode|pgxs/.test(file);
  cpSync(join(home, 'lib'), join(root, home, 'lib'), { recursive: true, filter: isNeeded });
  const share = join('/usr/share/postgresql', basename(home));
  cpSync(share, join(root, share), { recursive: true, dereference: true });
  putProgram(pathOf('sh'), root, 'bin/sh');
  for (const directory of ['etc', 'postgres-home', 'run/postgresql', 'tmp']) {
    mkdirSync(join(root, directory), { recursive: true });
  }
  // What is mounted there takes these over, but below /run, where podman's socket mounts something of its own.
  for (const directory of ['run/postgresql', 'tmp']) chmodSync(join(root, directory), 0o1777);
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\npostgres:x:70:70::/var/lib/postgresql:/bin/sh\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\npostgres:x:70:\n');
  writeFileSync(join(root, 'entrypoint.sh'), POSTGRES_ENTRYPOINT(join(home, 'bin')), { mode: 0o755 });
};

const registry = process.env.npm_config_registry ?? 'https://registry.npmjs.org/';
const RECIPE = `FROM scratch AS base
COPY base/ /
ENTRYPOINT ["/nodejs/bin/node"]
FROM base AS builder
COPY builder/ /
ENV PATH=/nodejs/bin:/bin HOME=/root npm_config_cache=/npm npm_config_prefer_offline=true \\
    npm_config_registry=${registry} npm_config_update_notifier=false \\
    npm_config_cafile=${CERTIFICATES} NODE_EXTRA_CA_CERTS=${CERTIFICATES}
FROM scratch AS redis
COPY redis/ /
ENV PATH=/usr/bin
FROM scratch AS postgres
COPY postgres/ /
COPY --chown=70:70 postgres/postgres-home/ /var/lib/postgresql/
ENV PATH=${join(postgresDirectory() ?? '', 'bin')}
ENTRYPOINT ["/entrypoint.sh"]
`;

/** Builds what stands for the images of a registry, and from them the images of all four targets. */
export const buildImages = async ({ directory, must }: Engine): Promise<void> => {
  const context = join(directory, 'context');
  makeBase(join(context, 'base'));
  makeBuilder(join(context, 'builder'));
  makeRedis(join(context, 'redis'));
  makePostgres(join(context, 'postgres'));
  writeFileSync(join(context, 'Containerfile'), RECIPE);
  for (const [target, image] of [
    ['base', BASE],
    ['builder', BUILDER],
    ['redis', REDIS],
    ['postgres', POSTGRES],
  ] as const) {
    await must('build', '--quiet', '--target', target, '--tag', image, context);
  }
  // The packages that npm has fetched for this checkout need not be fetched again.
  const cache = process.env.npm_config_cache ?? join(process.env.HOME ?? '', '.npm');
  mkdirSync(cache, { recursive: true });
  const packages = ['--network', 'host', '--volume', `${cache}:/npm`];
  const images = ['--build-arg', `BASE=${BASE}`, '--build-arg', `BUILDER=${BUILDER}`];
  for (const target of TARGETS) {
    // Only docker's own format holds a HEALTHCHECK. The gateway is what is built unless something else is asked for.
    const chosen = target === 'gateway' ? [] : ['--target', target];
    await must('build', '--format', 'docker', ...packages, ...images, ...chosen, '--tag', imageOf(target), ROOT);
  }
};
