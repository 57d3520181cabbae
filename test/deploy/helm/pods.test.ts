import * as assert from 'uvu/assert';
import { TracingVariables } from '../../../src/adapter/opentelemetry/settings.ts';
import { AgentVariables, readAgentSettings, unknownAgentVariables } from '../../../src/agent/settings.ts';
import {
  BridgeVariables,
  readBridgeSettings,
  unknownBridgeVariables as unknownBridgeVariablesIn,
} from '../../../src/bridge/settings.ts';
import { ConsoleVariables, readConsoleSettings, unknownConsoleVariables } from '../../../src/console/settings.ts';
import { parsePolicyFile } from '../../../src/gateway/policy/policy-file.ts';
import { readGatewayConfig } from '../../../src/gateway/settings/config.ts';
import {
  GatewayVariables,
  unknownGatewayVariables as unknownGatewayVariablesIn,
} from '../../../src/gateway/settings/variables.ts';
import { describe } from '../../check.ts';
import { parsePolicy } from '../../gateway/harness/policies.ts';
import { AGENT, ALL, CASES, LEAST } from './cases.ts';
import {
  agentTextIn,
  COMPONENT,
  containerOf,
  filled,
  type Manifest,
  MISSING,
  manifests,
  namesIn,
  only,
  type Values,
  VERSION,
  variablesOf,
} from './world.ts';

const PORTS: Readonly<Record<string, number>> = { gateway: 8000, agent: 4000, bridge: 4100, console: 4200 };
const TRACING = Object.keys(TracingVariables.entries);
const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];

const deploymentsIn = (all: readonly Manifest[]): readonly Manifest[] =>
  all.filter(({ kind }) => kind === 'Deployment');

const eachCase = (look: (all: readonly Manifest[], name: string) => void): void => {
  for (const [name, values] of Object.entries(CASES)) look(manifests(values), name);
};

describe('every pod', (check) => {
  check.needing(MISSING, 'is found by its Deployment, its Service and its policies, and by no other', () => {
    eachCase((all, name) => {
      for (const { spec, metadata } of deploymentsIn(all)) {
        const service = metadata.labels[COMPONENT];
        const labels = spec.template.metadata.labels;
        const selectors = [
          spec.selector.matchLabels,
          only(all, 'Service', service).spec.selector,
          ...all.filter((it) => it.kind === 'NetworkPolicy').map((it) => it.spec.podSelector.matchLabels),
          ...all.filter((it) => it.kind === 'PodDisruptionBudget').map((it) => it.spec.selector.matchLabels),
        ].filter((selector) => selector[COMPONENT] === service);
        assert.ok(selectors.length >= 2, name);
        for (const selector of selectors) {
          assert.is(Object.keys(selector).length, 3);
          for (const [label, text] of Object.entries(selector)) assert.is(labels[label], text, `${name}: ${label}`);
        }
      }
    });
  });

  check.needing(
    MISSING,
    'listens on its port, is asked there whether it lives and is ready, and is reached there',
    () => {
      eachCase((all) => {
        for (const deployment of deploymentsIn(all)) {
          const service = deployment.metadata.labels[COMPONENT];
          const { ports, startupProbe, livenessProbe, readinessProbe } = containerOf(deployment);
          assert.equal(ports, [{ name: 'http', containerPort: PORTS[service], protocol: 'TCP' }]);
          const probes = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
          assert.equal(probes, [
            { path: '/health', port: 'http' },
            { path: '/health', port: 'http' },
            // A gateway or a bridge without its backend still has errors that clients can read.
            { path: service === 'agent' ? '/ready' : '/health', port: 'http' },
          ]);
          // As long as a burst of large texts may hold the thread.
          assert.ok(livenessProbe.timeoutSeconds >= 10 && livenessProbe.failureThreshold >= 6);
          assert.equal(only(all, 'Service', service).spec.ports[0].targetPort, 'http');
        }
        for (const { spec, metadata } of all.filter(({ kind }) => kind === 'Ingress')) {
          const { name, port } = spec.rules[0].http.paths[0].backend.service;
          const target = only(all, 'Service', metadata.labels[COMPONENT]);
          assert.equal([name, port.number], [target.metadata.name, target.spec.ports[0].port]);
        }
      });
    },
  );

  check.needing(MISSING, 'may do as little as possible', () => {
    eachCase((all, name) => {
      for (const deployment of deploymentsIn(all)) {
        const pod = deployment.spec.template.spec;
        assert.is(pod.automountServiceAccountToken, false);
        assert.is(pod.enableServiceLinks, false);
        const { runAsNonRoot, runAsUser, runAsGroup, seccompProfile } = pod.securityContext;
        assert.equal([runAsNonRoot, runAsUser, runAsGroup], [true, 65532, 65532]);
        assert.equal(seccompProfile, { type: 'RuntimeDefault' });
        const container = containerOf(deployment);
        assert.equal(container.securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        const writable = (container.volumeMounts ?? []).filter(({ readOnly }: Manifest) => readOnly !== true);
        const hasDisk = deployment.metadata.labels[COMPONENT] === 'agent' && name !== 'agents-on-postgresql';
        assert.equal(writable, hasDisk ? [{ name: 'data', mountPath: '/data' }] : [], name);
        assert.is(pod.securityContext.fsGroup, hasDisk ? 65532 : undefined, name);
        assert.ok(container.resources.limits.memory);
      }
      for (const account of all.filter(({ kind }) => kind === 'ServiceAccount')) {
        assert.is(account.automountServiceAccountToken, false);
      }
    });
  });

  check.needing(MISSING, 'runs an image of its own service', () => {
    const images = (values: Values) =>
      deploymentsIn(manifests(values))
        .map((it) => containerOf(it).image)
        .sort();
    const names = ['agent', 'bridge', 'gateway'].map((service) => `gatehouse-${service}:v${VERSION}`);
    assert.equal(images({ ...ALL, image: { registry: '' } }), names);
    assert.equal(
      images(ALL),
      names.map((name) => `registry.example.com/${name}`),
    );
    const image = { registry: 'r.test/', tag: 'v9', repositories: { gateway: 'team/judge' } };
    assert.equal(images({ ...LEAST, image }), ['r.test/team/judge:v9']);
  });

  check.needing(MISSING, 'has time to serve on until no one asks, and then to end what runs', () => {
    eachCase((all, name) => {
      for (const deployment of deploymentsIn(all)) {
        const { terminationGracePeriodSeconds } = deployment.spec.template.spec;
        const drainSeconds = containerOf(deployment).lifecycle?.preStop.sleep.seconds ?? 0;
        assert.ok(terminationGracePeriodSeconds - drainSeconds >= 12, name);
        // Where a new pod comes before an old one goes, the old one serves until nobody asks it any more.
        assert.is(
          drainSeconds > 0,
          deployment.spec.strategy?.type !== 'Recreate' || deployment.metadata.labels[COMPONENT] === 'bridge',
          name,
        );
      }
    });
    const { lifecycle } = containerOf(only(manifests(LEAST), 'Deployment'));
    const { settings } = readGatewayConfig({});
    assert.is((lifecycle.preStop.sleep.seconds + 10) * 1000, settings.REQUEST_DEADLINE_MS);
  });

  check.needing(MISSING, 'is replaced by one that is ready, wherever two may run at a time', () => {
    eachCase((all, name) => {
      for (const { spec, metadata } of deploymentsIn(all)) {
        const service = metadata.labels[COMPONENT];
        const isAlone = service === 'console' || (service === 'agent' && name !== 'agents-on-postgresql');
        const rolling = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
        assert.equal(spec.strategy, isAlone ? { type: 'Recreate' } : rolling, name);
        for (const constraint of spec.template.spec.topologySpreadConstraints ?? []) {
          // Pods that are about to go do not count.
          assert.equal(constraint.matchLabelKeys, ['pod-template-hash']);
          assert.equal(constraint.labelSelector.matchLabels, spec.selector.matchLabels);
        }
      }
    });
    const spread = (keys: object) =>
      manifests({ ...LEAST, gateway: { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'a', ...keys }] } });
    const [own] = only(spread({ matchLabelKeys: [] }), 'Deployment').spec.template.spec.topologySpreadConstraints;
    assert.equal(own.matchLabelKeys, []);
  });

  check.needing(MISSING, 'is made anew when its configuration changes, and only then', () => {
    const sums = (values: Values, service: string) =>
      only(manifests(values), 'Deployment', service).spec.template.metadata.annotations;
    const policy = (version: string) => ({ ...LEAST, config: { policy: { version } } });
    assert.not.equal(sums(policy('one'), 'gateway'), sums(policy('two'), 'gateway'));
    assert.equal(sums(policy('one'), 'gateway'), sums(policy('one'), 'gateway'));
    const made = (key: string) => ({
      secrets: { create: true, values: { BACKEND_API_KEYS: 'backend', MODERATION_API_KEYS: key } },
    });
    // Not a digest of keys, which whoever reads pods could try keys against.
    assert.equal(sums(made('one'), 'gateway'), { 'gatehouse/revision': '1' });
    assert.equal(sums(made('two'), 'gateway'), { 'gatehouse/revision': '1' });
    assert.is(sums(LEAST, 'gateway'), undefined);
    const agent = (config: string) => ({ ...LEAST, agent: { ...AGENT, config } });
    assert.not.equal(sums(agent('{"model":"a/b"}'), 'agent'), sums(agent('{"model":"a/c"}'), 'agent'));
  });
});

describe('the services', (check) => {
  check.needing(MISSING, 'know every variable that they are given, and take its value', () => {
    const seen = new Set<string>();
    eachCase((all, name) => {
      for (const deployment of deploymentsIn(all)) {
        const service = deployment.metadata.labels[COMPONENT];
        const variables = filled(deployment);
        const extra = [...PROXIES, ...TRACING, 'NODE_OPTIONS'];
        const known = Object.fromEntries(Object.entries(variables).filter(([it]) => !extra.includes(it)));
        seen.add(service);
        if (service === 'gateway') {
          assert.equal([...unknownGatewayVariablesIn(known)], [], name);
          const { gatewayKeys, backend } = readGatewayConfig(known);
          assert.ok(gatewayKeys.length > 0 && backend !== undefined);
        } else if (service === 'bridge') {
          assert.equal([...unknownBridgeVariablesIn(known)], [], name);
          const { host, agent } = readBridgeSettings(known, () => undefined);
          assert.is(host, '0.0.0.0');
          assert.ok(agent.credentials !== undefined);
        } else if (service === 'console') {
          assert.equal([...unknownConsoleVariables(known)], [], name);
          const { agents, gateway, bridge, way } = readConsoleSettings(known);
          assert.equal([way.kind, agents.credentials !== undefined], ['password', true], name);
          assert.ok(gateway.key !== undefined && bridge.url !== undefined && agents.urls.length > 0, name);
        } else {
          assert.equal([...unknownAgentVariables(known)], [], name);
          assert.is(readAgentSettings(known).host, '0.0.0.0');
          const { database, leaseMs, retention } = readAgentSettings(known);
          const isShared = name.endsWith('-on-postgresql');
          assert.is(database.kind, isShared ? 'postgres' : 'sqlite', name);
          if (!isShared) assert.is(known.AGENT_DATABASE_URL, 'sqlite:/data/agent.db');
          if (name !== 'agents-on-postgresql') continue;
          assert.equal([leaseMs, retention], [8000, { ageMs: 30 * 86_400_000 }]);
        }
      }
    });
    assert.equal([...seen].sort(), ['agent', 'bridge', 'console', 'gateway']);
  });

  check.needing(MISSING, 'are given no variable that they do not read', () => {
    const entries: Readonly<Record<string, object>> = {
      gateway: GatewayVariables.entries,
      agent: AgentVariables.entries,
      bridge: BridgeVariables.entries,
      console: ConsoleVariables.entries,
    };
    eachCase((all, name) => {
      for (const deployment of deploymentsIn(all)) {
        const service = deployment.metadata.labels[COMPONENT];
        const own = Object.keys(entries[service] ?? {});
        // Bridge and console read no proxies, and the agent what its configuration names, and a text of a variable.
        const more =
          service === 'bridge' || service === 'console'
            ? []
            : [...PROXIES, ...(service === 'agent' ? ['GATEHOUSE_DATABASE_URL', ...namesIn(agentTextIn(all))] : [])];
        const tracing = service === 'console' ? [] : TRACING;
        const known = [...own, ...more, ...tracing, ...(name === 'configured' ? ['NODE_OPTIONS'] : [])];
        assert.equal(
          Object.keys(variablesOf(deployment)).filter((it) => !known.includes(it)),
          [],
          name,
        );
      }
    });
  });

  check.needing(MISSING, 'take the policy and the models that values hold', () => {
    const all = manifests(CASES.configured ?? {});
    const { version, categories } = parsePolicy(only(all, 'ConfigMap', 'gateway').data['policy.json']);
    assert.is(version, 'acme-1');
    const illicit = JSON.stringify(categories);
    assert.match(illicit, 'Betting under 20 is legal here: \\"<&>\\".');
    const several = {
      version: '1',
      policies: { a: { extends: 'coding-agent', own_categories: { guns: { definition: 'x' } } } },
      use: { default: 'a', keys: { '0123abcd': 'standard' } },
    };
    const rendered = only(manifests({ ...LEAST, config: { policy: several } }), 'ConfigMap', 'gateway').data[
      'policy.json'
    ];
    assert.equal(parsePolicyFile(rendered).use, { default: 'a', aliases: {}, keys: { '0123abcd': 'standard' } });
    const { models } = readGatewayConfig(filled(only(all, 'Deployment', 'gateway')));
    assert.is(models.get('seeing')?.vision, true);
    assert.is(models.get('moderation-fast')?.model, 'gpt-oss-safeguard:20b');
    const deployment = only(all, 'Deployment', 'gateway');
    const { mountPath } = containerOf(deployment).volumeMounts[0];
    assert.is(variablesOf(deployment).MODERATION_POLICY_FILE, `${mountPath}/policy.json`);
  });
});
