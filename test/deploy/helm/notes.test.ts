import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parse, stringify } from 'yaml';
import { describe } from '../../check.ts';
import { AGENT, BRIDGE, LEAST } from './cases.ts';
import { CHART, MISSING, manifestsIn, template, type Values } from './world.ts';

/**
 * What helm would print after an install. Only an install prints it, which needs a cluster, so it is rendered as data. `ownValues`
 * makes another text of the chart's values.yaml.
 */
const notesFor = (values: Values, ownValues = (text: string): string => text): string => {
  const chart = mkdtempSync(join(tmpdir(), 'gatehouse-notes-'));
  try {
    cpSync(CHART, chart, { recursive: true });
    const notes = readFileSync(join(CHART, 'templates/NOTES.txt'), 'utf8');
    const asData = `{{- define "notes" -}}\n${notes}{{- end }}\nkind: Notes\ntext: {{ include "notes" . | toJson }}\n`;
    writeFileSync(join(chart, 'templates/notes-as-data.yaml'), asData);
    writeFileSync(join(chart, 'values.yaml'), ownValues(readFileSync(join(CHART, 'values.yaml'), 'utf8')));
    const { status, stdout, stderr } = template(values, [], { chart });
    assert.is(status, 0, stderr);
    return manifestsIn(stdout).find(({ kind }) => kind === 'Notes')?.text;
  } finally {
    rmSync(chart, { recursive: true });
  }
};

const REAL = { ...LEAST, image: { registry: 'registry.corp.test' } };

describe('the notes after an install', (check) => {
  check.needing(MISSING, 'has the rules for clients', () => {
    const notes = notesFor(REAL);
    assert.match(notes, 'base URL   http://demo-gatehouse-gateway.moderation.svc:8000\n');
    assert.match(notes, 'without /v1 at its end');
    assert.match(notes, 'key        a gateway key (MODERATION_API_KEYS). A backend key is refused.');
    assert.match(notes, 'timeout    30000 ms');
  });
  check.needing(MISSING, 'is printed for the values of an earlier chart, which --reuse-values keeps', () => {
    const earlier = (text: string): string => {
      const { tracing: _, networkPolicy, ...rest } = parse(text);
      const { egress: __, ...policy } = networkPolicy;
      return stringify({ ...rest, networkPolicy: { ...policy, enabled: false } });
    };
    assert.match(notesFor(REAL, earlier), 'No network policies, as networkPolicy.enabled is false.');
    assert.match(
      notesFor({ ...REAL, networkPolicy: { enabled: true } }, earlier),
      'gateway: calls only DNS, port 443;',
    );
  });
  check.needing(MISSING, 'says how to reach the gateway without an ingress', () => {
    assert.match(
      notesFor(REAL),
      'kubectl -n moderation port-forward service/demo-gatehouse-gateway 8000:8000\n  curl http://127.0.0.1:8000/ready',
    );
  });
  check.needing(MISSING, 'names the host of the ingress as the base URL', () => {
    const ingress = { enabled: true, hosts: [{ host: 'moderation.corp.test' }] };
    assert.match(notesFor({ ...REAL, ingress }), 'base URL   https://moderation.corp.test\n');
    assert.match(notesFor({ ...REAL, ingress: { ...ingress, tls: [] } }), 'base URL   http://moderation.corp.test\n');
  });
  check.needing(MISSING, 'warns of nothing when all is well', () => assert.not.match(notesFor(REAL), 'WARNING'));
  check.needing(MISSING, 'warns of placeholders', () => {
    assert.match(notesFor(LEAST), 'WARNING: image.registry is a placeholder');
    assert.match(notesFor({ ...REAL, ingress: { enabled: true } }), 'WARNING: ingress.hosts[0].host is a placeholder');
  });
  check.needing(MISSING, 'warns of replicas that share nothing, and only of those', () => {
    const several = { ...REAL, gateway: { replicaCount: 2 } };
    assert.match(notesFor(several), 'WARNING: several replicas without redis.existingSecret');
    assert.match(notesFor({ ...REAL, gateway: { autoscaling: { enabled: true } } }), 'WARNING: several replicas');
    assert.not.match(notesFor({ ...several, redis: { existingSecret: 'redis' } }), 'WARNING');
  });
  check.needing(MISSING, 'warns of keys in the release and in the clear', () => {
    const values = { BACKEND_API_KEYS: 'backend', MODERATION_API_KEYS: 'client' };
    const notes = notesFor({ ...REAL, secrets: { create: true, values } });
    assert.match(notes, 'WARNING: secrets.create');
    assert.not.match(notes, /\bbackend\b,|client\b\n/);
    const ingress = { enabled: true, hosts: [{ host: 'a.test' }], tls: [] };
    assert.match(notesFor({ ...REAL, ingress }), 'WARNING: ingress.tls is empty');
    const bridge = (tls: readonly object[]) =>
      notesFor({ ...REAL, agent: AGENT, bridge: { ...BRIDGE, ingress: { ...ingress, tls } } });
    assert.match(bridge([]), 'WARNING: bridge.ingress.tls is empty: bridge keys travel in the clear.');
    assert.not.match(bridge([{ secretName: 'tls' }]), 'WARNING');
  });
  check.needing(MISSING, 'warns of a collector that is likely asked in another protocol', () => {
    const endpoint = (port: number) => ({ ...REAL, tracing: { endpoint: `http://collector:${port}` } });
    assert.match(notesFor(endpoint(4317)), 'WARNING: tracing.endpoint has port 4317');
    assert.not.match(notesFor(endpoint(4318)), 'WARNING');
  });
  check.needing(MISSING, 'warns of monitors and rules without the label by which a Prometheus finds them', () => {
    const metricsOf = (labels: object) => ({
      ...REAL,
      metrics: { serviceMonitor: { enabled: true, labels }, rules: { enabled: true, labels } },
    });
    const notes = notesFor(metricsOf({}));
    assert.match(notes, 'WARNING: metrics.serviceMonitor.labels is empty.');
    assert.match(notes, 'WARNING: metrics.rules.labels is empty.');
    assert.not.match(notesFor(metricsOf({ release: 'prometheus' })), 'WARNING');
  });
  check.needing(MISSING, 'says for each service what its network policy limits', () => {
    const lines = (values: Values) =>
      notesFor({ ...REAL, ...values })
        .split('\n')
        .filter((line) => /^No net|^Net|^ {2}\w+: /.test(line));
    const agent = AGENT;
    const networkPolicy = { egress: { gateway: [6379] }, clients: { agent: [{ namespaceSelector: {} }] } };
    assert.equal(lines({ agent, networkPolicy }), [
      'Network policies (networkPolicy.enabled: auto):',
      '  gateway: calls only DNS, port 443, port 6379; is called by anyone, as networkPolicy.clients.gateway is empty',
      '  agent: calls anything, as networkPolicy.egress.agent is empty; is called by its clients only',
    ]);
    assert.equal(lines({ agent, bridge: BRIDGE, networkPolicy: { enabled: true } }).slice(1), [
      '  gateway: calls only DNS, port 443; is called by anyone, on its port',
      '  agent: calls only DNS, port 443; is called by its clients only',
      '  bridge: calls only DNS, the agent; is called by anyone, on its port',
    ]);
    assert.equal(lines({ networkPolicy: { enabled: false } }), [
      'No network policies, as networkPolicy.enabled is false.',
    ]);
  });
  check.needing(MISSING, 'reports the agent and the bridge', () => {
    const agent = { enabled: true, existingSecret: 'a' };
    const bridge = { enabled: true, existingSecret: 'b', replicaCount: 2 };
    const notes = notesFor({ ...REAL, agent, bridge });
    assert.match(notes, 'The agent server is demo-gatehouse-agent:4000, for the user opencode.');
    assert.match(notes, 'The bridge: base URL http://demo-gatehouse-bridge.moderation.svc:4100/v1');
    assert.not.match(notes, 'bridges');
    assert.not.match(notes, 'PostgreSQL');
    const shared = notesFor({ ...REAL, agent: { ...agent, replicaCount: 2, database: { existingSecret: 'db' } } });
    assert.match(shared, 'Its sessions are in the PostgreSQL of the Secret db.');
    assert.not.match(shared, 'WARNING');
  });
});
