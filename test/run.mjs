// Runs every *.test.ts in a process of its own and closes with `N passed, M failed`. A file counts as passed only when
// it says itself that it ran more than zero checks and passed them all; see test/check.ts for why.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const FILE_LIMIT_MS = 180_000;
const flags = process.argv.slice(2).filter((word) => word.startsWith('--'));
const [root = 'test', ...only] = process.argv.slice(2).filter((word) => !word.startsWith('--'));

const skipsBundles = flags.includes('--without-bundles');
const files = readdirSync(root, { recursive: true })
  .map((name) => join(root, name))
  .filter((file) => file.endsWith('.test.ts'))
  .filter((file) => root !== 'test' || !file.includes('fixtures'))
  .filter((file) => !skipsBundles || !file.startsWith(join(root, 'runtime')))
  .filter((file) => only.length === 0 || only.some((part) => file.includes(part)))
  .sort();

/** @returns {Promise<{file: string, passed: number, failed: number, skipped: number, output: string, ms: number}>} */
const runFile = (file) =>
  new Promise((resolve) => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, ['--no-warnings', file], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk) => {
      output += chunk;
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const timer = setTimeout(() => {
      output += `\nstopped after ${FILE_LIMIT_MS} ms`;
      child.kill('SIGKILL');
    }, FILE_LIMIT_MS);
    child.on('close', (code) => {
      clearTimeout(timer);
      const counts = JSON.parse(/^#checks (.+)$/m.exec(output)?.[1] ?? '{"total":0,"passed":0,"skipped":0}');
      const missed = counts.total - counts.passed - counts.skipped;
      const isRed = code !== 0 || missed !== 0 || counts.total === 0;
      resolve({
        file,
        passed: counts.passed,
        skipped: counts.skipped,
        failed: isRed ? Math.max(1, missed) : 0,
        output: counts.total === 0 ? `${output}\nno check ran in this file` : output,
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
    if (result.failed) console.log(result.output.replace(/^#checks .*$/m, '').trim());
    else for (const line of result.output.match(/^skipped: .*$/gm) ?? []) console.log(`     ${line}`);
  }
};
await Promise.all(Array.from({ length: Math.max(1, availableParallelism()) }, worker));

const sum = (field) => results.reduce((total, result) => total + result[field], 0);
const failed = sum('failed') + (files.length === 0 ? 1 : 0);
const skipped = sum('skipped');
console.log(`\n${sum('passed')} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
process.exit(failed === 0 ? 0 : 1);
