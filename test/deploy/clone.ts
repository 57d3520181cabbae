import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ROOT, run } from '../runtime/processes.ts';

export const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** What a clone of what is committed needs, if this tree has it not. */
export const noClone = existsSync(join(ROOT, '.git')) ? undefined : 'git repository';

/** What a stranger's shell has: its own Node and npm, and none of our packages. Downloads come from npm's cache first. */
export const freshVariables = (): Readonly<Record<string, string | undefined>> => ({
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter((entry) => !entry.includes('node_modules'))
    .join(delimiter),
  HOME: process.env.HOME,
  NO_COLOR: '1',
  npm_config_prefer_offline: 'true',
  npm_config_update_notifier: 'false',
});

/** A fresh clone of what is committed, in a directory of its own that is gone when the tests are. */
export const freshClone = async (): Promise<string> => {
  const parent = mkdtempSync(join(tmpdir(), 'gatehouse-clone-'));
  process.on('exit', () => rmSync(parent, { recursive: true, force: true }));
  const directory = join(parent, 'gatehouse');
  const { code, stderr } = await run('git', ['clone', '--quiet', ROOT, directory]);
  if (code !== 0) throw new Error(stderr);
  return directory;
};
