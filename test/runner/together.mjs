// Which test files may share a process: those that hold nothing outside their own memory.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ALLOWED_MODULES = 'assert|crypto|events|path|perf_hooks|stream/web|timers/promises|util|vm';
/** Servers, other processes, files, the process itself and its globals. Reading a variable changes nothing. */
const SHARED_STATE = new RegExp(
  String.raw`\bprocess\.(?!env\b)\w|\bprocess\.env\S* =|\bdelete process\b|\bglobalThis\b|\bimport\(|from '(?:undici|ws|node:(?!(?:${ALLOWED_MODULES})'))`,
);
const IMPORTS = /^(?:import(?! type)|export|\}) [^']*'(\.[^']+\.ts)'/gm;

/** `check.ts` uses the process, and counts for each file anew. @type {Map<string, boolean>} */
const known = new Map([['test/check.ts', true]]);

/** Whether neither a file nor what it imports, directly or not, holds what another file in its process would notice. */
export const isSelfContained = (/** @type {string} */ file) => {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, true);
  const text = existsSync(file) ? readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/ .*$/gm, '') : '';
  const imported = [...text.matchAll(IMPORTS)].map(([, path]) => join(dirname(file), path ?? ''));
  const answer = !SHARED_STATE.test(text) && imported.every(isSelfContained);
  known.set(file, answer);
  return answer;
};

/** So many share a process: starting it and reading what all import is then little, and none waits long for the others. */
const FILES_PER_PROCESS = 12;

/** Groups of neighbours, which mostly import the same. @returns {string[][]} */
export const groupsOf = (/** @type {readonly string[]} */ files) =>
  files.flatMap((_, at) => (at % FILES_PER_PROCESS === 0 ? [files.slice(at, at + FILES_PER_PROCESS)] : []));

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
