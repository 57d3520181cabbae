import { fork } from 'node:child_process';
import { join } from 'node:path';
import { containerOf, filled, type Manifest, ROOT } from './world.ts';

/** Starts a service's bundle as the chart's pod would, but for what only a pod has: its address and its files. */
export const startService = async (deployment: Manifest, ofThisMachine: Readonly<Record<string, string>>) => {
  const { name, lifecycle: _, ...container } = containerOf(deployment);
  const env = { ...filled(deployment), HOST: '127.0.0.1', PORT: '0', ...ofThisMachine };
  const child = fork(join(ROOT, `dist/${name}.js`), { env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve));
  const address = await new Promise<string>((resolve, reject) => {
    child.once('message', (message: { address: string }) => resolve(message.address));
    void exited.then((code) => reject(new Error(`${name} ended with ${code}`)));
  });
  /** Asks as the kubelet does: a few times. */
  const statusOf = async (probe: string, tries = 20): Promise<number> => {
    const { status } = await fetch(new URL(container[probe].httpGet.path, address));
    if (status === 200 || tries === 0) return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return statusOf(probe, tries - 1);
  };
  const end = (): Promise<number | null> => {
    child.kill('SIGTERM');
    return exited;
  };
  return { address, statusOf, end };
};
