import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PACKAGE = '@portkey-ai/gateway';
const VERSION = '1.15.2';
const INSTALL_LIMIT_MS = 180_000;

const peers = join(import.meta.dirname, 'peers');
const installed = join(peers, 'node_modules', PACKAGE);

const installedVersion = () => {
  try {
    return JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
};

/** The peer's start-up arguments; installs it on first use, and rejects with npm's own complaint when that fails. */
export const portkeyArguments = async (port) => {
  if (installedVersion() !== VERSION) {
    const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', peers];
    try {
      await promisify(execFile)('npm', ['install', ...flags, `${PACKAGE}@${VERSION}`], { timeout: INSTALL_LIMIT_MS });
    } catch (error) {
      throw new Error(`cannot install ${PACKAGE}: ${/npm error .*/.exec(error.stderr ?? '')?.[0] ?? error.message}`);
    }
  }
  const loopback = join(import.meta.dirname, 'loopback.mjs');
  return ['--import', loopback, join(installed, 'build', 'start-server.js'), `--port=${port}`, '--headless'];
};
