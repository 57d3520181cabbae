import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { startPostgres } from '../../agent/adapter/postgres/world.ts';
import { describe } from '../../check.ts';
import { run } from '../../runtime/processes.ts';
import { AGENT, CASES, DATABASE, LEAST } from './cases.ts';
import { CHART, HELM, type Manifest, MISSING, manifests, manifestsIn, OLDEST, type Values } from './world.ts';

const KINDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  v1: {
    configmaps: 'ConfigMap',
    persistentvolumeclaims: 'PersistentVolumeClaim',
    serviceaccounts: 'ServiceAccount',
    services: 'Service',
  },
  'apps/v1': { deployments: 'Deployment' },
  'autoscaling/v2': { horizontalpodautoscalers: 'HorizontalPodAutoscaler' },
  'policy/v1': { poddisruptionbudgets: 'PodDisruptionBudget' },
};
const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update'];
const resources = (groupVersion: string) => ({
  kind: 'APIResourceList',
  groupVersion,
  resources: Object.entries(KINDS[groupVersion] ?? {}).map(([name, kind]) => ({
    name,
    kind,
    singularName: '',
    namespaced: true,
    verbs: VERBS,
  })),
});
const groups = Object.keys(KINDS)
  .filter((one) => one.includes('/'))
  .map((groupVersion) => {
    const [name = '', version] = groupVersion.split('/');
    return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } };
  });
const DISCOVERY: Readonly<Record<string, object>> = {
  '/version': { major: '1', minor: '34', gitVersion: 'v1.34.0' },
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups },
  '/api/v1': resources('v1'),
  ...Object.fromEntries(
    groups.map(({ versions: [one] }) => [`/apis/${one?.groupVersion}`, resources(one?.groupVersion ?? '')]),
  ),
};

/** A merge patch. Lists are replaced, where Kubernetes would merge those with names. */
const merged = (target: Manifest, patch: Manifest): Manifest => {
  const all: Record<string, unknown> = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete all[name];
    else all[name] = typeof value === 'object' && !Array.isArray(value) ? merged(Object(all[name]), value) : value;
  }
  return all;
};

/**
 * As much of Kubernetes' API as helm asks for; `live` has its objects by their paths. Helm keeps its revisions in a PostgreSQL, as it
 * would send Secrets in a binary form.
 */
const startApi = async () => {
  const database = await startPostgres();
  const live = new Map<string, Manifest>();
  const answer = async (request: IncomingMessage): Promise<readonly [number, object]> => {
    const { pathname: path } = new URL(request.url ?? '/', 'http://api');
    const body = request.method === 'GET' || request.method === 'DELETE' ? {} : JSON.parse(await text(request));
    const known = live.get(path);
    const found = DISCOVERY[path] ?? known;
    const missing = [404, { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, message: path }] as const;
    if (request.method === 'POST') {
      const place = `${path}/${body.metadata.name}`;
      if (live.has(place)) return [409, { ...missing[1], reason: 'AlreadyExists', code: 409 }];
      live.set(place, body);
      return [201, body];
    }
    if (found === undefined) return missing;
    if (request.method === 'DELETE') live.delete(path);
    if (request.method === 'PUT') live.set(path, body);
    if (request.method === 'PATCH') live.set(path, merged(found, body));
    return [200, live.get(path) ?? found];
  };
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-cluster-'));
  const named = (name: string, key: string, value: object) => ({ [`${key}s`]: [{ name, [key]: value }] });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = {
    ...named('c', 'cluster', { server: address }),
    ...named('c', 'context', { cluster: 'c', user: '' }),
  };
  const variables = {
    KUBECONFIG: join(directory, 'config'),
    HOME: directory,
    HELM_DRIVER: 'sql',
    HELM_DRIVER_SQL_CONNECTION_STRING: `${database.url}?sslmode=disable`,
  };
  writeFileSync(variables.KUBECONFIG, JSON.stringify({ ...config, 'current-context': 'c' }));
  return {
    live,
    async helm(words: readonly string[], values?: Values): Promise<string> {
      const file = join(directory, 'values.json');
      writeFileSync(file, JSON.stringify(values ?? {}));
      const given = values === undefined ? words : [...words, CHART, '-f', file];
      const { code, stdout, stderr } = await run(HELM ?? 'helm', [...given, '--namespace', 'mod'], { variables });
      assert.is(code, 0, `helm ${words.join(' ')}: ${stderr}`);
      return stdout;
    },
    async stop() {
      await database.stop();
      server.closeAllConnections();
      server.close();
      rmSync(directory, { recursive: true });
    },
  };
};

const OFF = { networkPolicy: { enabled: false } };
const ON_DISK: Values = { ...OFF, gateway: { enabled: false }, agent: AGENT };
const ON_POSTGRESQL: Values = { ...ON_DISK, agent: { ...AGENT, database: DATABASE } };
const CLAIM = '/api/v1/namespaces/mod/persistentvolumeclaims/demo-gatehouse-agent';
const GATEWAY = '/apis/apps/v1/namespaces/mod/deployments/demo-gatehouse-gateway';
const UPGRADE = ['upgrade', '--install', '--disable-openapi-validation', 'demo'];
const sized = (storage: string) => ({ spec: { resources: { requests: { storage } } } });

describe('the chart in a cluster', (check) => {
  check.needing(MISSING, "goes back to a revision with the agent's claim, which Helm has kept", async () => {
    const { helm, live, stop } = await startApi();
    try {
      await helm(UPGRADE, ON_DISK);
      await helm(UPGRADE, ON_POSTGRESQL);
      await helm(UPGRADE, { ...OFF, ...LEAST });
      for (const revision of ['1', '2', '1', '3']) await helm(['rollback', 'demo', revision]);
      await helm(UPGRADE, ON_DISK);
      assert.ok(live.has(CLAIM));
    } finally {
      await stop();
    }
  });

  check.needing(
    MISSING,
    'keeps the size of a claim whose volume was expanded, and takes none of another release',
    async () => {
      const { helm, live, stop } = await startApi();
      const claimsOf = async (values: Values): Promise<readonly string[]> =>
        manifestsIn(await helm(['template', 'demo', '--dry-run=server', '--kube-version', OLDEST], values))
          .filter(({ kind }) => kind === 'PersistentVolumeClaim')
          .map(({ spec }) => spec.resources.requests.storage);
      const wanting = (size: string): Values => ({ ...ON_DISK, agent: { ...AGENT, persistence: { size } } });
      try {
        await helm(UPGRADE, wanting('900Mi'));
        live.set(CLAIM, merged(live.get(CLAIM) ?? {}, sized('10Gi')));
        for (const [values, size] of [
          [ON_DISK, '10Gi'],
          [ON_POSTGRESQL, '10Gi'],
          [{ ...OFF, ...LEAST }, '10Gi'],
          [wanting('10737418240'), '10737418240'],
          [wanting('10G'), '10Gi'],
          [wanting('1.5Ti'), '1.5Ti'],
        ] as const)
          assert.equal(await claimsOf(values), [size]);
        live.set(
          CLAIM,
          merged(live.get(CLAIM) ?? {}, { metadata: { annotations: { 'meta.helm.sh/release-name': 'old' } } }),
        );
        assert.equal(await claimsOf(ON_POSTGRESQL), []);
      } finally {
        await stop();
      }
    },
  );

  check.needing(
    MISSING,
    'leaves as many gateways as there are when autoscaling is switched on, or the least',
    async () => {
      const { helm, live, stop } = await startApi();
      const scaling = { ...OFF, ...LEAST, gateway: { autoscaling: { enabled: true, minReplicas: 3 } } };
      const count = (): unknown => live.get(GATEWAY)?.spec.replicas;
      try {
        for (const [replicaCount, expected] of [
          [6, 6],
          [1, 3],
        ]) {
          await helm(UPGRADE, { ...OFF, ...LEAST, gateway: { replicaCount } });
          assert.is(count(), replicaCount);
          await helm(UPGRADE, scaling);
          assert.is(count(), expected);
        }
      } finally {
        await stop();
      }
    },
  );

  check.needing(MISSING, 'gives a variable one form in all revisions: Helm can leave the other in place', () => {
    const forms = new Map<string, string>();
    for (const values of Object.values(CASES))
      for (const { kind, metadata, spec } of manifests(values)) {
        if (kind !== 'Deployment') continue;
        for (const { name, value } of spec.template.spec.containers[0].env) {
          const variable = `${metadata.labels['app.kubernetes.io/component']} ${name}`;
          const form = value === undefined ? 'valueFrom' : 'value';
          assert.is(forms.get(variable) ?? form, form, variable);
          forms.set(variable, form);
        }
      }
    assert.is(forms.get('agent AGENT_DATABASE_URL'), 'value');
  });
});
