// Prints what is known against the installed packages, those in the bundles first. A report: it never fails a run,
// because advisories appear without any change of ours.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { packagesListed } from './licenses.mjs';

const LIMIT_BYTES = 64 * 1024 * 1024;
const LIMIT_MS = 60_000;
const LIST = 'dist/licenses.txt';
const MOST_ROWS = 40;
const SEVERITIES = ['critical', 'high', 'moderate', 'low', 'info'];

const say = (line) => process.stdout.write(`${line}\n`);

// What a registry wrote goes to a terminal.
const plain = (text) => String(text).replace(/\p{C}/gu, ' ').slice(0, 120);

/** npm's report, or why there is none. npm ends with 1 when it found something. */
const askRegistry = () => {
  const { stdout, error } = spawnSync('npm', ['audit', '--json', '--fetch-retries=1'], {
    encoding: 'utf8',
    maxBuffer: LIMIT_BYTES,
    timeout: LIMIT_MS,
  });
  try {
    const report = JSON.parse(stdout);
    return report.vulnerabilities === undefined ? { reason: report.message } : { report };
  } catch {
    return { reason: error?.message ?? 'npm audit wrote no JSON' };
  }
};

/** A row for each advisory. What is concerned only by way of another package has none of its own. */
const rowsOf = ({ vulnerabilities }, versionAt, bundlesOf) =>
  Object.values(vulnerabilities).flatMap(({ name, nodes, via }) => {
    const versions = [...new Set(nodes.map(versionAt))].sort();
    const bundles = [...new Set(versions.flatMap((version) => bundlesOf(name, version)))].sort();
    return via
      .filter((advisory) => typeof advisory === 'object')
      .map(({ severity, title, url }) => ({ severity, name, versions, bundles, title, url }));
  });

const rankOf = ({ bundles, severity }) => (bundles.length > 0 ? 0 : SEVERITIES.length) + SEVERITIES.indexOf(severity);

const lineOf = ({ severity, name, versions, bundles, title, url }) => {
  const where = bundles.length > 0 ? `IN ${bundles.join(', ')}` : 'tools only';
  return `  ${plain(severity).padEnd(8)}  ${plain(name)} ${plain(versions.join(', '))}  ${where}  ${plain(title)}  ${plain(url)}`;
};

const print = (report) => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const bundled = existsSync(LIST) ? packagesListed(readFileSync(LIST, 'utf8')) : [];
  if (bundled.length === 0) say(`audit: ${LIST} is missing, so that nothing is told about the bundles`);
  const bundlesOf = (name, version) =>
    bundled.find((one) => one.name === name && one.version === version)?.bundles ?? [];
  const rows = rowsOf(report, (node) => packages[node]?.version ?? 'unknown', bundlesOf).sort(
    (one, other) => rankOf(one) - rankOf(other),
  );
  const inBundles = rows.filter(({ bundles }) => bundles.length > 0).length;
  say(`audit: ${rows.length} advisories, ${inBundles} of them about packages in the bundles`);
  for (const row of rows.slice(0, MOST_ROWS)) say(lineOf(row));
  if (rows.length > MOST_ROWS) say(`  and ${rows.length - MOST_ROWS} more: npm audit`);
};

const { report, reason } = askRegistry();
if (report === undefined) say(`audit: not known, the registry gave no answer (${plain(reason)})`);
else print(report);
