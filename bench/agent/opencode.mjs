import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PACKAGE = 'opencode-ai';
const VERSION = '1.18.33';
const INSTALL_LIMIT_MS = 300_000;

// A folder of its own: npm takes away what it finds beside a package that nobody has saved.
const peers = join(import.meta.dirname, '..', 'peers', 'opencode');
const modules = join(peers, 'node_modules');

const installedVersion = () => {
  try {
    return JSON.parse(readFileSync(join(modules, PACKAGE, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
};

/** The peer's program, without the launcher around it; installs it on first use, and rejects with npm's own complaint. */
export const opencodeProgram = async () => {
  if (installedVersion() !== VERSION) {
    // No scripts: the program lies in a package of its own, which needs none.
    const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', peers];
    try {
      await promisify(execFile)('npm', ['install', ...flags, `${PACKAGE}@${VERSION}`], { timeout: INSTALL_LIMIT_MS });
    } catch (error) {
      throw new Error(`cannot install ${PACKAGE}: ${/npm error .*/.exec(error.stderr ?? '')?.[0] ?? error.message}`);
    }
  }
  const names = ['', '-musl', '-baseline', '-baseline-musl'].map(
    (kind) => `opencode-${process.platform}-${process.arch}${kind}`,
  );
  const program = names.map((name) => join(modules, name, 'bin', 'opencode')).find((path) => existsSync(path));
  if (program === undefined) throw new Error(`${PACKAGE} brings no program for ${process.platform} ${process.arch}`);
  return program;
};
