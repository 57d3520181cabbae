// Bundles each program into one file in dist/, lists the licences of what is in them, and fails when a bundle holds what
// it must not.
//   node build.mjs [bundle ...]   only these, such as gateway.js; the rest of dist/ stays as it is
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { build } from 'esbuild';
import manifest from './package.json' with { type: 'json' };
import { licenseList, licenseProblems, packagesIn } from './supply/licenses.mjs';

const OLDEST_NODE = [22, 15];

// CommonJS libraries inside an ES module still call require(). The version is checked before anything else runs.
const nodeBanner = `import { createRequire as __createRequire } from 'node:module';
const require = __createRequire(import.meta.url);
{
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < ${OLDEST_NODE[0]} || (major === ${OLDEST_NODE[0]} && minor < ${OLDEST_NODE[1]})) {
    process.stderr.write('gatehouse needs Node ${OLDEST_NODE.join('.')} or newer, and this is ' + process.versions.node + '. In a clone, "npx node" runs the one that npm ci has brought. Otherwise install Node ${OLDEST_NODE.join('.')} or newer.\\n');
    process.exit(1);
  }
}`;

const shared = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  metafile: true,
  logLevel: 'warning',
  legalComments: 'none',
  charset: 'utf8',
  // Names stay, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
};

/** Programs that another program starts stay bundles of their own: their sources' names become the bundles' names. */
const siblings = {
  name: 'siblings',
  setup({ onResolve }) {
    const bundleOf = {
      'gateway.node': 'gateway',
      'relay-admin': 'relay-admin',
      agent: 'agent',
      'agent-command': 'agent-command',
      bridge: 'bridge',
      console: 'console',
      eval: 'eval',
      demo: 'demo',
      gatehouse: 'gatehouse',
    };
    onResolve(
      { filter: /^\.\/(gateway\.node|relay-admin|agent|agent-command|bridge|console|eval|demo|gatehouse)\.ts$/ },
      ({ path, kind }) =>
        kind === 'dynamic-import' ? { path: `./${bundleOf[path.slice(2, -3)]}.js`, external: true } : undefined,
    );
  },
};

/** undici's index also loads its fetch, its caches and its WebSocket: half a megabyte and a third of the start. */
const undiciParts = {
  name: 'undici-parts',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'parts' }));
    onLoad({ filter: /./, namespace: 'parts' }, () => ({
      resolveDir: import.meta.dirname,
      // The index also gives its dispatchers their methods, and the way to a proxy needs one of them.
      contents: `import connect from 'undici/lib/api/api-connect.js';
        import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
        Dispatcher.prototype.connect = connect;
        export { default as Agent } from 'undici/lib/dispatcher/agent.js';
        export { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js';`,
    }));
  },
};

/**
 * The MCP server would load a JSON Schema compiler, a third of its bundle, to check what people answer to its questions.
 * Ours asks none. The one that takes its place says so.
 */
const noQuestions = {
  name: 'no-questions',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]validation[\\/]ajv-provider\.js$/ }, () => ({
      contents: `export class AjvJsonSchemaValidator {
        getValidator() {
          throw new Error('This build holds no JSON Schema compiler');
        }
      }`,
    }));
  },
};

/**
 * Work that needs a library, but not at run time, is done here: the manifest shrinks to its version, and the OpenAPI
 * text is written out, so that no bundle carries the schema converter.
 */
const precomputed = {
  name: 'precomputed',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]package\.json$/, namespace: 'file' }, ({ path }) =>
      path === resolve('package.json')
        ? { contents: JSON.stringify({ version: manifest.version }), loader: 'json' }
        : undefined,
    );
    onLoad({ filter: /[\\/]src[\\/](?:gateway|bridge)[\\/]openapi\.ts$/ }, async ({ path }) => {
      // Each of these modules exports one function, which creates the document for a version.
      const exported = Object.entries(await import(path));
      const [name, createDocument] = exported.find(([, value]) => typeof value === 'function');
      return { contents: `export const ${name} = () => (${JSON.stringify(createDocument(manifest.version))});` };
    });
  },
};

/** The program of a thread as a text in the bundle that starts it: there is no second file. */
const buildThread = (entry) =>
  build({
    ...shared,
    entryPoints: [entry],
    platform: 'node',
    // A thread's text runs as CommonJS.
    format: 'cjs',
    write: false,
  });

/** The thread that makes views. */
const viewsThread = {
  name: 'views-thread',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]adapter[\\/]views[\\/]thread-code\.ts$/ }, async ({ path }) => {
      const { outputFiles, metafile } = await buildThread(resolve(path, '../thread-entry.ts'));
      const strays = Object.keys(metafile.inputs).filter((input) => input.includes('node_modules'));
      if (strays.length > 0) throw new Error(`the views thread holds libraries: ${strays.join(', ')}`);
      return { contents: `export const THREAD_CODE = ${JSON.stringify(outputFiles[0].text)};` };
    });
  },
};

/** What the thread that sends spans is made of, by esbuild's own account, for the list of licences. */
const sendingInputs = {};

/** The thread that sends spans. */
const sendingThread = {
  name: 'sending-thread',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]adapter[\\/]opentelemetry[\\/]thread[\\/]code\.ts$/ }, async ({ path }) => {
      const { outputFiles, metafile } = await buildThread(resolve(path, '../entry.ts'));
      Object.assign(sendingInputs, Object.values(metafile.outputs)[0].inputs);
      return { contents: `export const SENDING_CODE = ${JSON.stringify(outputFiles[0].text)};` };
    });
  },
};

/** What the console's page is made of, by esbuild's own account, for the list of licences. */
const pageInputs = {};

/** The console's page becomes texts in its bundle: one HTML, one script and one style, named by their content. */
const consolePage = {
  name: 'console-page',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/]console[\\/]assets[\\/]built-page\.ts$/ }, async ({ path }) => {
      const folder = resolve(path, '../../page');
      const { outputFiles, metafile } = await build({
        ...shared,
        entryPoints: [
          { in: resolve(folder, 'main.tsx'), out: 'app' },
          { in: resolve(folder, 'style/main.css'), out: 'app' },
        ],
        platform: 'browser',
        define: { 'process.env.NODE_ENV': '"production"' },
        // Its tsconfig is for the type checker and the editor.
        tsconfigRaw: {},
        jsx: 'automatic',
        jsxImportSource: 'preact',
        minify: true,
        outdir: 'assets',
        entryNames: '[name].[hash]',
        write: false,
      });
      Object.assign(pageInputs, metafile.inputs);
      const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };
      const assets = Object.fromEntries(
        outputFiles.map((file) => {
          const name = basename(file.path);
          return [name, { type: types[name.split('.').at(-1)], text: file.text }];
        }),
      );
      const named = (end) => `/assets/${Object.keys(assets).find((name) => name.endsWith(end))}`;
      const html = readFileSync(resolve(folder, 'page.html'), 'utf8')
        .replace('%STYLE%', named('.css'))
        .replace('%SCRIPT%', named('.js'));
      return { contents: `export const BUILT_PAGE = ${JSON.stringify({ html, assets })};` };
    });
  },
};

/** What a Worker bundle may never contain, by the paths and imports in esbuild's own account of it. */
const problemsOf = (name, metafile) => {
  const inputs = Object.keys(metafile.inputs);
  const externals = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  const isWorker = name.endsWith('.worker.js');
  return [
    ...(isWorker ? externals.map((path) => `${name} imports ${path}`) : []),
    ...(name !== 'demo.js'
      ? inputs.filter((path) => path.startsWith('src/demo/')).map((path) => `${name} holds ${path}`)
      : []),
    ...inputs.filter((path) => path.startsWith('test/')).map((path) => `${name} holds ${path}`),
  ];
};

const programs = [
  {
    out: 'gateway.js',
    options: {
      entryPoints: ['src/main/gateway.node.ts'],
      platform: 'node',
      // The adapter's own Response is written out in one piece and costs half of the global one.
      inject: ['src/adapter/node/direct/response.ts'],
      banner: { js: nodeBanner },
    },
  },
  {
    out: 'gateway.worker.js',
    options: {
      entryPoints: ['src/main/gateway.worker.ts'],
      platform: 'neutral',
      mainFields: ['module', 'main'],
      minify: true,
    },
  },
  {
    out: 'agent.js',
    options: {
      entryPoints: ['src/main/agent.ts'],
      platform: 'node',
      // jsonc-parser's other form hides its requires from the bundler.
      mainFields: ['module', 'main'],
      banner: { js: nodeBanner },
    },
  },
  {
    out: 'agent-command.js',
    options: {
      entryPoints: ['src/main/agent-command.ts'],
      platform: 'node',
      mainFields: ['module', 'main'],
      banner: { js: nodeBanner },
    },
  },
  { out: 'bridge.js', options: { entryPoints: ['src/main/bridge.ts'], platform: 'node', banner: { js: nodeBanner } } },
  {
    out: 'console.js',
    options: { entryPoints: ['src/main/console.ts'], platform: 'node', banner: { js: nodeBanner } },
  },
  {
    out: 'relay-admin.js',
    options: { entryPoints: ['src/main/relay-admin.ts'], platform: 'node', banner: { js: nodeBanner } },
  },
  { out: 'demo.js', options: { entryPoints: ['src/main/demo.ts'], platform: 'node', banner: { js: nodeBanner } } },
  { out: 'eval.js', options: { entryPoints: ['src/main/eval.ts'], platform: 'node', banner: { js: nodeBanner } } },
  {
    out: 'gatehouse.js',
    isCommand: true,
    options: {
      entryPoints: ['src/main/gatehouse.ts'],
      platform: 'node',
      banner: { js: `#!/usr/bin/env node\n${nodeBanner}` },
    },
  },
  {
    out: 'moderation-gateway.js',
    isCommand: true,
    options: {
      entryPoints: ['src/main/moderation-gateway.ts'],
      platform: 'node',
      banner: { js: `#!/usr/bin/env node\n${nodeBanner}` },
    },
  },
];

const named = process.argv.slice(2);
const unknown = named.filter((name) => !programs.some(({ out }) => out === name));
if (unknown.length > 0) {
  console.error(`build: no bundle is named ${unknown.join(', ')}: use ${programs.map(({ out }) => out).join(', ')}`);
  process.exit(1);
}
const isWhole = named.length === 0;
const wanted = programs.filter(({ out }) => isWhole || named.includes(out));
if (isWhole) rmSync('dist', { recursive: true, force: true });
const results = await Promise.all(
  wanted.map(async ({ out, options, isCommand }) => {
    const { metafile } = await build({
      ...shared,
      ...options,
      plugins: [precomputed, siblings, undiciParts, noQuestions, viewsThread, sendingThread, consolePage],
      outfile: `dist/${out}`,
    });
    // The page and the thread are built apart, and their libraries are in the bundles as texts.
    if (out === 'console.js') Object.assign(Object.values(metafile.outputs)[0].inputs, pageInputs);
    if (out === 'gateway.js') Object.assign(Object.values(metafile.outputs)[0].inputs, sendingInputs);
    if (isCommand) chmodSync(`dist/${out}`, 0o755);
    const bytes = Object.values(metafile.outputs)[0].bytes;
    return { out, metafile, line: `dist/${out}  ${(bytes / 1024).toFixed(1)} KB`, problems: problemsOf(out, metafile) };
  }),
);
const packages = packagesIn(results);
if (isWhole) writeFileSync('dist/licenses.txt', licenseList(packages));
const problems = [...results.flatMap((result) => result.problems), ...licenseProblems(packages)];
for (const { line } of results) console.log(line);
if (isWhole) console.log(`dist/licenses.txt  ${packages.length} packages`);
for (const problem of problems) console.error(`build: ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);
