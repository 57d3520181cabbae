import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { parseJson } from '../../../src/core/json.ts';

/** A program that was installed for these tests alone. `missing`: what could not be had, as `check.needing` takes it. */
type Installed = { readonly program: string; readonly missing: string | undefined };
type InstalledGo = Installed & {
  /** The directory of its module, with the files that come beside the program. */
  readonly directory: string;
  /** Whether the module proxy is there, but does not serve this module. */
  readonly isRefused: boolean;
};

const LIMIT_MS = 300_000;
const Download = v.object({ Dir: v.string() });

const ownDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-suite-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
};

/** Installs an npm package of that version. `file`: its program, from the top of the package. */
export const installNpmProgram = (name: string, version: string, file: string): Installed => {
  const directory = ownDirectory();
  const options = ['--prefix', directory, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', ['install', ...options, `${name}@${version}`], { timeout: LIMIT_MS });
  const missing = status === 0 ? undefined : `${name} from npm`;
  return { program: join(directory, 'node_modules', name, file), missing };
};

/** Builds the program at the top of a Go module. */
export const installGoProgram = (module: string, version: string): InstalledGo => {
  const name = module.split('/').at(-1) ?? module;
  const bin = ownDirectory();
  const env = { ...process.env, GOBIN: bin };
  const go = (...words: string[]) => spawnSync('go', words, { cwd: bin, env, encoding: 'utf8', timeout: LIMIT_MS });
  const download = go('mod', 'download', '-json', `${module}@${version}`);
  const build = go('install', `${module}@${version}`);
  const isBuilt = download.status === 0 && build.status === 0;
  return {
    program: join(bin, name),
    directory: parseJson(Download, download.stdout ?? '')?.Dir ?? '',
    missing: isBuilt ? undefined : `${name} from the Go module proxy`,
    isRefused: !isBuilt && `${download.stdout}${build.stderr}`.includes('403 Forbidden'),
  };
};
