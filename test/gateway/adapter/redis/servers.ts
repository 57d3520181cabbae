import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const missing = spawnSync('redis-server', ['--version']).error === undefined ? undefined : 'redis-server';

/** Waits up to 15 s. */
export const until = async (isSo: () => boolean | Promise<boolean>, what: string): Promise<void> => {
  for (const endsAt = Date.now() + 15_000; !(await isSo()); ) {
    if (Date.now() > endsAt) throw new Error(`Waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Redis with this command line, once it listens on the port; it ends with this process. */
export const startServer = async (port: number, words: readonly string[]) => {
  const child = spawn('redis-server', words, { stdio: 'ignore' });
  child.unref();
  running.add(child);
  await until(() => isListening(port), 'Redis to start');
  return {
    url: `redis://127.0.0.1:${port}`,
    signal: (name: NodeJS.Signals) => child.kill(name),
    kill: () =>
      new Promise<void>((resolve) => {
        child.ref();
        child.once('exit', () => resolve());
        child.kill('SIGKILL');
      }),
  };
};

/** A Redis without a disk, with more words of its command line. What a primary sends a replica is written to a file, if not kept. */
export const startRedis = (port: number, ...more: string[]) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory];
  return startServer(port, [...place, '--save', '', '--appendonly', 'no', ...more]);
};
