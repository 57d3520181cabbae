// Runs every *.test.ts in a process of its own and closes with `N passed, M failed`. A file counts as passed only when
// it says itself that it ran more than zero checks and passed them all; see test/check.ts for why.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const flags = process.argv.slice(2).filter((word) => word.startsWith('--'));
const [root = 'test', ...only] = process.argv.slice(2).filter((word) => !word.startsWith('--'));

const skipsBundles = flags.includes('--without-bundles');
const givenLimitMs = /^--limit-ms=(\d+)$/m.exec(flags.join('\n'))?.[1];
const END_LIMIT_MS = 10_000;
// Images are built there, a clone is installed, and servers are killed two hundred times.
const isLong = (file) => file.startsWith(join(root, 'deploy/')) || file.endsWith('crash.test.ts');
const limitMsOf = (file) => Number(givenLimitMs ?? (isLong(file) ? 600_000 : 180_000));
const files = readdirSync(root, { recursive: true })
  .map((name) => join(root, name))
  .filter((file) => file.endsWith('.test.ts'))
  .filter((file) => !file.startsWith(join(root, 'fixtures/')))
  .filter((file) => !skipsBundles || !['runtime/', 'deploy/'].some((room) => file.startsWith(join(root, room))))
  .filter((file) => only.length === 0 || only.some((part) => file.includes(part)))
  .sort();

// The last such line counts: a test may print what another run has printed.
const countsIn = (stdout) =>
  JSON.parse(
    [...stdout.matchAll(/^#checks (\{"total":\d+,"passed":\d+,"skipped":\d+\})$/gm)].at(-1)?.[1] ??
      '{"total":0,"passed":0,"skipped":0}',
  );

/** @returns {Promise<{file: string, passed: number, failed: number, skipped: number, output: string, ms: number}>} */
const runFile = (file) =>
  new Promise((resolve) => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, ['--no-warnings', file], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    let isLate = false;
    const fileLimitMs = limitMsOf(file);
    const timer = setTimeout(() => {
      isLate = true;
      output += `\nstopped after ${fileLimitMs} ms: it, or a process that it started, was still running`;
      // What it has started may be ended by it first.
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), END_LIMIT_MS).unref();
      // A process that the test left behind holds these open, and 'close' would wait for it.
      child.stdout.destroy();
      child.stderr.destroy();
    }, fileLimitMs);
    child.on('close', (code) => {
      clearTimeout(timer);
      const counts = countsIn(stdout);
      const missed = counts.total - counts.passed - counts.skipped;
      const isRed = isLate || code !== 0 || missed !== 0 || counts.total === 0;
      resolve({
        file,
        passed: counts.passed,
        skipped: counts.skipped,
        failed: isRed ? Math.max(1, missed) : 0,
        output: counts.total === 0 && !isLate ? `${output}\nno check ran in this file` : output,
        ms: Math.round(performance.now() - startedAt),
      });
    });
  });

const queue = [...files];
const results = [];
const worker = async () => {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const result = await runFile(file);
    results.push(result);
    const counts = `${result.passed} passed${result.skipped ? `, ${result.skipped} skipped` : ''}`;
    console.log(`${result.failed ? 'FAIL' : 'ok  '} ${file} (${counts}, ${result.ms} ms)`);
    if (result.failed) console.log(result.output.replace(/^#checks .*$/gm, '').trim());
    else for (const line of result.output.match(/^(?:skipped|figure): .*$/gm) ?? []) console.log(`     ${line}`);
  }
};
await Promise.all(Array.from({ length: Math.max(1, availableParallelism()) }, worker));

if (files.length === 0) console.log(`no test file in ${root} ${only.join(' ')}`);
const sum = (field) => results.reduce((total, result) => total + result[field], 0);
const failed = sum('failed') + (files.length === 0 ? 1 : 0);
const skipped = sum('skipped');
console.log(`\n${sum('passed')} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
process.exit(failed === 0 ? 0 : 1);
