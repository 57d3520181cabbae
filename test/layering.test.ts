import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from './check.ts';
import {
  circlesIn,
  type Import,
  importsIn,
  readSources,
  type Sources,
  serviceOf,
  targetOf,
  upwardImports,
  withoutComments,
} from './import-graph.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** Which service may import which, and which libraries any of its files may name. Nobody imports main. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: ['core', 'valibot'],
  llm: ['llm', 'core', 'valibot'],
  gateway: ['gateway', 'llm', 'core', 'valibot', '@valibot/to-json-schema'],
  'relay-admin': ['relay-admin', 'core', 'valibot', '@valibot/to-json-schema'],
  agent: ['agent', 'core', 'valibot', '@valibot/to-json-schema'],
  bridge: ['bridge', 'core', 'valibot', '@valibot/to-json-schema'],
  console: ['console', 'core', 'valibot'],
  eval: ['eval', 'core', 'valibot'],
  demo: ['demo', 'core', 'valibot'],
  adapter: ['adapter', 'core', 'llm', 'valibot', 'node:'],
};
/** A file that binds its service to a runtime or a server: what it may import besides. */
const IN_ADAPTER = ['adapter', 'node:'];
const isInAdapter = (file: string): boolean => /^src\/(?:[a-z-]+\/)?adapter\//.test(file);

/** Libraries that only these files and folders may name, so that each can be replaced in one place. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  'itty-router': ['src/core/http/router.ts'],
  '@whatwg-node/server': ['src/adapter/node/server.ts'],
  '@whatwg-node/fetch': ['src/adapter/node/server.ts'],
  undici: ['src/adapter/node/undici-client.ts', 'src/agent/adapter/streaming-fetch.ts'],
  ioredis: ['src/gateway/adapter/redis/client.ts', 'src/gateway/adapter/redis/connection.ts'],
  'prom-client': ['src/gateway/adapter/prometheus.ts', 'src/adapter/prometheus.ts'],
  postgres: ['src/agent/adapter/postgres/connection.ts'],
  '@modelcontextprotocol/sdk': [
    'src/relay-admin/server.ts',
    'src/agent/tools/mcp/client.ts',
    'src/agent/adapter/mcp/',
    'src/relay-admin/adapter/stdio.ts',
  ],
  ai: [],
  '@ai-sdk/provider': ['src/agent/model/ai-sdk.ts', 'src/agent/model/ai-sdk-events.ts'],
  '@ai-sdk/openai-compatible': ['src/agent/model/ai-sdk.ts'],
  '@ai-sdk/openai': ['src/agent/model/ai-sdk.ts'],
  '@ai-sdk/anthropic': ['src/agent/model/ai-sdk.ts'],
  '@cfworker/json-schema': ['src/adapter/node/json-schema.ts'],
  'jsonc-parser': ['src/agent/config/jsonc.ts'],
  echarts: ['src/eval/report/plot.ts'],
  'csv-parse': ['src/eval/adapter/files.ts'],
  'cli-progress': ['src/eval/adapter/files.ts'],
  preact: ['src/console/page/'],
  '@preact/signals': ['src/console/page/'],
  uplot: ['src/console/page/'],
  '@opentelemetry/api': ['src/adapter/opentelemetry/'],
  '@opentelemetry/core': ['src/adapter/opentelemetry/'],
  '@opentelemetry/exporter-trace-otlp-http': ['src/adapter/opentelemetry/'],
  '@opentelemetry/resources': ['src/adapter/opentelemetry/'],
  '@opentelemetry/sdk-trace': ['src/adapter/opentelemetry/'],
};

const isNamedBy = (library: string, file: string): boolean | undefined =>
  ONLY_IN[library]?.some((place) => file === place || (place.endsWith('/') && file.startsWith(place)));

/** The parts of each service, the lowest first. A part imports itself and what stands before it. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  gateway: [
    ...['errors', 'metrics', 'models', 'policy', 'text'],
    ...[
      'judge',
      'settings',
      'backend',
      'readiness',
      'shadow',
      'routes',
      'admin',
      'shared-state',
      'openapi',
      'app',
      'adapter',
    ],
  ],
  agent: [
    ...['protocol', 'store', 'model', 'metrics', 'config', 'agents', 'events', 'runtime', 'session'],
    ...['tools', 'turn', 'turns', 'settings', 'parts', 'http', 'app', 'adapter'],
  ],
  bridge: [
    'errors',
    'ids',
    'metrics',
    'digest',
    'output',
    'agent',
    'turns',
    'request',
    'stream',
    'answer',
    'settings',
    'openai',
    'openapi',
    'http',
    'app',
    'adapter',
  ],
  console: [
    ...['protocol', 'page', 'errors', 'metrics', 'accounts', 'settings', 'assets', 'services'],
    ...['approvals', 'links', 'live', 'recharges', 'parts', 'routes', 'app', 'adapter'],
  ],
  'relay-admin': [
    ...['errors', 'money', 'call-deadline', 'settings', 'tool', 'relay'],
    ...['check', 'read', 'models', 'change', 'recharge', 'tools', 'app', 'server', 'adapter'],
  ],
};

const FREE_OF_RUNTIMES = ['core', 'llm', 'gateway', 'agent', 'bridge', 'relay-admin', 'console', 'eval'];
/** Runs in a browser, which is its runtime. */
const IN_BROWSER = 'src/console/page/';
/** The parts of the console's page, as those of a service. */
const PAGE_PARTS = ['texts', 'format', 'api', 'state', 'parts', 'views', 'shell', 'main'];
const RUNTIMES =
  /\bnode:|\bprocess\.|\bDeno\b|\bBun\b|\bDate\.now\b|\bMath\.random\b|\.env\b|\bperformance\.now\b|\bsetTimeout\b/;
const VAGUE = /(?:^|\/)(?:index|utils?|helpers?|common|misc)\.ts$/;
const MOST_ENTRIES = 17;

const sources = readSources(ROOT, 'src');
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const packageOf = (name: string): string =>
  name.startsWith('node:') ? 'node:' : name.replace(/^(@[^/]+\/[^/]+|[^/]+).*$/, '$1');
/** The service that an import leads to, or its package. */
const ownerOf = (file: string, one: Import): string => {
  const target = targetOf(file, one);
  return target === undefined ? packageOf(one.name) : serviceOf(target);
};

const strayImports = (given: Sources): readonly string[] =>
  [...given].flatMap(([file, imports]) => {
    const service = serviceOf(file);
    const ofFile = Object.keys(ONLY_IN).filter((library) => isNamedBy(library, file));
    const allowed = [...(MAY_IMPORT[service] ?? []), ...(isInAdapter(file) ? IN_ADAPTER : []), ...ofFile];
    return imports
      .filter(() => service !== 'main')
      .map((one) => ownerOf(file, one))
      .filter((owner) => !allowed.includes(owner))
      .map((owner) => `${file} imports ${owner}`);
  });
const foreignLibraries = (given: Sources): readonly string[] =>
  [...given].flatMap(([file, imports]) =>
    imports
      .filter(({ isType }) => !isType)
      .map((one) => ownerOf(file, one))
      .filter((library) => isNamedBy(library, file) === false)
      .map((library) => `${file} imports ${library}`),
  );

/** Names that several files export. A reader who searches for one finds it once. */
const repeatedExports = (): readonly string[] => {
  const files = new Map<string, string[]>();
  for (const file of sources.keys()) {
    for (const [, name = ''] of textOf(file).matchAll(/^export (?:async )?(?:const|type|class|function) (\w+)/gm)) {
      // Each program has a `main`.
      const known = files.get(name)?.includes(file) || serviceOf(file) === 'main';
      if (!known) files.set(name, [...(files.get(name) ?? []), file]);
    }
  }
  return [...files].filter(([, all]) => all.length > 1).map(([name, all]) => `${name}: ${all.join(', ')}`);
};

const folders = (folder: string): readonly string[] => [
  folder,
  ...readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => folders(join(folder, name))),
];

describe('the source', (check) => {
  check('imports only what the table of its service allows', () => assert.equal(strayImports(sources), []));

  check('names a library only in the files that own it', () => assert.equal(foreignLibraries(sources), []));

  check('has no import circle', () => assert.equal(circlesIn(sources), []));

  for (const [service, parts] of Object.entries(PARTS))
    check(`of ${service} imports nothing that stands above it`, () =>
      assert.equal(upwardImports(sources, service, parts), []),
    );

  check("of the console's page imports nothing that stands above it", () => {
    const page = [...sources]
      .filter(([file]) => file.startsWith(IN_BROWSER))
      .map(([file, imports]) => [file.replace(IN_BROWSER, 'src/page/'), imports] as const);
    assert.ok(page.length > 30);
    assert.equal(upwardImports(new Map(page), 'page', PAGE_PARTS), []);
  });

  check('imports neither main nor a test', () => {
    const strays = [...sources]
      .filter(([file]) => serviceOf(file) !== 'main')
      .flatMap(([file, imports]) => imports.map((one) => `${file} imports ${one.name}`))
      .filter((line) => /\/(?:main|test)\//.test(line.replace(/^\S+/, '')));
    assert.equal(strays, []);
  });

  check('names no runtime and asks for no time outside the adapters, main and demo', () => {
    const found = [...sources.keys()]
      .filter(
        (file) => FREE_OF_RUNTIMES.includes(serviceOf(file)) && !isInAdapter(file) && !file.startsWith(IN_BROWSER),
      )
      .map((file) => [file, RUNTIMES.exec(withoutComments(textOf(file)))?.[0]])
      .filter(([, word]) => word !== undefined);
    assert.equal(found, []);
  });

  check('exports each name once', () => assert.equal(repeatedExports(), []));

  check('gives each error the name of its class, which may leave out its last word', () => {
    const classes = [...sources.keys()].flatMap((file) => [
      ...textOf(file).matchAll(
        /^(?:export )?class (\w+)[^\n]* extends Error \{[\s\S]*?^ {2}override readonly name = '(\w+)'/gm,
      ),
    ]);
    assert.ok(classes.length > 10);
    const others = classes.filter(([, name, shown]) => name !== shown && name !== `${shown}Error`);
    assert.equal(
      others.map(([, name, shown]) => `${name}: ${shown}`),
      [],
    );
  });

  check(`has folders of at most ${MOST_ENTRIES} entries, and names that say what is in a file`, () => {
    const large = folders('src').filter((folder) => readdirSync(join(ROOT, folder)).length > MOST_ENTRIES);
    assert.equal(large, []);
    assert.equal(
      [...sources.keys()].filter((file) => VAGUE.test(file)),
      [],
    );
  });
});

describe('the tests', (check) => {
  check('know uvu itself only in test/check.ts', () => {
    const strays = [...readSources(ROOT, 'test')]
      .filter(([file]) => file !== 'test/check.ts' && !file.startsWith('test/fixtures/'))
      .filter(([, imports]) => imports.some(({ name }) => name === 'uvu'));
    assert.equal(strays, []);
  });

  check('take any character from test/code-points.ts, and not from the slow unit of fast-check', () => {
    const slow = [...readSources(ROOT, 'test').keys()].filter((file) =>
      /unit: ['"]binary['"]/.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    assert.equal(slow, []);
  });
});

describe('these checks', (check) => {
  const made = (files: Readonly<Record<string, string>>): Sources =>
    new Map(Object.entries(files).map(([file, text]) => [file, importsIn(text)]));

  check('see every form of import', () => {
    const text = `import type { A } from './a.ts';
import { b } from 'valibot';
import {
  c,
} from './c.ts';
export { d } from './d.ts';
import './e.ts';
const f = await import('./f.ts');
// import { g } from './g.ts';
/** import { h } from './h.ts'; */`;
    assert.equal(
      importsIn(text).map(({ name }) => name),
      ['./a.ts', 'valibot', './c.ts', './d.ts', './e.ts', './f.ts'],
    );
    assert.equal(
      importsIn(text).map(({ isType }) => isType),
      [true, false, false, false, false, false],
    );
  });

  check('find a circle, also one of types alone', () => {
    const circle = made({
      'src/core/a.ts': "import type { B } from './b.ts';",
      'src/core/b.ts': "import type { C } from './http/c.ts';",
      'src/core/http/c.ts': "import { a } from '../a.ts';",
      'src/core/d.ts': "import { a } from './a.ts';",
    });
    assert.equal(circlesIn(circle), [['src/core/a.ts', 'src/core/b.ts', 'src/core/http/c.ts']]);
  });

  check('find an import that leads up, and a file that has no place', () => {
    const sample = made({
      'src/agent/protocol/ids.ts': "import type { Turn } from '../turn/turn.ts';",
      'src/agent/turn/turn.ts': "import { id } from '../protocol/ids.ts';",
      'src/agent/odd.ts': "import { id } from './protocol/ids.ts';",
    });
    assert.equal(upwardImports(sample, 'agent', ['protocol', 'turn']), [
      'src/agent/protocol/ids.ts imports src/agent/turn/turn.ts, which is above it',
      'src/agent/odd.ts is in no part that has a place in the order',
    ]);
  });

  check('find a library and a service that a file must not name', () => {
    const stray = made({
      'src/gateway/app.ts': "import { IttyRouter } from 'itty-router';\nimport { x } from '../agent/app.ts';",
    });
    assert.equal(strayImports(stray), ['src/gateway/app.ts imports itty-router', 'src/gateway/app.ts imports agent']);
    assert.equal(foreignLibraries(stray), ['src/gateway/app.ts imports itty-router']);
  });
});
