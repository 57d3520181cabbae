// Which packages ended up in the bundles, under which licences: what dist/licenses.txt tells.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Licences that ask for no more than their text and notices. Any other, or a choice of several, is for a person to read. */
const ALLOWED = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense']);

/** Packages that are published without the text of their licence, and where that of their repository stands. */
const TEXT_OF = {
  '@ai-sdk/provider-utils': 'node_modules/@ai-sdk/provider/LICENSE',
  '@cfworker/json-schema': 'supply/licenses/cfworker.txt',
  '@whatwg-node/disposablestack': 'supply/licenses/whatwg-node.txt',
  '@whatwg-node/fetch': 'supply/licenses/whatwg-node.txt',
  '@whatwg-node/node-fetch': 'supply/licenses/whatwg-node.txt',
  '@whatwg-node/promise-helpers': 'supply/licenses/whatwg-node.txt',
  '@whatwg-node/server': 'supply/licenses/whatwg-node.txt',
  postgres: 'supply/licenses/unlicense.txt',
};

/** Compiled code of others inside a package: where it lies, and their text. */
const VENDORED = [{ path: /\bnode_modules\/undici\/lib\/llhttp\//, text: 'supply/licenses/llhttp.txt' }];
const WASM = /wasm/i;

// The last node_modules of a path counts: packages have packages of their own.
const DIRECTORY = /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const LICENSE_FILE = /^(?:(?:un)?licen[cs]e|copying|notice|copyright)/i;
const COMMENT = /^[ \t]*\/\*[\s\S]*?\*\//gm;
const NOTICE = /^\s*\/\*!|@license|\bCopyright\b/i;
const HEAD = `Parts of these packages are in the files beside this one. Their licences and notices follow the list.

package and version | licence | in`;
const RULE = '='.repeat(80);
const ROW = /^(\S+) (\S+) \| (.+) \| (.+)$/gm;

/** Files of packages that left something in a bundle. Our own files, and what a plugin made up, lie in no package. */
const filesIn = ({ out, metafile }) =>
  Object.keys(Object.values(metafile.outputs)[0].inputs).flatMap((file) => {
    const directory = DIRECTORY.exec(file)?.[0];
    return directory === undefined ? [] : [{ out, file, directory }];
  });

const filesUnder = (directory) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();

const textsOf = (directory, name) => {
  const own = readdirSync(directory)
    .filter((file) => LICENSE_FILE.test(file))
    .sort()
    .map((file) => join(directory, file))
    // Of what a package has taken from others, some have a folder of licences.
    .flatMap((file) => (statSync(file).isDirectory() ? filesUnder(file) : [file]));
  const files = own.length === 0 && name in TEXT_OF ? [TEXT_OF[name]] : own;
  return files.map((file) => readFileSync(file, 'utf8'));
};

// The bundles keep no comments, so that a notice in a source has to stand here.
const noticesIn = (files) =>
  files.flatMap((file) => (readFileSync(file, 'utf8').match(COMMENT) ?? []).filter((comment) => NOTICE.test(comment)));

const tidy = (text) =>
  text
    .replaceAll('\r\n', '\n')
    .replace(/[ \t]+$/gm, '')
    .replace(/^\n+|\n+$/g, '');
const byText = (one, other) => (one < other ? -1 : Number(one > other));

const packageOf = (directory, files) => {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const sources = [...new Set(files.map(({ file }) => file))].sort();
  const texts = textsOf(directory, name);
  const vendored = VENDORED.filter(({ path }) => sources.some((file) => path.test(file)));
  return {
    name,
    version,
    license: String(license),
    bundles: [...new Set(files.map(({ out }) => out))].sort(),
    hasText: texts.length > 0,
    unknownBinaries: sources.filter((file) => WASM.test(file) && !VENDORED.some(({ path }) => path.test(file))),
    text: [
      ...new Set([...texts, ...noticesIn(sources), ...vendored.map((one) => readFileSync(one.text, 'utf8'))].map(tidy)),
    ].join('\n\n'),
  };
};

/**
 * The packages in the bundles, by name and version: `builds` are the bundles' names with esbuild's own account of each.
 * A version that is installed twice is one package.
 */
export const packagesIn = (builds) => {
  const files = Map.groupBy(builds.flatMap(filesIn), ({ directory }) => directory);
  const installed = [...files].map(([directory, own]) => packageOf(directory, own));
  const packages = Map.groupBy(installed, ({ name, version }) => `${name} ${version}`);
  return [...packages]
    .sort(([one], [other]) => byText(one, other))
    .map(([, [first, ...others]]) => ({
      ...first,
      bundles: [...new Set([first, ...others].flatMap(({ bundles }) => bundles))].sort(),
    }));
};

/** Why the bundles may not be given away, a line for each reason. */
export const licenseProblems = (packages) =>
  packages.flatMap(({ name, version, license, bundles, hasText, unknownBinaries = [] }) => [
    ...(ALLOWED.has(license) ? [] : [`${bundles.join(', ')}: ${name} ${version} has the licence ${license}`]),
    ...(hasText ? [] : [`${bundles.join(', ')}: ${name} ${version} comes without the text of its licence`]),
    ...unknownBinaries.map(
      (file) => `${bundles.join(', ')}: ${file} may be compiled code of others, whose licence is not known`,
    ),
  ]);

/** The list for people: a row for each package, then each text once, under the packages that share it. */
export const licenseList = (packages) => {
  const rows = packages.map(
    ({ name, version, license, bundles }) => `${name} ${version} | ${license} | ${bundles.join(', ')}`,
  );
  const texts = [...Map.groupBy(packages, ({ text }) => text)].map(([text, owners]) =>
    [RULE, ...owners.map(({ name, version }) => `${name} ${version}`), RULE, '', text].join('\n'),
  );
  return `${[[HEAD, ...rows].join('\n'), ...texts].join('\n\n')}\n`;
};

/** The rows of such a list, read back. */
export const packagesListed = (list) =>
  [...list.slice(0, list.indexOf(RULE)).matchAll(ROW)].map(([, name, version, license, bundles]) => ({
    name,
    version,
    license,
    bundles: bundles.split(', '),
  }));
