import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { addressOf, untilReady } from '../runtime/agent/process.ts';
import { judgedBy, startBackend } from '../runtime/backends.ts';
import { KEY, moderate, moderationOf } from '../runtime/client.ts';
import { bundle, ROOT, type Running, run, start, type Variables } from '../runtime/processes.ts';
import { startRelayAdmin } from '../runtime/relay-admin/process.ts';

const PACKED = [
  '.env.example',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'agent.example.json',
  'dist/agent-command.js',
  'dist/agent.js',
  'dist/bridge.js',
  'dist/console.js',
  'dist/demo.js',
  'dist/eval.js',
  'dist/gatehouse.js',
  'dist/gateway.js',
  'dist/gateway.worker.js',
  'dist/licenses.txt',
  'dist/moderation-gateway.js',
  'dist/relay-admin.js',
  'docs/images/eval-report-harassment.png',
  'docs/images/eval-report-overview.png',
  'eval.example.jsonl',
  'integrations/open-webui-filter.py',
  'package.json',
  'release/README.md',
  'wrangler.jsonc',
];
/** Every page, as they link to each other, and the values by size. */
const pages = [
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(ROOT, 'k8s/sizes')).map((name) => `k8s/sizes/${name}`),
];

const AT_INSTALL = ['preinstall', 'install', 'postinstall', 'prepare', 'preprepare', 'postprepare', 'dependencies'];
const AGENT_CONFIG = '{"provider":{"local":{"options":{"baseURL":"http://127.0.0.1:9/v1"},"models":{"m":{}}}}}';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-package-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const home = join(directory, 'home');
mkdirSync(home);
// Without it npm installs into the next directory above that has one.
writeFileSync(join(home, 'package.json'), '{}');

const npm = (folder: string, ...words: readonly string[]) =>
  run('npm', [...words, '--offline', '--no-audit', '--no-fund', '--no-update-notifier'], {
    directory: folder,
    variables: { npm_config_cache: join(directory, 'cache') },
  });

type Packed = {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
};

/** Packs what was built, without building it again under the feet of other tests. */
const pack = async (): Promise<Packed> => {
  bundle('licenses.txt');
  const { code, stdout, stderr } = await npm(
    ROOT,
    'pack',
    '--json',
    '--ignore-scripts',
    '--pack-destination',
    directory,
  );
  assert.is(code, 0, stderr);
  const [facts] = JSON.parse(stdout) as Packed[];
  if (facts === undefined) throw new Error('npm packed nothing');
  return facts;
};
const packed = pack();
const installed = packed.then(({ filename }) => npm(home, 'install', join(directory, filename)));

/** A command as a shell finds it: by the link that npm made for it. */
const link = (name: string): string => join(home, 'node_modules/.bin', name);
const figure = (what: string, startedAt: number): void =>
  console.log(`figure: ${what} after ${Math.round(performance.now() - startedAt)} ms`);

/** Starts an installed command on a free port, waits until it listens, and ends it in order when the body is through. */
const serving = async (
  words: readonly [string, ...string[]],
  variables: Variables,
  body: (address: string, running: Running) => Promise<void>,
): Promise<void> => {
  await installed;
  const startedAt = performance.now();
  const [name, ...rest] = words;
  const running = start(link(name), rest, {
    directory: home,
    variables: { HOST: '127.0.0.1', PORT: '0', ...variables },
  });
  try {
    const address = await addressOf(running);
    figure(`${words.join(' ')} listens`, startedAt);
    await body(address, running);
    running.signal('SIGTERM');
    assert.equal(await running.ended, { code: 0, signal: null });
  } finally {
    await running.kill();
  }
};

const answersHealth = async (address: string, service: string): Promise<void> => {
  const response = await fetch(`${address}/health`);
  assert.is(response.status, 200);
  assert.is(((await response.json()) as { service: string }).service, service);
};

describe('the package', (check) => {
  check('holds what it should and nothing else', async () => {
    const { files, size, unpackedSize } = await packed;
    console.log(
      `figure: the package has ${Math.round(size / 1024)} KB, ${Math.round(unpackedSize / 1024)} KB unpacked`,
    );
    assert.equal(files.map(({ path }) => path).sort(), [...PACKED, ...pages].sort());
  });

  check('is installed without a network, and brings and runs nothing', async () => {
    const { code, stderr } = await installed;
    assert.is(code, 0, stderr);
    const others = readdirSync(join(home, 'node_modules')).filter((name) => !name.startsWith('.'));
    assert.equal(others, ['@gatehouse-llm']);
    assert.equal(readdirSync(join(home, 'node_modules/.bin')).sort(), ['gatehouse', 'moderation-gateway']);
    const manifest = JSON.parse(
      readFileSync(join(home, 'node_modules/@gatehouse-llm/gatehouse/package.json'), 'utf8'),
    ) as {
      readonly scripts?: Readonly<Record<string, string>>;
      readonly dependencies?: object;
    };
    assert.equal(
      AT_INSTALL.filter((name) => name in (manifest.scripts ?? {})),
      [],
    );
    assert.is(manifest.dependencies, undefined);
  });

  for (const words of [['gatehouse', 'gateway'], ['moderation-gateway']] as const) {
    check(`judges, started as ${words.join(' ')}`, async () => {
      const backend = await startBackend();
      const variables = { MODERATION_API_KEYS: KEY, ...judgedBy(backend.address) };
      const judging = serving(words, variables, async (address) => {
        const answer = await moderate(address, { input: 'I will kill you' });
        assert.is(moderationOf(answer).results[0]?.flagged, true);
      });
      await judging.finally(() => backend.stop());
    });
  }

  check('has an agent, and a bridge that finds it', async () => {
    await serving(['gatehouse', 'agent'], { AGENT_CONFIG_CONTENT: AGENT_CONFIG }, async (agent) => {
      await answersHealth(agent, 'agent');
      const settings = { AGENT_BASE_URL: agent, BRIDGE_API_KEYS: KEY };
      await serving(['gatehouse', 'bridge'], settings, async (bridge, running) => {
        await answersHealth(bridge, 'bridge');
        await untilReady(running, bridge);
      });
    });
  });

  check('has relay admin, which an MCP client starts', async () => {
    await installed;
    const startedAt = performance.now();
    const admin = startRelayAdmin({
      command: link('gatehouse'),
      words: ['relay-admin'],
      directory: home,
      variables: {
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        RELAY_BASE_URL: 'http://127.0.0.1:9',
        RELAY_ALLOWED_HOST: '127.0.0.1',
      },
    });
    try {
      const { result } = await admin.initialize();
      figure('gatehouse relay-admin answers', startedAt);
      assert.is((result?.serverInfo as { name?: string } | undefined)?.name, 'relay-admin');
      assert.is((await admin.endInput()).code, 0);
    } finally {
      await admin.kill();
    }
  });

  check('explains eval, and is found by npx as well', async () => {
    await installed;
    const { code, stdout } = await run(link('gatehouse'), ['eval', '--help'], { directory: home });
    assert.is(code, 0);
    assert.match(stdout, /gatehouse eval --file/);
    for (const name of ['gatehouse', 'moderation-gateway', '@gatehouse-llm/gatehouse']) {
      const found = await run('npx', ['--no', '--offline', name, '--help'], { directory: home });
      assert.is(found.code, 0, found.stderr);
      assert.match(found.stdout, /^gatehouse /);
    }
  });

  check('tries out its own demo, once the client is there that the demo asks for', async () => {
    await installed;
    symlinkSync(join(ROOT, 'node_modules/openai'), join(home, 'node_modules/openai'));
    const startedAt = performance.now();
    const { code, stdout, stderr } = await run(link('gatehouse'), ['demo', '--check'], { directory: home });
    figure('gatehouse demo --check is through', startedAt);
    assert.is(code, 0, stdout + stderr);
  });
});
