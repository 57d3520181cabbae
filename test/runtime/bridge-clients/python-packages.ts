import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type PythonPackages = {
  /** A directory of this process alone, which is removed with it. The packages are at its top: it is a PYTHONPATH. */
  readonly directory: string;
  /** What could not be installed, as `check.needing` takes it. */
  readonly missing: string | undefined;
};

const LIMIT_MS = 300_000;

/**
 * Installs wheels from PyPI into a directory of their own. `words` are what pip installs: packages with their versions, or
 * `-r` and a file that lists them. Nothing else is installed, so the list names all that they need.
 */
export const installPythonPackages = (name: string, words: readonly string[]): PythonPackages => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-python-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const options = ['--quiet', '--no-deps', '--no-compile', '--only-binary', ':all:', '--target', directory];
  const { status } = spawnSync('python3', ['-m', 'pip', 'install', ...options, ...words], { timeout: LIMIT_MS });
  return { directory, missing: status === 0 ? undefined : `${name} from PyPI` };
};
