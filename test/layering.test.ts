import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from './check.ts';

const ROOT = resolve(import.meta.dirname, '..');
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: ['core', 'valibot'],
  llm: ['llm', 'core', 'valibot'],
  gateway: ['gateway', 'llm', 'core', 'valibot', '@valibot/to-json-schema'],
  'relay-admin': ['relay-admin', 'llm', 'core', 'valibot', '@valibot/to-json-schema'],
  agent: ['agent', 'llm', 'core', 'valibot', '@valibot/to-json-schema'],
  bridge: ['bridge', 'llm', 'core', 'valibot', '@valibot/to-json-schema'],
  eval: ['eval', 'core', 'valibot'],
  demo: ['demo', 'core', 'valibot'],
  adapter: [
    'adapter',
    'core',
    'llm',
    'gateway',
    'relay-admin',
    'agent',
    'bridge',
    'eval',
    'node:',
    '@whatwg-node/server',
    '@whatwg-node/fetch',
    'undici',
    'ioredis',
    'prom-client',
    'postgres',
    'csv-parse',
    'cli-progress',
    'valibot',
  ],
};
/** Libraries that no other file may name. */
const ONLY_IN: Readonly<Record<string, string | readonly string[]>> = {
  'itty-router': 'src/core/http/router.ts',
  '@whatwg-node/server': 'src/adapter/node/server.ts',
  '@whatwg-node/fetch': 'src/adapter/node/response.ts',
  undici: 'src/adapter/node/undici-client.ts',
  'prom-client': ['src/adapter/prometheus/gateway.ts', 'src/adapter/prometheus/metrics.ts'],
  postgres: 'src/adapter/postgres/connection.ts',
  '@modelcontextprotocol/sdk': [
    'src/relay-admin/server.ts',
    'src/adapter/node/stdio.ts',
    'src/agent/mcp/client.ts',
    'src/adapter/mcp/transports.ts',
  ],
  ai: 'src/agent/model/ai-sdk.ts',
  '@ai-sdk/openai-compatible': 'src/agent/model/ai-sdk.ts',
  '@ai-sdk/openai': 'src/agent/model/ai-sdk.ts',
  '@ai-sdk/anthropic': 'src/agent/model/ai-sdk.ts',
  'jsonc-parser': 'src/agent/config/jsonc.ts',
  'csv-parse': 'src/adapter/files/eval.ts',
  'cli-progress': 'src/adapter/files/eval.ts',
};
const ownersOf = (library: string): readonly string[] => [ONLY_IN[library] ?? []].flat();
const RUNTIMES =
  /\bnode:|\bprocess\.|\bDeno\b|\bBun\b|\bDate\.now\b|\bMath\.random\b|\.env\b|\bperformance\.now\b|\bsetTimeout\b/;
const FREE_ROOMS = new Set(['adapter', 'main', 'demo']);
const VAGUE = /(?:^|\/)(?:index|utils?|helpers?|common|types)\.ts$/;

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join('src', name));
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const codeOf = (file: string): string => textOf(file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
const roomOf = (file: string): string => file.split('/')[1] ?? '';

type Import = { readonly name: string; readonly isType: boolean };
const importsOf = (file: string): Import[] =>
  [
    ...codeOf(file).matchAll(
      /^(?:import|export)\s+(type\s)?[^'"`;]*?from\s+'([^']+)'|\bimport\('([^']+)'\)|^import\s+'([^']+)'/gm,
    ),
  ].map(([, type, named, dynamic, bare]) => ({ name: named ?? dynamic ?? bare ?? '', isType: type !== undefined }));
/** The room of a relative import, or the package's own name. */
const targetOf = (file: string, name: string): string => {
  if (!name.startsWith('.'))
    return name.startsWith('node:') ? 'node:' : name.replace(/^(@[^/]+\/[^/]+|[^/]+).*$/, '$1');
  return roomOf(relative(ROOT, resolve(ROOT, dirname(file), name)));
};

describe('the house', (check) => {
  for (const file of sources) {
    const room = roomOf(file);
    if (room !== 'main') {
      check(`${file} imports only what its room may`, () => {
        const allowed = [
          ...(MAY_IMPORT[room] ?? []),
          ...Object.keys(ONLY_IN).filter((name) => ownersOf(name).includes(file)),
        ];
        const strays = importsOf(file)
          .map(({ name }) => targetOf(file, name))
          .filter((target) => !allowed.includes(target));
        assert.equal(strays, []);
      });
    }
    check(`${file} names no library that belongs to another file`, () => {
      const strays = importsOf(file)
        .filter(({ isType }) => !isType)
        .map(({ name }) => targetOf(file, name))
        .filter((library) => library in ONLY_IN && !ownersOf(library).includes(file));
      assert.equal(strays, []);
    });
    if (!FREE_ROOMS.has(room) && file !== 'src/adapter/node/clock.ts') {
      check(`${file} knows no runtime and asks nobody for the time`, () => {
        assert.equal(RUNTIMES.exec(codeOf(file))?.[0], undefined);
      });
    }
    check(`${file} has a name that says what is in it`, () => assert.not.match(file, VAGUE));
  }

  check('nobody but a test imports main, and no source imports a test', () => {
    const strays = sources
      .filter((file) => roomOf(file) !== 'main')
      .flatMap((file) => importsOf(file).filter(({ name }) => /\/(main|test)\//.test(name)));
    assert.equal(strays, []);
  });

  check('only test/check.ts knows uvu itself', () => {
    const strays = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && name !== 'check.ts' && !name.startsWith('fixtures'))
      .filter((name) => importsOf(join('test', name)).some(({ name: imported }) => imported === 'uvu'));
    assert.equal(strays, []);
  });

  check('the import scanner sees every form of import', () => {
    assert.ok(importsOf('src/main/gatehouse.ts').some(({ name }) => name === './gateway.node.ts'));
    assert.ok(importsOf('src/core/http/handler.ts').some(({ name, isType }) => name === './clock.ts' && isType));
    assert.ok(importsOf('src/core/http/body.ts').some(({ name, isType }) => name === 'valibot' && !isType));
  });
});
