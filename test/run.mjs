// Runs every *.test.ts in a process of its own and ends with `N passed, M failed`. A file counts as passed only when it
// reports itself that it ran more than zero checks and passed them all; see test/check.ts for why.
//   node test/run.mjs [folder] [part of a path ...] [flags]
//   --without-bundles   leaves out what needs dist/
//   --long              only *.long.test.ts (hundreds of kills, soaks, container images, real OpenCode clients), and with
//                       their full number of random runs the files that call thorough()
//   --all               both
//   --record            writes how long the slow files took to test/durations.json, which decides their order
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';

const flags = process.argv.slice(2).filter((word) => word.startsWith('--'));
const [root = 'test', ...only] = process.argv.slice(2).filter((word) => !word.startsWith('--'));

const DURATIONS_FILE = 'test/durations.json';
/** A file that takes less does not change when the whole run ends. */
const SLOW_MS = 2000;
const END_LIMIT_MS = 10_000;
/** Most files import the same sources. `test/check.ts` takes it away again, so that programs under test start as for a user. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: resolve('node_modules/.cache/gatehouse-tests') };
const skipsBundles = flags.includes('--without-bundles');
const givenLimitMs = /^--limit-ms=(\d+)$/m.exec(flags.join('\n'))?.[1];
const isLong = (file) => file.endsWith('.long.test.ts');
const limitMsOf = (file) => Number(givenLimitMs ?? (isLong(file) ? 600_000 : 180_000));
const isThorough = flags.includes('--long') || flags.includes('--all');
const isWanted = (file) =>
  flags.includes('--all') ||
  isLong(file) === isThorough ||
  (isThorough && /\bthorough\(/.test(readFileSync(file, 'utf8')));

const durations = JSON.parse(readFileSync(DURATIONS_FILE, 'utf8'));
const files = readdirSync(root, { recursive: true })
  .map((name) => join(root, name))
  .filter((file) => file.endsWith('.test.ts') && isWanted(file))
  .filter((file) => !file.startsWith(join(root, 'fixtures/')))
  .filter((file) => !skipsBundles || !['runtime/', 'deploy/'].some((folder) => file.startsWith(join(root, folder))))
  .filter((file) => only.length === 0 || only.some((part) => file.includes(part)))
  .sort()
  // Longest first: a slow file that began last would leave the other processors idle.
  .sort((left, right) => (durations[right] ?? 0) - (durations[left] ?? 0));

/** One PostgreSQL server for all files that import it and stop no server: starting one takes seconds. */
const startSharedPostgres = () =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, ['--no-warnings', 'test/adapter/postgres/shared-server.ts'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdout
      .setEncoding('utf8')
      .once('data', (line) => resolve({ url: line.trim(), stop: () => child.stdin.end() }));
    child.once('exit', () => resolve({ url: undefined, stop: () => {} }));
  });
const usesPostgres = (file) => readFileSync(file, 'utf8').includes('postgres/world.ts');
const shared = files.filter(usesPostgres).length > 1 ? startSharedPostgres() : undefined;

// The last such line counts: a test may print what another run has printed.
const countsIn = (stdout) =>
  JSON.parse(
    [...stdout.matchAll(/^#checks (\{"total":\d+,"passed":\d+,"skipped":\d+\})$/gm)].at(-1)?.[1] ??
      '{"total":0,"passed":0,"skipped":0}',
  );

/** @returns {Promise<{file: string, passed: number, failed: number, skipped: number, output: string, ms: number}>} */
const runFile = async (file) => {
  const postgresUrl = shared !== undefined && usesPostgres(file) ? (await shared).url : undefined;
  return new Promise((resolve) => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, ['--no-warnings', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...COMPILE_CACHE,
        ...(isThorough ? { TEST_THOROUGH: '1' } : {}),
        ...(postgresUrl === undefined ? {} : { TEST_POSTGRES_URL: postgresUrl }),
      },
    });
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
      // It may end first what it has started.
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
};

const startedAt = performance.now();
const queue = [...files];
const results = [];
const worker = async () => {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const result = await runFile(file);
    results.push(result);
    const counts = `${result.passed} passed${result.skipped ? `, ${result.skipped} skipped` : ''}`;
    console.log(`${result.failed ? 'FAIL' : 'ok  '} ${file} (${counts}, ${result.ms} ms)`);
    if (result.failed) console.log(result.output.replace(/^#checks .*$/gm, '').trim());
    else
      for (const line of result.output.match(/(?<=^|\s)(?:skipped|figure): .*$/gm) ?? []) console.log(`     ${line}`);
  }
};
// Many of the slow files wait for servers to start, stop and time out: one more file than processors costs nothing. The
// long ones measure, or drive other people's clients, and want the machine to themselves.
const WORKERS = isThorough ? 1 : availableParallelism() + 1;
await Promise.all(Array.from({ length: WORKERS }, worker));
(await shared)?.stop();

if (flags.includes('--record')) {
  const slow = results.filter(({ ms }) => ms >= SLOW_MS).map(({ file, ms }) => [file, Math.round(ms / 1000) * 1000]);
  const others = Object.entries(durations).filter(([file]) => !results.some((result) => result.file === file));
  const all = [...others, ...slow].sort(([, left], [, right]) => right - left);
  writeFileSync(DURATIONS_FILE, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
}
if (files.length === 0) console.log(`no test file in ${root} ${only.join(' ')}`);
const sum = (field) => results.reduce((total, result) => total + result[field], 0);
const failed = sum('failed') + (files.length === 0 ? 1 : 0);
const skipped = sum('skipped');
console.log(`\n${files.length} files took ${Math.round((performance.now() - startedAt) / 1000)} s`);
console.log(`${sum('passed')} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
process.exit(failed === 0 ? 0 : 1);
