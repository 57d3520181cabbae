// Runs every *.test.ts and ends with `N passed, M failed`: small files that test/runner/together.mjs finds to be
// self-contained share processes, and each other has its own. A file counts as passed only when it reports itself that it
// ran more than zero checks and passed them all; see test/check.ts for why.
//   node test/run.mjs [folder] [part of a path ...] [flags]
//   --without-bundles   leaves out what needs dist/
//   --long              only *.long.test.ts (hundreds of kills, soaks, container images, real OpenCode clients), and with
//                       their full number of random runs the files that call thorough() or sampled()
//   --all               both
//   --record            writes how long the slow files took, and how much of it kept a processor busy, to
//                       test/durations.json, which decides their order, how many run at a time and when one is stopped
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { descendantsOf, endedProcessorMs, kill } from './runner/processes.mjs';
import { groupsOf, isSelfContained, reportsIn } from './runner/together.mjs';

const flags = process.argv.slice(2).filter((word) => word.startsWith('--'));
const [root = 'test', ...only] = process.argv.slice(2).filter((word) => !word.startsWith('--'));

const DURATIONS_FILE = 'test/durations.json';
/** A file that takes less does not change when the whole run ends. */
const SLOW_MS = 2000;
const END_LIMIT_MS = 10_000;
/** A file that takes so many times what it took when it was recorded is stuck, and not slow because the machine is busy. */
const STUCK_AFTER_TIMES = 5;
const LEAST_LIMIT_MS = 120_000;
/** Nobody records these. The slowest take minutes on a quiet machine, and three times as long on a busy one. */
const THOROUGH_LIMIT_MS = 900_000;
/** Most files import the same sources. `test/compile-cache.ts` takes it away again, and gives it to what the tests start. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: resolve('node_modules/.cache/gatehouse-tests') };
const skipsBundles = flags.includes('--without-bundles');
const givenLimitMs = /^--limit-ms=(\d+)$/m.exec(flags.join('\n'))?.[1];
const isLong = (file) => file.endsWith('.long.test.ts');
const isThorough = flags.includes('--long') || flags.includes('--all');
const isWanted = (file) =>
  flags.includes('--all') ||
  isLong(file) === isThorough ||
  (isThorough && /\b(?:thorough|sampled)\(/.test(readFileSync(file, 'utf8')));

/** @type {Record<string, {ms: number, processorMs: number}>} */
const durations = JSON.parse(readFileSync(DURATIONS_FILE, 'utf8'));
const durationOf = (file) => durations[file] ?? { ms: 0, processorMs: 0 };
const limitMsOf = (file) => {
  if (givenLimitMs !== undefined) return Number(givenLimitMs);
  if (isThorough) return THOROUGH_LIMIT_MS;
  return Math.max(LEAST_LIMIT_MS, STUCK_AFTER_TIMES * durationOf(file).ms);
};
const files = readdirSync(root, { recursive: true })
  .map((name) => join(root, name))
  .filter((file) => file.endsWith('.test.ts') && isWanted(file))
  .filter((file) => !file.startsWith(join(root, 'fixtures/')))
  .filter((file) => !skipsBundles || !['runtime/', 'deploy/'].some((folder) => file.startsWith(join(root, folder))))
  .filter((file) => only.length === 0 || only.some((part) => file.includes(part)))
  .sort()
  // Longest first: a slow file that began last would leave the other processors idle.
  .sort((left, right) => durationOf(right).ms - durationOf(left).ms);

/** One PostgreSQL server for all files that import it and stop no server: starting one takes seconds. */
const startSharedPostgres = () =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, ['--no-warnings', 'test/agent/adapter/postgres/shared-server.ts'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdout
      .setEncoding('utf8')
      .once('data', (line) => resolve({ url: line.trim(), stop: () => child.stdin.end() }));
    child.once('exit', () => resolve({ url: undefined, stop: () => {} }));
  });
const usesPostgres = (file) => {
  const text = readFileSync(file, 'utf8');
  return /\bstartPostgres\(/.test(text) && !text.includes('isOwn: true');
};
const shared = files.filter(usesPostgres).length > 1 ? startSharedPostgres() : undefined;

// The last such line counts: a test may print what another run has printed.
const countsIn = (stdout) =>
  JSON.parse(
    [...stdout.matchAll(/^#checks (\{"total":\d+,"passed":\d+,"skipped":\d+\})$/gm)].at(-1)?.[1] ??
      '{"total":0,"passed":0,"skipped":0}',
  );

const firstProcessorMs = endedProcessorMs();
let countedProcessorMs = firstProcessorMs;

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => {
    // Each file is the head of a group of its own, which a terminal does not reach.
    for (const { pid } of running) for (const one of [...descendantsOf(pid), -pid]) kill(one, 'SIGKILL');
    process.exit(1);
  });

/** @typedef {{file: string, passed: number, failed: number, skipped: number, output: string, ms: number, processorMs: number}} Result */

/** Ends it when `limitMs` go by without the report of another file, and `failed` if it was ended or its code is not 0. */
const runProcess = (words, limitMs, postgresUrl) =>
  new Promise((resolve) => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, ['--no-warnings', ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: {
        ...process.env,
        ...COMPILE_CACHE,
        ...(isThorough ? { TEST_THOROUGH: '1' } : {}),
        ...(postgresUrl === undefined ? {} : { TEST_POSTGRES_URL: postgresUrl }),
      },
    });
    running.add(child);
    let output = '';
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
      output += text;
      if (text.includes('#file ')) timer.refresh();
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    let isLate = false;
    let started = [];
    const timer = setTimeout(() => {
      isLate = true;
      started = descendantsOf(child.pid);
      output += `\nstopped after ${limitMs} ms: it, or a process that it started, was still running`;
      if (givenLimitMs === undefined && !isThorough)
        output += `\na file may take ${LEAST_LIMIT_MS} ms, or ${STUCK_AFTER_TIMES} times what ${DURATIONS_FILE} says: npm test -- --record writes that`;
      // It may end first what it has started.
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), END_LIMIT_MS).unref();
      // A process that the test left behind holds these open, and 'close' would wait for it.
      child.stdout.destroy();
      child.stderr.destroy();
    }, limitMs);
    let processorMs = 0;
    child.on('exit', () => {
      const nowMs = endedProcessorMs();
      processorMs = nowMs - countedProcessorMs;
      countedProcessorMs = nowMs;
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      running.delete(child);
      if (isLate) for (const one of [...started, -child.pid]) kill(one, 'SIGKILL');
      const ms = Math.round(performance.now() - startedAt);
      resolve({ stdout, output, isLate, failed: isLate || code !== 0, ms, processorMs });
    });
  });

const resultOf = (file, counts, { output, isLate, failed, ms, processorMs }) => {
  const missed = counts.total - counts.passed - counts.skipped;
  return {
    file,
    passed: counts.passed,
    skipped: counts.skipped,
    failed: failed || missed !== 0 || counts.total === 0 ? Math.max(1, missed) : 0,
    output: counts.total === 0 && !isLate ? `${output}\nno check ran in this file` : output,
    ms,
    processorMs,
  };
};

/** @returns {Promise<Result[]>} */
const runFile = async (file) => {
  const postgresUrl = shared !== undefined && usesPostgres(file) ? (await shared).url : undefined;
  const ended = await runProcess([file], limitMsOf(file), postgresUrl);
  return [resultOf(file, countsIn(ended.stdout), ended)];
};

/** One process for several files. One without a report has stopped it, and those behind it begin in another. @returns {Promise<Result[]>} */
const runTogether = async (group) => {
  const ended = await runProcess(['test/runner/run-together.ts', ...group], limitMsOf(group[0]));
  const { reports } = reportsIn(ended.stdout);
  const results = reports.map((one) =>
    resultOf(one.file, one, { ...one, output: one.text, failed: one.exitCode !== 0, isLate: false }),
  );
  const [stopped, ...others] = group.slice(reports.length);
  if (stopped !== undefined) {
    const output = `${ended.output}\nits process, which it shares with ${group.join(' ')}, ended or was stopped in it`;
    results.push(resultOf(stopped, { total: 1, passed: 0, skipped: 0 }, { ...ended, output, failed: true }));
  } else if (ended.failed && results.every(({ failed }) => failed === 0))
    results.push({ ...results.pop(), failed: 1, output: ended.output });
  return others.length === 0 ? results : [...results, ...(await runTogether(others))];
};

/** Whether it mostly waits: for servers to start, stop and time out. */
const isWaiting = (file) => {
  const { ms, processorMs } = durationOf(file);
  return processorMs < 0.4 * ms;
};

const startedAt = performance.now();
const results = [];
const report = (result) => {
  results.push(result);
  const counts = `${result.passed} passed${result.skipped ? `, ${result.skipped} skipped` : ''}`;
  const took = `${result.ms} ms, ${result.processorMs} ms of processor`;
  console.log(`${result.failed ? 'FAIL' : 'ok  '} ${result.file} (${counts}, ${took})`);
  if (result.failed) console.log(result.output.replace(/^#(?:checks|file) .*$/gm, '').trim());
  else for (const line of result.output.match(/(?<=^|\s)(?:skipped|figure): .*$/gm) ?? []) console.log(`     ${line}`);
};
// What was recorded is slow, and has a process and a place in the order for itself.
const small = isThorough ? [] : files.filter((file) => durations[file] === undefined && isSelfContained(file));
const alone = files.filter((file) => !small.includes(file));
const groups = groupsOf(small).map((group) => (group.length === 1 ? group[0] : group));
const queues = {
  busy: [
    ...alone.filter((file) => !isWaiting(file) && durations[file] !== undefined),
    ...groups,
    ...alone.filter((file) => durations[file] === undefined),
  ],
  waiting: alone.filter(isWaiting),
};
const worker = async (take) => {
  for (let next = take(); next !== undefined; next = take())
    for (const result of await (Array.isArray(next) ? runTogether(next) : runFile(next))) report(result);
};
const takeAny = () => queues.busy.shift() ?? queues.waiting.shift();
const takeWaiting = () => queues.waiting.shift();
const workers = (count, take) => Array.from({ length: count }, () => worker(take));
// The long ones measure, or drive other people's clients, and want the machine to themselves. Else one more than
// processors: all wait now and then. Those that mostly wait run beside them.
await Promise.all(
  isThorough
    ? workers(1, takeAny)
    : [...workers(availableParallelism() + 1, takeAny), ...workers(availableParallelism(), takeWaiting)],
);
(await shared)?.stop();

if (flags.includes('--record')) {
  const slow = results
    .filter(({ ms }) => ms >= SLOW_MS)
    .map(({ file, ms, processorMs }) => [
      file,
      { ms: Math.round(ms / 1000) * 1000, processorMs: Math.round(processorMs / 100) * 100 },
    ]);
  const others = Object.entries(durations).filter(([file]) => !results.some((result) => result.file === file));
  const all = [...others, ...slow].sort(([, left], [, right]) => right.ms - left.ms);
  const lines = all.map(([file, { ms, processorMs }]) => `  "${file}": { "ms": ${ms}, "processorMs": ${processorMs} }`);
  writeFileSync(DURATIONS_FILE, `{\n${lines.join(',\n')}\n}\n`);
}
if (files.length === 0) console.log(`no test file in ${root} ${only.join(' ')}`);
const sum = (field) => results.reduce((total, result) => total + result[field], 0);
const failed = sum('failed') + (files.length === 0 ? 1 : 0);
const skipped = sum('skipped');
const seconds = (ms) => `${Math.round(ms / 1000)} s`;
console.log(
  `\n${files.length} files took ${seconds(performance.now() - startedAt)}, and ${seconds(countedProcessorMs - firstProcessorMs)} of processor time`,
);
console.log(`${sum('passed')} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
process.exit(failed === 0 ? 0 : 1);
