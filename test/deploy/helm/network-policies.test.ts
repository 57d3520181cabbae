import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { ALL, BRIDGE, CONSOLE, LEAST } from './cases.ts';
import { COMPONENT, kindsOf, type Manifest, MISSING, manifests, type Values } from './world.ts';

const FOUR: Values = { ...ALL, console: CONSOLE };
const SERVICES = ['gateway', 'agent', 'bridge', 'console'];
const INGRESS_NGINX = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } };

const policies = (values: Values): readonly Manifest[] =>
  manifests(values).filter(({ kind }) => kind === 'NetworkPolicy');
const ofService = (values: Values, service: string): Manifest | undefined =>
  policies(values).find(({ metadata }) => metadata.labels[COMPONENT] === service)?.spec;
/** What a service may reach beside names: ports anywhere, and services of the chart. Undefined: anything. */
const reached = (values: Values, service: string) => {
  const policy = ofService(values, service);
  if (policy?.egress === undefined) return undefined;
  const [, , ...rules] = policy.egress as readonly Manifest[];
  return {
    ports: rules.filter(({ to }) => to === undefined).flatMap(({ ports }) => ports.map(({ port }: Manifest) => port)),
    services: rules.flatMap(({ to = [] }) => to.map(({ podSelector }: Manifest) => podSelector.matchLabels[COMPONENT])),
  };
};

describe('network policies by themselves', (check) => {
  check.needing(MISSING, 'are for none unless the values name ports or clients of it', () => {
    assert.equal(policies(FOUR), []);
  });

  check.needing(MISSING, 'let a service whose ports are named reach names and these, and anyone reach it', () => {
    const [policy, ...more] = policies({ ...LEAST, networkPolicy: { egress: { gateway: [6379, 443] } } });
    assert.equal([policy?.spec.policyTypes, policy?.spec.ingress, more], [['Egress'], undefined, []]);
    const both = (port: number) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }));
    assert.equal(policy?.spec.egress, [
      { ports: [...both(53), ...both(5353)] },
      {
        to: [
          {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
            podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
          },
        ],
      },
      {
        ports: [
          { port: 443, protocol: 'TCP' },
          { port: 6379, protocol: 'TCP' },
        ],
      },
    ]);
  });

  check.needing(MISSING, 'let every service reach its ports and what of the chart it calls', () => {
    const egress = { gateway: [6379], agent: [5432, 8080], bridge: [4318], console: [8443] };
    for (const enabled of [true, 'auto'])
      assert.equal(
        SERVICES.map((service) => reached({ ...FOUR, networkPolicy: { enabled, egress } }, service)),
        [
          { ports: [443, 6379], services: [] },
          { ports: [443, 5432, 8080], services: [] },
          { ports: [4318], services: ['agent'] },
          { ports: [443, 8443], services: ['agent', 'bridge', 'gateway'] },
        ],
      );
    const bridge = { ...BRIDGE, agent: { baseUrl: 'http://opencode:4096' } };
    const elsewhere = { ...LEAST, bridge, networkPolicy: { egress: { bridge: [4096] } } };
    assert.equal(reached(elsewhere, 'bridge'), { ports: [443, 4096], services: [] });
  });

  check.needing(MISSING, 'are gone where they are switched off, and change nothing else', () => {
    const networkPolicy = { egress: { gateway: [443] }, clients: { agent: [INGRESS_NGINX] } };
    const off = manifests({ ...FOUR, networkPolicy: { ...networkPolicy, enabled: false } });
    assert.not.ok(kindsOf(off).includes('NetworkPolicy'));
    assert.equal(
      off,
      manifests({ ...FOUR, networkPolicy }).filter(({ kind }) => kind !== 'NetworkPolicy'),
    );
  });

  check.needing(MISSING, 'are for both directions of every service where they are asked for', () => {
    const all = policies({ ...FOUR, networkPolicy: { enabled: true } });
    assert.equal(
      all.map(({ spec }) => spec.policyTypes),
      SERVICES.map(() => ['Ingress', 'Egress']),
    );
  });

  for (const service of SERVICES) {
    check.needing(MISSING, `limit who calls the ${service} to its clients and to what of the chart calls it`, () => {
      const values = { ...FOUR, networkPolicy: { clients: { [service]: [INGRESS_NGINX] } } };
      const [rule, ...more] = ofService(values, service)?.ingress ?? [];
      assert.equal([more, rule.from[0]], [[], INGRESS_NGINX]);
      const callers = { gateway: ['console'], agent: ['bridge', 'console'], bridge: ['console'], console: [] };
      assert.equal(
        rule.from.slice(1).map(({ podSelector }: Manifest) => podSelector.matchLabels[COMPONENT]),
        callers[service as keyof typeof callers],
      );
      for (const other of SERVICES.filter((it) => it !== service))
        assert.is(ofService(values, other)?.ingress, undefined, other);
    });
  }
});
