// Writes what the bundles are made of as a CycloneDX document: npm's own, without the packages that only build and test.
// The same lock gives the same document, byte for byte.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { packagesListed } from './licenses.mjs';

const LIMIT_BYTES = 64 * 1024 * 1024;
const [file = 'dist/sbom.cdx.json'] = process.argv.slice(2);

const npmSbom = () => {
  const words = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'];
  return JSON.parse(execFileSync('npm', words, { encoding: 'utf8', maxBuffer: LIMIT_BYTES }));
};

/**
 * Who depends on whom among those that are kept. What none of them names, such as a package that another only tries to
 * load, was found by the bundler, and so the root depends on it.
 */
const keptEdges = (root, dependencies, kept) => {
  const edges = [root, ...kept].map((ref) => {
    const { dependsOn = [] } = dependencies.find((one) => one.ref === ref) ?? {};
    return { ref, dependsOn: dependsOn.filter((next) => kept.has(next)) };
  });
  const named = new Set(edges.flatMap(({ dependsOn }) => dependsOn));
  const unnamed = [...kept].filter((ref) => !named.has(ref));
  return edges.map(({ ref, dependsOn }) => ({ ref, dependsOn: ref === root ? [...dependsOn, ...unnamed] : dependsOn }));
};

/** To npm all of them are for development, since they are bundled. Here they are what runs. */
const componentOf = (component, bundles) => ({
  ...component,
  scope: 'required',
  properties: bundles.map((bundle) => ({ name: 'gatehouse:bundle', value: bundle })),
});

const serialNumberOf = (text) => {
  const hex = createHash('sha256').update(text).digest('hex');
  // Version 8: a UUID made in a way of one's own.
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

const bundled = new Map(
  packagesListed(readFileSync('dist/licenses.txt', 'utf8')).map(({ name, version, bundles }) => [
    `${name}@${version}`,
    bundles,
  ]),
);
const { components, dependencies, metadata, $schema, bomFormat, specVersion, version } = npmSbom();
const kept = components.filter((component) => bundled.has(component['bom-ref']));
if (kept.length !== bundled.size || bundled.size === 0) {
  const missing = [...bundled.keys()].filter((ref) => kept.every((component) => component['bom-ref'] !== ref));
  process.stderr.write(
    `sbom: the lock has no ${missing.join(', ') || 'bundled package'}; run npm ci and npm run build\n`,
  );
  process.exit(1);
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const refs = new Set(kept.map((component) => component['bom-ref']));
const content = {
  metadata: {
    lifecycles: [{ phase: 'build' }],
    tools: metadata.tools,
    // npm takes the name from the directory.
    component: { ...metadata.component, name: manifest.name, type: 'application', properties: [] },
  },
  components: kept.map((component) => componentOf(component, bundled.get(component['bom-ref']))),
  dependencies: keptEdges(metadata.component['bom-ref'], dependencies, refs),
};
const serialNumber = serialNumberOf(JSON.stringify(content));
const document = { $schema, bomFormat, specVersion, serialNumber, version, ...content };
writeFileSync(file, `${JSON.stringify(document, undefined, 2)}\n`);
process.stdout.write(`${file}  ${kept.length} packages\n`);
