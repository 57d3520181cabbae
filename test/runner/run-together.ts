// Runs the named test files in this process, one after the other. The next one begins when the event loop is empty,
// which is when a process of its own would end: what a file leaves behind is still its own, and so is a late failure.
import { resolve } from 'node:path';

// uvu looks at it when it is imported, and then waits to be told to run.
Object.assign(globalThis, { UVU_DEFER: 1, UVU_QUEUE: [] });
const { counts, runGroups } = await import('../check.ts');

type Running = { readonly file: string; readonly before: typeof counts; readonly startedAt: number; isOver: boolean };

const files = process.argv.slice(2);
let usage = process.cpuUsage();

const report = ({ file, before, startedAt }: Running): void => {
  const { user, system } = process.cpuUsage(usage);
  usage = process.cpuUsage();
  const line = {
    file,
    total: counts.total - before.total,
    passed: counts.passed - before.passed,
    skipped: counts.skipped - before.skipped,
    exitCode: process.exitCode ?? 0,
    ms: Math.round(performance.now() - startedAt),
    processorMs: Math.round((user + system) / 1000),
  };
  process.exitCode = 0;
  process.stdout.write(`\n#file ${JSON.stringify(line)}\n`);
};

const begin = async (running: Running): Promise<void> => {
  Object.assign(globalThis, { UVU_QUEUE: [[null]] });
  await import(resolve(running.file));
  await runGroups();
  running.isOver = true;
  // 'beforeExit' comes again only after the loop has had something to do.
  setImmediate(() => {});
};

let running: Running | undefined;
process.on('beforeExit', () => {
  // Something in it never ends and keeps nothing open: the runner misses its report.
  if (running?.isOver === false) process.exit(1);
  if (running !== undefined) report(running);
  const file = files.shift();
  running =
    file === undefined ? undefined : { file, before: { ...counts }, startedAt: performance.now(), isOver: false };
  if (running !== undefined) void begin(running);
});
