import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Builds the bundles of a commit in `directory`, with the libraries that are installed here. */
const build = (commit, bundles, directory) => {
  const archive = execFileSync('git', ['archive', '--format=tar', commit], { cwd: root, maxBuffer: 1e9 });
  execFileSync('tar', ['-x', '-C', directory], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  execFileSync(process.execPath, ['build.mjs', ...bundles], { cwd: directory });
  return join(directory, 'dist');
};

const copied = (dist, bundles, directory) => {
  mkdirSync(directory, { recursive: true });
  const copies = bundles.map((bundle) => {
    const from = join(dist, bundle);
    if (!existsSync(from)) throw new Error(`${from} is missing: npm run build`);
    const to = join(directory, bundle.replace('.js', '.mjs'));
    copyFileSync(from, to);
    return [bundle, to];
  });
  return Object.fromEntries(copies);
};

/**
 * The bundles that are measured, as copies in `directory`, so that whoever builds meanwhile changes nothing: those of `dist`
 * here, and with `against`, a folder of bundles or a commit, those of the version to compare with.
 */
export const versionsToMeasure = (against, bundles, directory) => {
  const now = { name: 'now', programs: copied(join(root, 'dist'), bundles, join(directory, 'now')) };
  if (against === undefined) return [now];
  const source = join(directory, 'source');
  mkdirSync(source, { recursive: true });
  const dist = existsSync(join(against, bundles[0])) ? against : build(against, bundles, source);
  return [now, { name: 'before', programs: copied(dist, bundles, join(directory, 'before')) }];
};

/** Odd times in one order, even ones in the other, so that what changes with time falls on all alike. */
export const alternated = (list, time) => (time % 2 === 1 ? list : list.toReversed());
