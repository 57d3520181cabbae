import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { judgedBy, startBackend } from './backends.ts';
import { KEY, moderate, moderationOf } from './client.ts';
import { listening } from './gateway-process.ts';
import { bundle, ROOT, run, start } from './processes.ts';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const gatehouse = (...words: readonly string[]) => run(process.execPath, [bundle('gatehouse.js'), ...words]);

describe('gatehouse', (check) => {
  check('explains itself and each of its commands', async () => {
    const explanations = [
      [[], /Usage: gatehouse <command>/],
      [['--help'], /Usage: gatehouse <command>/],
      [['gateway', '--help'], /MODERATION_API_KEYS/],
      [['eval', '--help'], /gatehouse eval --file/],
      [['demo', '--help'], /never use it for real input/],
    ] as const;
    for (const [words, pattern] of explanations) {
      const { code, stdout, stderr } = await gatehouse(...words);
      assert.equal([code, stderr], [0, ''], words.join(' '));
      assert.match(stdout, pattern);
    }
  });

  check('tells its version', async () => {
    for (const flag of ['--version', '-v']) assert.is((await gatehouse(flag)).stdout, `${version}\n`);
  });

  check('refuses what it does not know, without repeating it, and ends with 1', async () => {
    const { code, stdout, stderr } = await gatehouse('gatway');
    assert.equal([code, stdout], [1, '']);
    assert.is(
      stderr,
      'gatehouse: unknown command, expected gateway, agent, bridge, relay-admin, eval or demo; see gatehouse --help\n',
    );
    const gateway = await gatehouse('gateway', '--port', '1');
    assert.is(gateway.code, 1);
    assert.match(gateway.stderr, 'only environment variables');
    assert.is((await gatehouse('demo', 'now')).code, 1);
    const evaluation = await gatehouse('eval', '--nonsense');
    assert.is(evaluation.code, 1);
    assert.match(evaluation.stderr, /^gatehouse eval: /);
  });
});

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-package-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

const npm = (folder: string, ...words: readonly string[]) =>
  run('npm', [...words, '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier'], {
    directory: folder,
    variables: { npm_config_cache: join(directory, 'cache') },
  });

const PACKED = [
  '.env.example',
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'agent.example.json',
  'dist/agent-command.js',
  'dist/agent.js',
  'dist/bridge.js',
  'dist/demo.js',
  'dist/eval.js',
  'dist/gatehouse.js',
  'dist/gateway.js',
  'dist/gateway.worker.js',
  'dist/moderation-gateway.js',
  'dist/relay-admin.js',
  'docs/agent-server.md',
  'docs/bridge.md',
  'docs/moderation-gateway.md',
  'docs/relay-admin.md',
  'package.json',
];

describe('the package', (check) => {
  check('holds what it should and nothing else; installed without a network, its commands serve', async () => {
    bundle('gatehouse.js');
    const packed = await npm(ROOT, 'pack', '--json', '--pack-destination', directory);
    assert.is(packed.code, 0, packed.stderr);
    const [facts] = JSON.parse(packed.stdout) as { filename: string; files: { path: string }[] }[];
    assert.equal(facts?.files.map(({ path }) => path).sort(), PACKED);

    const home = join(directory, 'home');
    mkdirSync(home);
    const installed = await npm(home, 'install', join(directory, facts?.filename ?? ''));
    assert.is(installed.code, 0, installed.stderr);

    const backend = await startBackend();
    const variables = { MODERATION_API_KEYS: KEY, HOST: '127.0.0.1', PORT: '0', ...judgedBy(backend.address) };
    const serve = async (name: string, words: readonly string[]): Promise<void> => {
      const running = start(join(home, 'node_modules/.bin', name), words, { directory: home, variables });
      try {
        const gateway = await listening(running);
        const answer = await moderate(gateway.address, { input: `I will kill you, ${name}` });
        assert.is(moderationOf(answer).results[0]?.flagged, true);
        gateway.signal('SIGTERM');
        assert.equal(await gateway.ended, { code: 0, signal: null });
      } finally {
        await running.kill();
      }
    };
    try {
      await serve('moderation-gateway', []);
      await serve('gatehouse', ['gateway']);
    } finally {
      await backend.stop();
    }
  });
});
