// The version stands in several files. `node release/version.mjs check [TAG]` says where they differ from package.json, or
// from the tag of a release, and with a tag whether npm has the package's name for us; `node release/version.mjs set 0.2.0` writes a
// new version everywhere and dates its changelog.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { sectionOf } from './notes.mjs';

const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/;
const escaped = (version) => version.replaceAll('.', '\\.');

/** The files that name the version, each with what stands around it. Every place of a pattern is checked and written. */
const PLACES = [
  ['package.json', (version) => `^  "version": "${version}"`],
  ['package-lock.json', (version) => `"name": "@gatehouse-llm/gatehouse",\n +"version": "${version}"`],
  ['k8s/gatehouse/Chart.yaml', (version) => `^version: ${version}$`],
  ['k8s/gatehouse/Chart.yaml', (version) => `^appVersion: v${version}$`],
  ['Dockerfile', (version) => `image\\.version="v${version}"`],
  ['Dockerfile', (version) => `gatehouse-agent:v${version}`],
  ['compose.yaml', (version) => `:v${version}$`],
  ['README.md', (version) => `gatehouse-${version}\\.tgz`],
  ['README.md', (version) => `gatehouse-gateway:v${version}`],
  ['docs/containers.md', (version) => `:v${version}`],
  ['docs/containers.md', (version) => `The images are \`v${version}\``],
  ['docs/kubernetes.md', (version) => `\`appVersion\`, v${version}`],
  ['docs/moderation-gateway.md', (version) => `"version":"${version}"`],
];
const ANY = '\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.]+)?';
const CHANGELOG = 'CHANGELOG.md';
const UNRELEASED = '## [Unreleased]\n';

const read = (file) => readFileSync(file, 'utf8');

/** What is wrong with the files for this version, one sentence each. `readText` reads a file of the repository. */
export const problemsOf = (version, readText) => [
  ...PLACES.flatMap(([file, pattern]) => {
    const text = readText(file);
    const found = text.match(new RegExp(pattern(ANY), 'gm')) ?? [];
    if (found.length === 0) return [`${file}: nothing like /${pattern('VERSION')}/ is in it`];
    const right = new RegExp(pattern(escaped(version)), 'm');
    return found
      .filter((place) => !right.test(place))
      .map((place) => `${file}: expected ${version} in ${JSON.stringify(place)}`);
  }),
  ...(sectionOf(readText(CHANGELOG), version) === undefined
    ? [`${CHANGELOG}: expected a section "## [${version}] - YYYY-MM-DD" with something in it`]
    : []),
];

const versionIn = (text) => JSON.parse(text).version;

/**
 * Why npm would not take a package of this name from the repository `ours`, OWNER/NAME at GitHub: one sentence, or none where the
 * name is free or what has it comes from there. `ask` is `fetch`; `registry` is an address without a slash at its end.
 */
export const nameProblems = async (name, ours, ask, registry) => {
  try {
    const answer = await ask(`${registry}/${name.replace('/', '%2f')}`, { signal: AbortSignal.timeout(30_000) });
    if (answer.status === 404) return [];
    if (answer.status !== 200)
      return [`${registry} answered ${answer.status} for ${name}. Nothing was pushed: try again`];
    const newest = Object.values((await answer.json()).versions ?? {}).at(-1);
    const theirs = /github\.com[/:]([^/]+\/[^/]+?)(?:\.git)?$/.exec(newest?.repository?.url ?? '')?.[1];
    if (theirs !== undefined && theirs.toLowerCase() === ours?.toLowerCase()) return [];
    return [
      `npm: ${name} is a package of ${theirs ?? 'an unknown repository'}, and this is ${ours ?? 'one that GITHUB_REPOSITORY does not name'}. Nothing was pushed: set a name of your own in package.json and package-lock.json, such as @YOUR-ORGANISATION/gatehouse`,
    ];
  } catch (error) {
    const reason = error.cause?.code ?? error.name;
    return [`${registry} could not be asked about ${name} (${reason}). Nothing was pushed: try again`];
  }
};

const check = async (tag) => {
  const version = versionIn(read('package.json'));
  const ofTag =
    tag === undefined || tag === `v${version}` ? [] : [`The tag is ${tag}: expected v${version}, as package.json says`];
  const registry = (process.env.npm_config_registry ?? 'https://registry.npmjs.org').replace(/\/$/, '');
  const { name } = JSON.parse(read('package.json'));
  const ofName = tag === undefined ? [] : await nameProblems(name, process.env.GITHUB_REPOSITORY, fetch, registry);
  const problems = [...ofTag, ...ofName, ...problemsOf(version, read)];
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length === 0) process.stdout.write(`${version}\n`);
  else process.exitCode = 1;
};

/** A text with the new version in the places of a file. */
export const withVersion = (file, text, version) =>
  PLACES.filter(([name]) => name === file).reduce(
    (changed, [, pattern]) =>
      changed.replace(new RegExp(pattern(ANY), 'gm'), (place) => place.replace(new RegExp(ANY), version)),
    text,
  );

const set = (version, today) => {
  if (!VERSION.test(version ?? '')) {
    process.stderr.write('Expected a version such as 0.2.0 or 1.0.0-rc.1\n');
    process.exitCode = 1;
    return;
  }
  const log = read(CHANGELOG);
  const unreleased = log.split(/^## /m)[1] ?? '';
  if (sectionOf(log, version) === undefined && unreleased.replace('[Unreleased]', '').trim() === '') {
    process.stderr.write(
      `${CHANGELOG}: expected something under [Unreleased], which becomes the notes of ${version}. Nothing was written\n`,
    );
    process.exitCode = 1;
    return;
  }
  for (const file of new Set(PLACES.map(([name]) => name))) writeFileSync(file, withVersion(file, read(file), version));
  if (sectionOf(log, version) === undefined)
    writeFileSync(CHANGELOG, log.replace(UNRELEASED, `${UNRELEASED}\n## [${version}] - ${today}\n`));
  void check(undefined);
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [action, value] = process.argv.slice(2);
  if (action === 'check') await check(value);
  else if (action === 'set') set(value, new Date().toISOString().slice(0, 10));
  else {
    process.stderr.write('Usage: node release/version.mjs check [TAG] | set VERSION\n');
    process.exitCode = 1;
  }
}
