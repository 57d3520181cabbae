import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { ROOT } from '../runtime/processes.ts';
import { rowsOf, withTree } from './supply-tree.ts';

type Component = {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly properties: readonly { readonly name: string; readonly value: string }[];
};
type Sbom = {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly version: number;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};
type Lock = { readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>> };

const EVAL = 'src/main/eval.ts';

describe('the list of licences', (check) => {
  check('names what is in the bundles and what is not, and is the same after each build', async () => {
    await withTree(async ({ build, read }) => {
      assert.is((await build()).code, 0);
      const list = read('dist/licenses.txt');
      const rows = rowsOf(list);
      const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
      const rowFor = (name: string): string => rows.get(`${name} ${devDependencies[name]}`) ?? '';
      assert.match(rowFor('itty-router'), /^MIT \| .*gateway\.js, gateway\.worker\.js/);
      // One by way of a plugin's own module, one scoped, one that is installed in two versions.
      assert.match(rowFor('undici'), 'gateway.js');
      assert.match(rowFor('@modelcontextprotocol/sdk'), 'relay-admin.js');
      assert.is([...rows.keys()].filter((name) => name.startsWith('@whatwg-node/promise-helpers ')).length, 2);
      for (const name of ['typescript', 'ajv', '@ai-sdk/gateway', 'openai', 'wrangler'])
        assert.is(list.includes(`\n${name} `), false, name);
      assert.not.match(list, ROOT);
      for (const name of rows.keys()) assert.is(list.split(`\n${name}\n`).length, 2, `${name} has one text`);
      assert.is((await build()).code, 0);
      assert.is(read('dist/licenses.txt'), list);
    });
  });

  check('has texts and notices, also those that only a source holds', async () => {
    await withTree(async ({ build, read, write, addPackage }) => {
      addPackage('src', '@scope/noted', { version: '1.2.3', license: 'MIT', text: 'Permission of the outer one' });
      write('src/node_modules/@scope/noted/NOTICE', 'Made with care by nobody');
      write(
        'src/node_modules/@scope/noted/index.js',
        "/*! Copyright of a part */\n/* no more than a remark */\nimport 'inner';\nconsole.log(1);",
      );
      addPackage('src/node_modules/@scope/noted', 'inner', { version: '0.0.1', license: 'ISC', text: 'And the inner' });
      write(EVAL, `import '@scope/noted';\n${read(EVAL)}`);
      const { code, stderr } = await build();
      assert.is(code, 0, stderr);
      const list = read('dist/licenses.txt');
      assert.is(rowsOf(list).get('@scope/noted 1.2.3'), 'MIT | eval.js');
      assert.is(rowsOf(list).get('inner 0.0.1'), 'ISC | eval.js');
      for (const text of ['Permission of the outer one', 'Made with care', 'Copyright of a part', 'And the inner'])
        assert.match(list, text);
      assert.not.match(list, 'no more than a remark');
    });
  });

  const unfit = [
    [{ version: '9.9.9', text: 'Some text' }, 'eval.js: unfit 9.9.9 has the licence undefined'],
    [{ version: '9.9.9', license: 'AGPL-3.0', text: 'Some text' }, 'eval.js: unfit 9.9.9 has the licence AGPL-3.0'],
    [{ version: '9.9.9', license: 'MIT' }, 'eval.js: unfit 9.9.9 comes without the text of its licence'],
  ] as const;
  for (const [given, errorText] of unfit) {
    check(`stops a build: ${errorText}`, async () => {
      await withTree(async ({ build, read, write, addPackage }) => {
        addPackage('src', 'unfit', given);
        write(EVAL, `import 'unfit';\n${read(EVAL)}`);
        const { code, stderr } = await build();
        assert.equal([code, stderr], [1, `build: ${errorText}\n`]);
      });
    });
  }
});

describe('the SBOM', (check) => {
  check('reports what is bundled as the lock has it, and is whole', async () => {
    await withTree(async ({ build, node, read, directory }) => {
      await build();
      const written = await node(['supply/sbom.mjs']);
      assert.is(written.code, 0, written.stderr);
      const text = read('dist/sbom.cdx.json');
      for (const place of [ROOT, directory]) assert.is(text.includes(place), false, place);

      const sbom = JSON.parse(text) as Sbom;
      assert.equal([sbom.bomFormat, sbom.specVersion, sbom.version], ['CycloneDX', '1.5', 1]);
      assert.match(
        sbom.serialNumber,
        /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      const { version } = JSON.parse(read('package.json')) as { version: string };
      const root = sbom.metadata.component;
      assert.equal(
        [root.name, root.version, root.purl],
        ['@gatehouse-llm/gatehouse', version, `pkg:npm/%40gatehouse-llm/gatehouse@${version}`],
      );

      const rows = rowsOf(read('dist/licenses.txt'));
      assert.equal(sbom.components.map((one) => `${one.name} ${one.version}`).sort(), [...rows.keys()].sort());
      const locked = Object.entries((JSON.parse(read('package-lock.json')) as Lock).packages);
      for (const { name, version: own, purl, hashes = [], licenses, properties } of sbom.components) {
        const entry = locked.find(([path, one]) => path.endsWith(`node_modules/${name}`) && one.version === own);
        assert.ok(entry, `${name} ${own} is not in the lock`);
        assert.is(purl, `pkg:npm/${name.replace('@', '%40')}@${own}`);
        const sha = Buffer.from(hashes[0]?.content ?? '', 'hex').toString('base64');
        assert.is(`sha512-${sha}`, entry?.[1].integrity);
        const reported = properties.map(({ value }) => value).join(', ');
        assert.is(`${licenses[0]?.license.id} | ${reported}`, rows.get(`${name} ${own}`));
      }

      const refs = new Set([root['bom-ref'], ...sbom.components.map((one) => one['bom-ref'])]);
      assert.equal(sbom.dependencies.map(({ ref }) => ref).sort(), [...refs].sort());
      const reached = new Set([root['bom-ref']]);
      for (const ref of reached)
        for (const next of sbom.dependencies.find((one) => one.ref === ref)?.dependsOn ?? []) reached.add(next);
      assert.equal([...reached].sort(), [...refs].sort());

      await node(['supply/sbom.mjs', 'dist/again.json']);
      assert.is(read('dist/again.json'), text);
    });
  });

  check('is not written when a bundled package is not in the lock', async () => {
    await withTree(async ({ build, node, read, write }) => {
      await build();
      const list = read('dist/licenses.txt');
      write('dist/licenses.txt', list.replace('\nms 2.', '\nms 99.'));
      const { code, stderr } = await node(['supply/sbom.mjs']);
      assert.is(code, 1);
      assert.match(stderr, 'the lock has no ms@99.');
    });
  });
});

/** A registry that knows these advisories and nothing else. */
const startRegistry = async (advisories: object): Promise<{ readonly address: string; readonly server: Server }> => {
  const server = createServer((message, reply) => {
    const isQuestion = message.url?.endsWith('/advisories/bulk');
    message.resume().on('end', () => {
      reply.writeHead(isQuestion ? 200 : 404, { 'content-type': 'application/json' });
      reply.end(JSON.stringify(isQuestion ? advisories : {}));
    });
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
};
const advisory = (severity: string, title: string) => ({
  id: title.length,
  url: `https://example.com/${severity}`,
  title,
  severity,
  vulnerable_versions: '<99.0.0',
});

describe('the audit', (check) => {
  const LIST = '\nms 2.1.3 | MIT | gateway.js\nundici 7.30.2 | MIT | agent.js, gateway.js\n\n====';
  const audit = (registry: string, list: string | undefined, body: (printed: string) => void) =>
    withTree(async ({ node, write, directory }) => {
      if (list !== undefined) write('dist/licenses.txt', list);
      const { code, stdout, stderr } = await node(['supply/audit.mjs'], {
        npm_config_registry: registry,
        npm_config_cache: join(directory, 'cache'),
      });
      assert.equal([code, stderr], [0, '']);
      body(stdout);
    });

  check('reports what concerns the bundles first, and never fails', async () => {
    const { address, server } = await startRegistry({
      esbuild: [advisory('critical', 'A hole in a tool')],
      undici: [advisory('low', 'A \u001b[31mcrack')],
    });
    const auditing = audit(address, LIST, (printed) => {
      const [head, first, second] = printed.split('\n');
      assert.is(head, 'audit: 2 advisories, 1 of them about packages in the bundles');
      assert.match(first ?? '', /^ {2}low +undici .*7\.30\.2.* IN agent\.js, gateway\.js {2}A {2}\[31mcrack {2}https:/);
      assert.match(second ?? '', /^ {2}critical +esbuild .* tools only {2}A hole in a tool/);
    });
    await auditing.finally(() => server.close());
  });

  check('says so when there is nothing, or when there was no build', async () => {
    const { address, server } = await startRegistry({});
    const auditing = audit(address, undefined, (printed) => {
      assert.match(printed, 'dist/licenses.txt is missing');
      assert.match(printed, 'audit: 0 advisories, 0 of them');
    });
    await auditing.finally(() => server.close());
  });

  check('says so when the registry cannot be reached', () =>
    audit('http://127.0.0.1:9', LIST, (printed) =>
      assert.match(printed, /^audit: not known, the registry gave no answer/),
    ),
  );
});
