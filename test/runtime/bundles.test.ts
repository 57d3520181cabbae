import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { bundle, ROOT, run, start } from './processes.ts';

const NAMES = [
  'gateway.js',
  'gateway.worker.js',
  'agent.js',
  'agent-command.js',
  'bridge.js',
  'console.js',
  'relay-admin.js',
  'demo.js',
  'eval.js',
  'gatehouse.js',
  'moderation-gateway.js',
];
const MOST_KILOBYTES: Readonly<Record<string, number>> = {
  'gateway.worker.js': 240,
  'gateway.js': 1600,
  'agent.js': 3000,
  'bridge.js': 900,
  'relay-admin.js': 560,
  'eval.js': 1300,
  'console.js': 800,
};
const textOf = (name: string): string => readFileSync(bundle(name), 'utf8');

describe('the bundles', (check) => {
  check('are of a size to be looked at', () => {
    for (const name of NAMES) {
      const kilobytes = statSync(bundle(name)).size / 1024;
      console.log(`dist/${name} ${kilobytes.toFixed(1)} KB`);
      assert.ok(kilobytes > 0 && kilobytes < (MOST_KILOBYTES[name] ?? 400), `${name}: ${kilobytes} KB`);
    }
  });

  check('give a page of less than 120 kB, as it is sent', async () => {
    const running = start(process.execPath, [bundle('console.js')], { variables: { HOST: '127.0.0.1', PORT: '0' } });
    const [, address = ''] = await running.outputMatching(/"event":"listening","address":"([^"]+)"/);
    const html = await (await fetch(address)).text();
    const files = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => `${address}${path}`);
    const texts = await Promise.all(files.map(async (file) => (await fetch(file)).text()));
    await running.kill();
    const bytes = [html, ...texts].reduce((sum, text) => sum + gzipSync(text).length, 0);
    console.log(`the console's page ${(bytes / 1000).toFixed(1)} kB compressed`);
    assert.is(files.length, 2);
    assert.ok(bytes < 120_000, `${bytes} bytes`);
  });

  check('for Workers imports nothing and names nothing of Node', () => {
    const text = textOf('gateway.worker.js');
    const imports = text.match(/\bimport\s*(?:["'({*]|[\w$]+\s*(?:,|from\b)).{0,40}|\bfrom\s*["'].{0,40}/g);
    assert.equal(imports, null);
    for (const word of ['node:', 'process.binding', 'require(', '__dirname', 'Buffer.']) {
      assert.is(text.includes(word), false, word);
    }
  });

  check('hold nothing of the demo, but for the demo itself', () => {
    for (const name of NAMES.filter((each) => each !== 'demo.js')) {
      assert.is(textOf(name).includes('demo-judge'), false, name);
      assert.is(textOf(name).includes('THIS IS A DEMO'), false, name);
    }
    assert.ok(textOf('demo.js').includes('demo-judge'));
  });

  check('show nothing of the machine that built them, and contain no tests', () => {
    for (const name of NAMES) assert.is(textOf(name).includes(ROOT), false, name);
  });

  check('of the gateway can be imported: they give their function and do not serve', async () => {
    const script = `const node = await import(${JSON.stringify(bundle('gateway.js'))});
      const worker = await import(${JSON.stringify(bundle('gateway.worker.js'))});
      console.log(Object.keys(node), typeof node.createGateway, Object.keys(worker), typeof worker.default.fetch);`;
    // The last word would be the program's own file, were it not a word of the importer's.
    const words = ['--input-type=module', '-e', script, '--', 'serve'];
    const { code, stdout, stderr } = await run(process.execPath, words);
    assert.equal([code, stderr], [0, '']);
    assert.is(stdout, "[ 'createGateway', 'main' ] function [ 'default' ] function\n");
  });
});

/** Builds these bundles, or all, in a copy of the tree in which one file has one more line. */
const buildWith = async (file: string, line: string, names: readonly string[] = []) => {
  const tree = mkdtempSync(join(tmpdir(), 'gatehouse-build-'));
  try {
    for (const name of ['src', 'supply', 'build.mjs', 'package.json', 'agent.example.json'])
      cpSync(join(ROOT, name), join(tree, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    const text = readFileSync(join(tree, file), 'utf8');
    writeFileSync(join(tree, file), `${line}\n${text}`);
    return await run(process.execPath, ['build.mjs', ...names], { directory: tree });
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
};

describe('the build', (check) => {
  const additions = [
    [
      'gateway.worker.js',
      'src/core/log.ts',
      "import { hostname } from 'node:os'; export const host = hostname();",
      'node:os',
    ],
    ['gateway.worker.js', 'src/core/log.ts', "export const os = () => import('node:os');", 'node:os'],
    ['gateway.worker.js', 'src/core/log.ts', "import * as os from 'os'; export const host = os.hostname();", 'os'],
    [
      'gateway.worker.js',
      'src/core/log.ts',
      "import data from 'https://example.com/x.js'; export const x = data;",
      'https://example.com/x.js',
    ],
    ['gateway.worker.js', 'src/main/gateway.worker.ts', "import '../adapter/node/crypto.ts';", 'node:crypto'],
    [
      'gateway.js',
      'src/main/gateway.node.ts',
      "import { JUDGE_MODEL } from '../demo/judge/judge.ts'; export const x = JUDGE_MODEL;",
      'src/demo/',
    ],
    [
      'eval.js',
      'src/main/eval.ts',
      "import { JUDGE_MODEL } from '../demo/judge/judge.ts'; export const x = JUDGE_MODEL;",
      'src/demo/',
    ],
  ] as const;
  for (const [bundleName, file, line, name] of additions) {
    check.thorough(`of ${bundleName} fails when ${file} begins with ${line}`, async () => {
      const { code, stderr } = await buildWith(file, line, [bundleName]);
      assert.is.not(code, 0);
      assert.ok(stderr.includes(name), stderr);
    });
  }

  check('succeeds with nothing added, makes the named bundles alone, and names all where one is misspelt', async () => {
    const wanted = new Set<string>(additions.map(([bundleName]) => bundleName));
    const { code, stdout, stderr } = await buildWith('src/core/log.ts', '', [...wanted]);
    assert.is(code, 0, stderr);
    assert.equal(
      stdout.match(/(?<=dist\/)\S+/g),
      NAMES.filter((name) => wanted.has(name)),
    );
    const misspelt = await buildWith('src/core/log.ts', '', ['gatewai.js']);
    assert.is(misspelt.code, 1);
    for (const name of NAMES) assert.match(misspelt.stderr, name);
  });
});
