import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { ALL } from './helm-cases.ts';
import { agentTextIn, containerOf, filled, type Manifest, MISSING, manifests, only, ROOT } from './helm-world.ts';

/** An Ollama that has every model of the gateway's own aliases. It judges nothing. */
const startModels = async () => {
  const models = ['gpt-oss:20b', 'gemma4:31b', 'gpt-oss:120b'].map((name) => ({ name, model: name }));
  const server = createServer((_, response) => response.end(JSON.stringify({ version: '0.9.0', models })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end: () => server.close() };
};

/** Starts a service's bundle as the chart's pod would, but for what only a pod has: its address and its files. */
const startService = async (deployment: Manifest, ofThisMachine: Readonly<Record<string, string>>) => {
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

describe('the bundles under what the chart renders', (check) => {
  check.needing(MISSING, 'start, answer each probe with 200, and end when they are told to', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'gatehouse-start-'));
    const models = await startModels();
    const all = manifests({ ...ALL, backend: { baseUrl: models.url } });
    const file = join(directory, 'agent.json');
    writeFileSync(file, agentTextIn(all));
    const started: Awaited<ReturnType<typeof startService>>[] = [];
    const start = async (name: string, more: Readonly<Record<string, string>>) => {
      const service = await startService(only(all, 'Deployment', name), more);
      started.push(service);
      return service;
    };
    try {
      await start('gateway', {});
      const store = `sqlite:${join(directory, 'agent.db')}`;
      const agent = await start('agent', { AGENT_CONFIG: file, AGENT_DATABASE_URL: store });
      // It is let in by the password that both are given.
      await start('bridge', { AGENT_BASE_URL: agent.address });
      for (const { statusOf } of started) {
        const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'];
        assert.equal(await Promise.all(probes.map((probe) => statusOf(probe))), [200, 200, 200]);
      }
    } finally {
      const codes = await Promise.all(started.map(({ end }) => end()));
      models.end();
      rmSync(directory, { recursive: true });
      assert.equal(codes, [0, 0, 0]);
    }
  });
});
