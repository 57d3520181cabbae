import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { readAgentConfig } from '../../../src/agent/config/load.ts';
import { readBridgeSettings } from '../../../src/bridge/settings.ts';
import { IMAGE_BODY_BYTES } from '../../../src/gateway/settings/variables.ts';
import { readRelayConfig } from '../../../src/relay-admin/settings.ts';
import { describe } from '../../check.ts';
import { AGENT, ALL, BRIDGE, CASES, CONSOLE, DATABASE, LEAST } from './cases.ts';
import {
  agentTextIn,
  COMPONENT,
  containerOf,
  filled,
  kindsOf,
  type Manifest,
  MISSING,
  manifests,
  namesIn,
  only,
  ROOT,
  refusal,
  type Values,
  variablesOf,
} from './world.ts';

/** Ports for names, of OpenShift's pods too, each for UDP and TCP. */
const NAMES = [53, 53, 5353, 5353];

const policyOf = (values: Values, service: string): Manifest =>
  only(manifests({ ...values, networkPolicy: { enabled: true } }), 'NetworkPolicy', service).spec;

describe('the gateway in the chart', (check) => {
  check.needing(MISSING, 'lets nginx take what it takes itself, and wait a little longer than it waits', () => {
    const annotations = (env: Values) => {
      const all = manifests({ ...LEAST, ingress: { enabled: true }, gateway: { env, drainSeconds: 31 } });
      const { metadata } = only(all, 'Ingress');
      const of = (name: string) => metadata.annotations[`nginx.ingress.kubernetes.io/${name}`];
      return [of('proxy-body-size'), of('proxy-read-timeout'), of('proxy-send-timeout')];
    };
    // The most that it takes by default: whether an alias sees images is not known to the chart.
    assert.equal(annotations({}), [String(IMAGE_BODY_BYTES), '30', '30']);
    assert.equal(annotations({ MAX_BODY_BYTES: 20000000, REQUEST_DEADLINE_MS: '40500' }), ['20000000', '46', '46']);
  });
  check.needing(MISSING, 'shows the world nothing but /v1', () => {
    const { spec } = only(manifests(CASES.ingress ?? {}), 'Ingress');
    assert.equal(
      spec.rules[0].http.paths.map(({ path, pathType }: Manifest) => [path, pathType]),
      [['/v1', 'Prefix']],
    );
  });
  check.needing(MISSING, "prefers the operator's annotations", () => {
    const annotations = { 'nginx.ingress.kubernetes.io/proxy-body-size': '9m' };
    const { metadata } = only(manifests({ ...LEAST, ingress: { enabled: true, annotations } }), 'Ingress');
    assert.is(metadata.annotations['nginx.ingress.kubernetes.io/proxy-body-size'], '9m');
    assert.is(metadata.annotations['cert-manager.io/cluster-issuer'], 'letsencrypt');
  });
  check.needing(
    MISSING,
    'has a disruption budget only when it has replicas, and the least number to begin with under an autoscaler',
    () => {
      assert.not.ok(kindsOf(manifests(LEAST)).includes('PodDisruptionBudget'));
      const budget = only(manifests({ ...LEAST, gateway: { replicaCount: 2 } }), 'PodDisruptionBudget').spec;
      assert.equal([budget.maxUnavailable, budget.unhealthyPodEvictionPolicy], [1, 'AlwaysAllow']);
      const scaled = manifests(CASES.scaled ?? {});
      assert.is(only(scaled, 'Deployment').spec.replicas, 2);
      const target = only(scaled, 'HorizontalPodAutoscaler').spec.scaleTargetRef;
      assert.equal([target.kind, target.name], ['Deployment', only(scaled, 'Deployment').metadata.name]);
    },
  );
});

describe('the agent in the chart', (check) => {
  check.needing(MISSING, 'is one, never two at once, and its store outlives the release', () => {
    const all = manifests(ALL);
    const { spec } = only(all, 'Deployment', 'agent');
    assert.equal([spec.replicas, spec.strategy], [1, { type: 'Recreate' }]);
    const claim = only(all, 'PersistentVolumeClaim');
    assert.is(claim.metadata.annotations['helm.sh/resource-policy'], 'keep');
    const [, data] = spec.template.spec.volumes;
    assert.is(data.persistentVolumeClaim.claimName, claim.metadata.name);
    assert.is(spec.template.spec.securityContext.fsGroup, 65532);
  });

  check.needing(MISSING, 'is as many as are asked for on a PostgreSQL, without a disk, one at a time away', () => {
    const all = manifests(CASES['agents-on-postgresql'] ?? {});
    const { spec } = only(all, 'Deployment', 'agent');
    assert.is(spec.replicas, 3);
    assert.equal(spec.strategy, { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
    assert.not.ok(kindsOf(all).includes('PersistentVolumeClaim'));
    assert.equal(
      spec.template.spec.volumes.map(({ name }: Manifest) => name),
      ['config'],
    );
    assert.is(variablesOf(only(all, 'Deployment', 'agent')).AGENT_DATABASE_URL, 'agent-database/uri');
    const budget = only(all, 'PodDisruptionBudget').spec;
    assert.equal([budget.maxUnavailable, budget.unhealthyPodEvictionPolicy], [1, 'AlwaysAllow']);
    const [spread] = spec.template.spec.topologySpreadConstraints;
    assert.equal(spread.labelSelector.matchLabels, spec.selector.matchLabels);
    assert.is(spread.whenUnsatisfiable, 'ScheduleAnyway');
    assert.is(containerOf(only(all, 'Deployment', 'agent')).lifecycle.preStop.sleep.seconds, 60);
  });

  check.needing(MISSING, 'has no disruption budget for one, nor when none is wanted', () => {
    const kinds = (agent: Values) =>
      kindsOf(manifests({ ...LEAST, agent: { ...AGENT, database: DATABASE, ...agent } }));
    assert.not.ok(kinds({}).includes('PodDisruptionBudget'));
    assert.ok(kinds({ replicaCount: 2 }).includes('PodDisruptionBudget'));
    const unwanted = { replicaCount: 2, podDisruptionBudget: { enabled: false } };
    assert.not.ok(kinds(unwanted).includes('PodDisruptionBudget'));
  });

  check.needing(
    MISSING,
    'is one with its journal on a volume where it looks after a relay, on a PostgreSQL as well',
    () => {
      const all = manifests(CASES['relay-on-postgresql'] ?? {});
      const { spec } = only(all, 'Deployment', 'agent');
      assert.equal([spec.replicas, spec.strategy], [1, { type: 'Recreate' }]);
      const [, data] = spec.template.spec.volumes;
      assert.is(data.persistentVolumeClaim.claimName, only(all, 'PersistentVolumeClaim').metadata.name);
      assert.match(agentTextIn(all), '"RELAY_JOURNAL": "/data/relay-journal.jsonl"');
      assert.is(variablesOf(only(all, 'Deployment', 'agent')).AGENT_DATABASE_URL, 'agent-database/AGENT_DATABASE_URL');
    },
  );

  check.needing(MISSING, 'may reach names alone where no ports are left, and not everything', () => {
    const values = (egressPorts: readonly number[] | null) => ({
      ...ALL,
      networkPolicy: { enabled: true, egressPorts },
    });
    for (const ports of [[], null]) {
      const { egress } = only(manifests(values(ports)), 'NetworkPolicy', 'agent').spec;
      // The second is for the pods that tell names.
      assert.is(egress.length, 2);
      assert.equal(
        egress[0].ports.map(({ port }: Manifest) => port),
        NAMES,
      );
    }
  });

  check.needing(MISSING, 'takes the configuration that the chart brings, with and without a relay', () => {
    for (const values of [ALL, CASES['agent-with-relay'] ?? {}]) {
      const all = manifests(values);
      const variables = filled(only(all, 'Deployment', 'agent'));
      const { mountPath } = containerOf(only(all, 'Deployment', 'agent')).volumeMounts[0];
      assert.is(variables.AGENT_CONFIG, `${mountPath}/agent.json`);
      const text = agentTextIn(all);
      for (const name of namesIn(text)) assert.ok(variables[name] !== undefined, `${name} is not given`);
      const config = readAgentConfig(variables, (path) => (path === variables.AGENT_CONFIG ? text : undefined));
      assert.equal(config.warnings, []);
    }
  });

  check.needing(MISSING, 'looks after a relay as the example does, with its journal beside the sessions', () => {
    const all = manifests(CASES['agent-with-relay'] ?? {});
    assert.is(all.filter(({ kind }) => kind === 'PersistentVolumeClaim').length, 0, 'it has a claim already');
    assert.match(JSON.stringify(only(all, 'Deployment', 'agent')), '"claimName":"old-sessions"');
    const example = JSON.parse(readFileSync(join(ROOT, 'agent.example.json'), 'utf8'));
    const { environment, ...server } = example.mcp['relay-admin'];
    const ours = {
      ...example,
      mcp: {
        'relay-admin': {
          ...server,
          environment: { ...environment, RELAY_JOURNAL: '/data/relay-journal.jsonl' },
        },
      },
    };
    assert.equal(JSON.parse(agentTextIn(all)), ours);
    const variables = filled(only(all, 'Deployment', 'agent'));
    const given = Object.entries(ours.mcp['relay-admin'].environment).map(([name, text]) => [
      name,
      String(text).replace(/\{env:(\w+)\}/g, (_, word) => variables[word] ?? ''),
    ]);
    assert.equal(readRelayConfig(Object.fromEntries(given)).journalFile, '/data/relay-journal.jsonl');
    const image = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
      .split(/^FROM /m)
      .find((it) => / AS agent$/m.test(it));
    // Its command, gatehouse, is looked for beside the agent server's bundle.
    assert.match(image ?? '', /\/gatehouse\.js\b.*\/relay-admin\.js\b.* \/app\/$/m);
  });

  check.needing(MISSING, 'keeps the order of permission rules in a configuration of your own', () => {
    const config = '{\n  // last match wins\n  "permission": { "z*": "allow", "*": "deny" }\n}';
    assert.is(agentTextIn(manifests({ ...LEAST, agent: { ...AGENT, config } })), `${config}\n`);
  });

  check.needing(MISSING, 'takes other variables from its Secret, and not what was taken out', () => {
    const secretKeys = { MODEL_API_KEY: null, OTHER_KEY: 'other' };
    const variables = variablesOf(only(manifests({ ...ALL, agent: { ...AGENT, secretKeys } }), 'Deployment', 'agent'));
    assert.is(variables.OTHER_KEY, 'agent-secrets/other');
    assert.is(variables.MODEL_API_KEY, undefined);
  });

  check.needing(MISSING, 'lets in the bridge alone, and no one without it, where policies are on', () => {
    assert.equal(policyOf({ ...LEAST, agent: AGENT }, 'agent').ingress, []);
    const [rule, ...more] = policyOf(ALL, 'agent').ingress;
    assert.equal(more, []);
    assert.equal(rule.ports, [{ port: 4000, protocol: 'TCP' }]);
    const labels = only(manifests(ALL), 'Deployment', 'bridge').spec.selector.matchLabels;
    assert.equal(rule.from, [{ podSelector: { matchLabels: labels } }]);
  });
});

describe('the bridge in the chart', (check) => {
  check.needing(MISSING, "finds the chart's own agent, with its name and password", () => {
    const all = manifests({ ...ALL, agent: { ...AGENT, username: 'operator', service: { port: 4444 } } });
    const variables = variablesOf(only(all, 'Deployment', 'bridge'));
    const { metadata, spec } = only(all, 'Service', 'agent');
    assert.is(variables.AGENT_BASE_URL, `http://${metadata.name}:${spec.ports[0].port}`);
    const several = manifests(CASES['agents-on-postgresql'] ?? {});
    // One address: the Service spreads over its pods.
    assert.is(variablesOf(only(several, 'Deployment', 'bridge')).AGENT_BASE_URL, `http://${metadata.name}:4000`);
    assert.is(variables.AGENT_SERVER_USERNAME, 'operator');
    assert.is(variables.AGENT_SERVER_USERNAME, variablesOf(only(all, 'Deployment', 'agent')).AGENT_SERVER_USERNAME);
    assert.is(variables.AGENT_SERVER_PASSWORD, 'agent-secrets/AGENT_SERVER_PASSWORD');
    assert.is(variables.BRIDGE_API_KEYS, 'bridge-secrets/BRIDGE_API_KEYS');
  });
  check.needing(MISSING, 'finds an agent elsewhere, with a password from its own Secret or with none', () => {
    const agent = { baseUrl: 'http://opencode:4096' };
    const variables = (secretKeys: object) =>
      variablesOf(only(manifests({ ...ALL, bridge: { ...BRIDGE, agent, secretKeys } }), 'Deployment', 'bridge'));
    assert.is(variables({}).AGENT_BASE_URL, 'http://opencode:4096');
    assert.is(variables({}).AGENT_SERVER_PASSWORD, 'bridge-secrets/AGENT_SERVER_PASSWORD');
    assert.is(variables({ AGENT_SERVER_PASSWORD: null }).AGENT_SERVER_PASSWORD, undefined);
  });
  check.needing(MISSING, 'is one or several, to which no client has to stick', () => {
    const ingress = { enabled: true };
    for (const replicaCount of [1, 2]) {
      const all = manifests({ ...ALL, bridge: { ...BRIDGE, ingress, replicaCount } });
      assert.is(only(all, 'Service', 'bridge').spec.sessionAffinity, undefined);
      const { annotations } = only(all, 'Ingress', 'bridge').metadata;
      assert.is(annotations['nginx.ingress.kubernetes.io/upstream-hash-by'], undefined);
    }
  });
  check.needing(MISSING, 'streams through its ingress', () => {
    const all = manifests({ ...ALL, bridge: { ...BRIDGE, ingress: { enabled: true } } });
    const { annotations } = only(all, 'Ingress', 'bridge').metadata;
    assert.is(annotations['nginx.ingress.kubernetes.io/proxy-buffering'], 'off');
    assert.is(annotations['nginx.ingress.kubernetes.io/proxy-read-timeout'], '3600');
    const { bodyLimitBytes } = readBridgeSettings({ BRIDGE_API_KEYS: 'key' }, () => undefined);
    assert.is(annotations['nginx.ingress.kubernetes.io/proxy-body-size'], String(bodyLimitBytes));
  });
  check.needing(MISSING, 'may reach the agent and names, and nothing else', () => {
    const [, , rule, ...more] = policyOf(ALL, 'bridge').egress;
    assert.equal([rule.ports, more], [[{ port: 4000, protocol: 'TCP' }], []]);
    assert.is(rule.to[0].podSelector.matchLabels[COMPONENT], 'agent');
  });
});

describe('the console in the chart', (check) => {
  check.needing(MISSING, 'finds the services of the chart with their own keys, and is let in by the agent', () => {
    const all = manifests({
      ...ALL,
      admin: { existingSecret: 'operators' },
      console: CONSOLE,
      networkPolicy: { enabled: true },
    });
    const variables = variablesOf(only(all, 'Deployment', 'console'));
    const nameOf = (service: string) => only(all, 'Service', service).metadata.name;
    assert.equal(
      [variables.CONSOLE_GATEWAY_URL, variables.CONSOLE_AGENT_URLS, variables.CONSOLE_BRIDGE_URL],
      [`http://${nameOf('gateway')}:8000`, `http://${nameOf('agent')}:4000`, `http://${nameOf('bridge')}:4100`],
    );
    assert.equal(
      [variables.GATEWAY_ADMIN_KEY, variables.AGENT_SERVER_PASSWORD, variables.CONSOLE_USERS],
      ['operators/GATEWAY_ADMIN_KEY', 'agent-secrets/AGENT_SERVER_PASSWORD', 'console-secrets/CONSOLE_USERS'],
    );
    assert.match(
      JSON.stringify(only(all, 'NetworkPolicy', 'agent').spec.ingress),
      '"app.kubernetes.io/component":"console"',
    );
    // Where everyone is let in, no rule may make it fewer.
    assert.is(only(all, 'NetworkPolicy', 'gateway').spec.ingress[0].from, undefined);
    assert.is(only(all, 'NetworkPolicy', 'console').spec.egress.length, 6);
  });

  check.needing(MISSING, 'alone takes its addresses and keys from its own values', () => {
    const console = {
      ...CONSOLE,
      secretKeys: { AGENT_SERVER_PASSWORD: 'agent', GATEWAY_ADMIN_KEY: 'gateway' },
      gatewayUrl: 'http://gateway.llm.svc:8000',
      agentUrls: 'http://agent-1.llm.svc:4000,http://agent-2.llm.svc:4000',
    };
    const all = manifests({ gateway: { enabled: false }, console });
    const variables = variablesOf(only(all, 'Deployment'));
    assert.equal(
      [variables.CONSOLE_AGENT_URLS, variables.AGENT_SERVER_PASSWORD, variables.GATEWAY_ADMIN_KEY],
      [console.agentUrls, 'console-secrets/agent', 'console-secrets/gateway'],
    );
    assert.is(variables.CONSOLE_BRIDGE_URL, undefined);
  });

  check.needing(MISSING, 'is refused without a Secret', () => {
    const refused = refusal({ ...LEAST, console: { enabled: true } });
    assert.match(refused, 'console.existingSecret: expected the name of a Secret with CONSOLE_SECRET, CONSOLE_USERS');
  });
});

describe('a ServiceMonitor', (check) => {
  check.needing(
    MISSING,
    'is there for each service under the labels asked for, and has the password of the agent',
    () => {
      const monitors = manifests(CASES.monitored ?? {}).filter(({ kind }) => kind === 'ServiceMonitor');
      const secret = (key: string) => ({ name: 'agent-secrets', key });
      const basicAuth = { username: secret('username'), password: secret('AGENT_SERVER_PASSWORD') };
      assert.equal(
        monitors.map(({ metadata, spec }) => [
          metadata.labels.release,
          spec.selector.matchLabels['app.kubernetes.io/component'],
          spec.endpoints,
        ]),
        ['gateway', 'agent', 'bridge'].map((component) => [
          'prometheus',
          component,
          [{ port: 'http', path: '/metrics', interval: '30s', ...(component === 'agent' ? { basicAuth } : {}) }],
        ]),
      );
    },
  );
});
