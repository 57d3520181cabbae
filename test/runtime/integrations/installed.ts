import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../processes.ts';

/** A product as it was installed. `missing`: what could not be installed, as `check.needing` takes it. */
type Installed = { readonly home: string; readonly missing: string | undefined };

const LIMIT_MS = 580_000;
const PEERS = join(ROOT, 'bench/peers');

const isDone = (file: string, ...words: string[]): boolean =>
  spawnSync(file, words, { timeout: LIMIT_MS, stdio: 'ignore' }).status === 0;

/** Installs packages from PyPI with all that they need in an environment of their own, which later runs use again. */
export const installPythonProgram = (name: string, version: string, packages: readonly string[]): Installed => {
  const home = join(PEERS, `${name}-${version}`);
  const mark = join(home, 'installed');
  if (existsSync(mark)) return { home, missing: undefined };
  const pip = [join(home, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'] as const;
  if (!isDone('python3', '-m', 'venv', home) || !isDone(...pip, ...packages))
    return { home, missing: `${name} ${version} from PyPI` };
  writeFileSync(mark, '');
  return { home, missing: undefined };
};

/** Installs a package from npm beside those of the benchmarks, which later runs use again. `home` is the package's directory. */
export const installNpmPackage = (name: string, version: string): Installed => {
  const home = join(PEERS, 'node_modules', name);
  const isThere = (): boolean => {
    try {
      return readFileSync(join(home, 'package.json'), 'utf8').includes(`"version": "${version}"`);
    } catch {
      return false;
    }
  };
  const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', PEERS];
  const isInstalled = isThere() || (isDone('npm', ...words, `${name}@${version}`) && isThere());
  return { home, missing: isInstalled ? undefined : `${name} ${version} from npm` };
};
