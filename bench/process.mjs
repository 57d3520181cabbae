import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const START_LIMIT_MS = 30_000;
const POLL_MS = 2;
const OUTPUT_LIMIT_CHARS = 4000;

const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));

/** The server under test has a core of its own; load and backend share the other. */
export const SERVER_CPU = 0;
export const LOAD_CPU = 1;

const canPin = (cpu) => spawnSync('taskset', ['-c', String(cpu), 'true']).status === 0;

/** Whether processes are held on their cores; without `taskset` or a second core they run where the system likes. */
export const isPinned = canPin(SERVER_CPU) && canPin(LOAD_CPU);

/** Holds processes that run already on these cores, such as '2,3', with all that they start from now on. */
export const pin = (pids, cpus) => {
  if (isPinned) for (const pid of pids) spawnSync('taskset', ['-a', '-c', '-p', String(cpus), String(pid)]);
};

/** Node runs it unless another command is named, and it runs where the system likes unless it has a core of its own. */
const launch = ({ command: program = process.execPath, args, env = {}, cpu, directory }, stdout) => {
  const pinning = isPinned && cpu !== undefined ? ['taskset', '-c', String(cpu)] : [];
  const [command, ...rest] = [...pinning, program, ...args];
  // Nothing else of the environment: a proxy or NODE_OPTIONS of the caller must not reach what is measured.
  const child = spawn(command, rest, {
    env: { PATH: process.env.PATH, ...env },
    cwd: directory,
    stdio: ['ignore', stdout, 'pipe'],
  });
  children.add(child);
  const launched = { child, complaint: '', ended: undefined };
  child.stderr.on('data', (chunk) => {
    launched.complaint = (launched.complaint + chunk).slice(-OUTPUT_LIMIT_CHARS);
  });
  launched.ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      children.delete(child);
      resolve(`ended with ${code ?? signal}: ${launched.complaint.trim().split('\n').slice(-3).join(' | ')}`);
    });
  });
  return launched;
};

/** Runs a script of ours to its end and returns the JSON it printed. */
export const runToEnd = async (plan) => {
  const { child, ended } = launch(plan, 'pipe');
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const end = await ended;
  if (child.exitCode !== 0) throw new Error(end);
  return JSON.parse(output);
};

export const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** The status and text of a GET over a socket of its own; status 0 while nobody listens, or answers in time. */
export const ask = (port, path, limitMs = START_LIMIT_MS) =>
  new Promise((resolve) => {
    const signal = AbortSignal.timeout(limitMs);
    const asked = get({ host: '127.0.0.1', port, path, agent: false, signal }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    asked.on('error', () => resolve({ status: 0, text: '' }));
    asked.on('close', () => resolve({ status: 0, text: '' }));
  });

/** Starts a server and waits for its first 200 on `readyPath`; `startMs` is the time that took. */
export const startServer = async ({ readyPath, port, probeLimitMs, ...plan }) => {
  const startedAtMs = performance.now();
  const { child, ended } = launch(plan, 'ignore');
  const stop = () => {
    child.kill('SIGKILL');
    return ended;
  };
  let end;
  ended.then((reason) => {
    end = reason;
  });
  while ((await ask(port, readyPath, probeLimitMs)).status !== 200) {
    if (end !== undefined) throw new Error(end);
    if (performance.now() - startedAtMs > START_LIMIT_MS) {
      await stop();
      throw new Error(`no 200 from ${readyPath} within ${START_LIMIT_MS} ms`);
    }
    await pause(POLL_MS);
  }
  const startMs = performance.now() - startedAtMs;
  return {
    port,
    startMs,
    stop,
    signal: (name) => child.kill(name),
    residentMb: () => sum(withChildren(child.pid).map(residentMb)),
    cpuMs: () => treeCpuMs(child.pid),
    endedWith: () => end,
  };
};

export const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

/** A process and those that it has started; itself alone where that is not told. */
export const withChildren = (pid) => {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return [pid, ...(children === '' ? [] : children.split(' ').map(Number))];
  } catch {
    return [pid];
  }
};

/** Resident memory, in MB of a million bytes. */
export const residentMb = (pid) => {
  try {
    return (Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024) / 1e6;
  } catch {
    return (Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024) / 1e6;
  }
};

/** Linux counts time in hundredths of a second. */
const TICK_MS = 10;

/** The processor time of a process, and of those of its children that have ended, so far; 0 where it is not told. */
const cpuMs = (pid) => {
  try {
    const [, , ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '0 ')
      .split(' ');
    return sum(fields.slice(10, 14).map(Number)) * TICK_MS;
  } catch {
    return 0;
  }
};

/** The processor time that a process and its children have taken so far, which a busy machine changes little. */
export const treeCpuMs = (pid) => sum(withChildren(pid).map(cpuMs));
