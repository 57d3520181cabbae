// Which test files may share a process: those after which it is as before for the next one.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ALLOWED_MODULES =
  'assert|buffer|crypto|events|fs|fs/promises|http|https|net|os|path|perf_hooks|readline|sqlite|stream|stream/promises|stream/web|timers/promises|tls|tty|url|util|vm|zlib';
/** What one may use of `process`: reading changes nothing, and who listens to its end removes files. */
const ALLOWED_OF_PROCESS = String.raw`(?:env|cpuUsage|execPath|version|versions|platform|pid|cwd|geteuid|getegid)\b|on\('exit'`;
/**
 * Other processes and threads, the process itself and its globals. What opens a server or a file closes it, or its file
 * never ends: ports are free ones, and folders have names of their own. `spawnSync` waits for the end of what it starts.
 */
const SHARED_STATE = new RegExp(
  String.raw`\bprocess\.(?!${ALLOWED_OF_PROCESS})\w|\bprocess\.env\S* =|\bdelete process\b|(?<!typeof )\bglobalThis\b(?!\.\w+\??[.;,)])|\bimport\((?!'(?:node:|@|\.\S+\.ts'))|\bsetGlobalDispatcher\b|(?<!^import \{ spawnSync \} )from '(?:ws|node:(?!(?:${ALLOWED_MODULES})'))`,
  'm',
);
/** A test that measures this process wants it for itself. */
const MEASURES = /\bprocess\.(?:cpuUsage|memoryUsage)\b|\bmonitorEventLoopDelay\b|\beventLoopUtilization\b/;
const IMPORTS = /^(?:import(?! type)|export|\}) [^']*'(\.[^']+\.ts)'|\bimport\('(\.[^']+\.ts)'\)/gm;

/** `check.ts` counts for each file anew; who sets a count of bridges shares with those that set the same. @type {Map<string, boolean>} */
const known = new Map([
  ['test/check.ts', true],
  ['test/bridge/harness/bridge-count.ts', true],
]);

/** Whether neither a file nor what it imports, directly or not, holds what another file in its process would notice. */
export const isSelfContained = (/** @type {string} */ file) => {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, true);
  const text = existsSync(file) ? readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/ .*$/gm, '') : '';
  const imported = [...text.matchAll(IMPORTS)].map(([, path, later]) => join(dirname(file), path ?? later ?? ''));
  const isMeasuring = file.startsWith('test/') && MEASURES.test(text);
  const answer = !isMeasuring && !SHARED_STATE.test(text) && imported.every(isSelfContained);
  known.set(file, answer);
  return answer;
};

/** So many share a process: starting it and reading what all import is then little, and none waits long for the others. */
const FILES_PER_PROCESS = 12;

/** What a file sets for itself and for all that begin behind it. */
const settingOf = (/** @type {string} */ file) => /^setBridgeCount\(.*\);$/m.exec(readFileSync(file, 'utf8'))?.[0];

/** Groups of neighbours, which mostly import the same. @returns {string[][]} */
export const groupsOf = (/** @type {readonly string[]} */ files) =>
  [...Map.groupBy(files, settingOf).values()].flatMap((alike) =>
    alike.flatMap((_, at) => (at % FILES_PER_PROCESS === 0 ? [alike.slice(at, at + FILES_PER_PROCESS)] : [])),
  );

/**
 * Splits what `run-together.ts` has printed: a text and a report for each file that came to its end, and what was
 * printed behind the last report.
 * @param {string} stdout
 */
export const reportsIn = (stdout) => {
  const parts = stdout.split(/^#file (\{.*\})$/m);
  const reports = parts
    .filter((_, index) => index % 2 === 1)
    .map((line, at) => ({ ...JSON.parse(line), text: parts[2 * at] }));
  return { reports, rest: parts.at(-1) ?? '' };
};
