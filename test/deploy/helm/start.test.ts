import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { startPostgres } from '../../agent/adapter/postgres/world.ts';
import { describe } from '../../check.ts';
import { namesInMonitoring } from '../monitoring/metric-names.ts';
import { AGENT, ALL, DATABASE } from './cases.ts';
import { startService } from './service.ts';
import { agentTextIn, filled, MISSING, manifests, only } from './world.ts';

/** What a console with a journal tells, and what a gateway with Redis does. */
const NOT_HERE = ['gatehouse_recharges_in_doubt', 'gatehouse_shared_state_up'];

/** An Ollama that has every model of the gateway's own aliases. It judges nothing. */
const startModels = async () => {
  const models = ['gpt-oss:20b', 'gemma4:31b', 'gpt-oss:120b'].map((name) => ({ name, model: name }));
  const server = createServer((_, response) => response.end(JSON.stringify({ version: '0.9.0', models })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end: () => server.close() };
};

describe('the bundles under what the chart renders', (check) => {
  check.needing(
    MISSING,
    'start, answer each probe, tell what alerts and dashboards name, and end when asked to',
    async () => {
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
        const { AGENT_SERVER_USERNAME, AGENT_SERVER_PASSWORD } = filled(only(all, 'Deployment', 'agent'));
        const credentials = Buffer.from(`${AGENT_SERVER_USERNAME}:${AGENT_SERVER_PASSWORD}`).toString('base64');
        const headers = { authorization: `Basic ${credentials}` };
        const texts = await Promise.all(
          started.map(async ({ address }) => (await fetch(new URL('/metrics', address), { headers })).text()),
        );
        const told = new Set(texts.flatMap((text) => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)));
        assert.equal(
          namesInMonitoring().filter((name) => !told.has(name)),
          NOT_HERE,
        );
      } finally {
        const codes = await Promise.all(started.map(({ end }) => end()));
        models.end();
        rmSync(directory, { recursive: true });
        assert.equal(codes, [0, 0, 0]);
      }
    },
  );
  check.needing(MISSING, 'stay in the Service without what is behind them, and say so to who asks', async () => {
    const nowhere = 'http://127.0.0.1:9';
    const all = manifests({ ...ALL, backend: { baseUrl: nowhere } });
    const started: Awaited<ReturnType<typeof startService>>[] = [];
    try {
      for (const name of ['gateway', 'bridge'])
        started.push(await startService(only(all, 'Deployment', name), { AGENT_BASE_URL: nowhere }));
      for (const { address, statusOf } of started) {
        assert.is(await statusOf('readinessProbe', 0), 200);
        assert.is((await fetch(new URL('/ready', address))).status, 503);
      }
    } finally {
      assert.equal(await Promise.all(started.map(({ end }) => end())), [0, 0]);
    }
  });
  check.needing(MISSING, 'start several agents on one PostgreSQL, which know the same sessions', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'gatehouse-start-'));
    const database = await startPostgres();
    const started: Awaited<ReturnType<typeof startService>>[] = [];
    try {
      const agent = { ...AGENT, replicaCount: 2, database: DATABASE };
      const all = manifests({ ...ALL, agent });
      const file = join(directory, 'agent.json');
      writeFileSync(file, agentTextIn(all));
      const deployment = only(all, 'Deployment', 'agent');
      for (let count = 0; count < deployment.spec.replicas; count += 1) {
        started.push(await startService(deployment, { AGENT_CONFIG: file, AGENT_DATABASE_URL: database.url }));
      }
      for (const { statusOf } of started) assert.is(await statusOf('readinessProbe'), 200);
      const { AGENT_SERVER_USERNAME, AGENT_SERVER_PASSWORD } = filled(deployment);
      const credentials = Buffer.from(`${AGENT_SERVER_USERNAME}:${AGENT_SERVER_PASSWORD}`).toString('base64');
      const headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/json' };
      const [one, other] = started.map(({ address }) => new URL('/session', address));
      const made = await fetch(one ?? '', { method: 'POST', headers, body: '{}' });
      const { id } = (await made.json()) as { id: string };
      const known = (await (await fetch(other ?? '', { headers })).json()) as { id: string }[];
      assert.equal(
        known.map((session) => session.id),
        [id],
      );
    } finally {
      const codes = await Promise.all(started.map(({ end }) => end()));
      await database.stop();
      rmSync(directory, { recursive: true });
      assert.equal(codes, [0, 0]);
    }
  });
});
