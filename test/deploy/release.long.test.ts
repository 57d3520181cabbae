import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { freePort, ROOT, run, start } from '../runtime/processes.ts';
import { freshClone, noClone } from './clone.ts';
import { goProgram } from './go-programs.ts';

/** The package is built before it is packed. */
const LIMIT_MS = 180_000;
const VERSION: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
const HELM = goProgram('helm', ['version', '--short'], /^v3\./);
const hasRegistry = spawnSync('docker-registry', ['--version']).status === 0;
const needsHelm = noClone ?? (HELM === undefined ? 'helm 3' : undefined);

let cloned: Promise<string> | undefined;
const clone = (): Promise<string> => {
  cloned ??= freshClone().then((directory) => {
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    return directory;
  });
  return cloned;
};
const PATH = [join(ROOT, 'node_modules/.bin'), dirname(HELM ?? ''), process.env.PATH].join(':');

const script = async (words: readonly string[], variables: Readonly<Record<string, string>> = {}) => {
  const directory = await clone();
  const running = start('bash', words, {
    directory,
    variables: { PATH, HOME: process.env.HOME, npm_config_update_notifier: 'false', ...variables },
  });
  const timer = setTimeout(() => running.signal('SIGKILL'), LIMIT_MS);
  const { code } = await running.ended;
  clearTimeout(timer);
  const text = running.stdout() + running.stderr();
  assert.is(code, 0, `${words[0]} ended with ${code}: ${text}`);
  return { directory, text };
};

/** A registry of images and charts that keeps what it gets in this directory. */
const startRegistry = async (directory: string) => {
  const port = await freePort();
  const file = join(directory, 'registry.yml');
  const storage = { filesystem: { rootdirectory: join(directory, 'registry') } };
  writeFileSync(file, JSON.stringify({ version: '0.1', storage, http: { addr: `127.0.0.1:${port}` } }));
  const running = start('docker-registry', ['serve', file], { directory });
  const address = `127.0.0.1:${port}`;
  for (let left = 100; left > 0; left -= 1) {
    const isUp = await fetch(`http://${address}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return { address, end: () => running.kill() };
    await new Promise((settle) => setTimeout(settle, 50));
  }
  throw new Error(running.stderr());
};

describe('what a release publishes', (check) => {
  check.needing(noClone, 'is a package that npm would take, of the repository it was built in', async () => {
    const { directory, text } = await script(['release/npm.sh'], { GITHUB_REPOSITORY: 'someone/gatehouse' });
    assert.match(text, `+ @gatehouse-llm/gatehouse@${VERSION}`);
    assert.match(text, /dry-run/);
    const { stdout } = await run('git', ['status', '--porcelain', '--untracked-files=no'], { directory });
    assert.is(stdout, '');
  });

  check.needing(needsHelm, 'is attached to it with notes, SBOM and checksums', async () => {
    const { directory } = await script(['release/assets.sh', 'dist/release']);
    const folder = join(directory, 'dist/release');
    const files = [`gatehouse-${VERSION}.cdx.json`, `gatehouse-chart-${VERSION}.tgz`, `gatehouse-npm-${VERSION}.tgz`];
    assert.equal(readdirSync(folder).sort(), ['SHA256SUMS', ...files, 'notes.md'].sort());
    const { code } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { directory: folder });
    assert.is(code, 0);
    assert.ok(readFileSync(join(folder, 'notes.md'), 'utf8').length > 100);
  });

  const needsRegistry = needsHelm ?? (hasRegistry ? undefined : 'docker-registry');
  check.needing(needsRegistry, 'is a chart that a registry takes and helm finds there', async () => {
    const directory = await clone();
    const charts = join(directory, 'dist/charts');
    mkdirSync(charts, { recursive: true });
    const registry = await startRegistry(charts);
    try {
      const place = `oci://${registry.address}/charts`;
      await script(['release/chart.sh', charts, place], { HELM_PUSH_ARGS: '--plain-http' });
      const words = ['show', 'chart', `${place}/gatehouse`, '--version', VERSION, '--plain-http'];
      const { code, stdout } = await run(HELM ?? 'helm', words);
      assert.is(code, 0);
      assert.match(stdout, `version: ${VERSION}`);
    } finally {
      await registry.end();
      rmSync(charts, { recursive: true, force: true });
    }
  });
});
