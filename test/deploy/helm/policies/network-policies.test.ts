import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { AGENT, ALL, BRIDGE, CONSOLE, DATABASE, LEAST } from '../cases.ts';
import { COMPONENT, kindsOf, type Manifest, MISSING, manifests, type Values } from '../world.ts';

const FOUR: Values = { ...ALL, console: CONSOLE };
const SERVICES = ['gateway', 'agent', 'bridge', 'console'];
const INGRESS_NGINX = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } };

const policies = (values: Values): readonly Manifest[] =>
  manifests(values).filter(({ kind }) => kind === 'NetworkPolicy');
const ofService = (values: Values, service: string): Manifest | undefined =>
  policies(values).find(({ metadata }) => metadata.labels[COMPONENT] === service)?.spec;
/** What a service may reach: ports anywhere, namespaces, services of the chart. Undefined: anything. */
const reached = (values: Values, service: string) => {
  const policy = ofService(values, service);
  if (policy?.egress === undefined) return undefined;
  const [, , ...rules] = policy.egress as readonly Manifest[];
  const peers = rules.flatMap(({ to = [] }) => to as readonly Manifest[]);
  return {
    ports: rules.filter(({ to }) => to === undefined).flatMap(({ ports }) => ports.map(({ port }: Manifest) => port)),
    namespaces: peers.flatMap(({ namespaceSelector: its }) =>
      its === undefined ? [] : [its.matchLabels['kubernetes.io/metadata.name']],
    ),
    services: peers.flatMap(({ podSelector }) =>
      podSelector === undefined ? [] : [podSelector.matchLabels[COMPONENT]],
    ),
  };
};

describe('network policies by themselves', (check) => {
  check.needing(
    MISSING,
    'let a gateway with nothing but its keys reach names and the cloud, and anyone reach it',
    () => {
      const [policy, ...more] = policies(LEAST);
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
        { ports: [{ port: 443, protocol: 'TCP' }] },
      ]);
    },
  );

  check.needing(MISSING, 'are for what calls services of the chart alone, and not for the agent', () => {
    assert.equal(
      SERVICES.map((service) => reached(FOUR, service)?.services),
      [[], undefined, ['agent'], ['agent', 'bridge', 'gateway']],
    );
    assert.ok(policies(FOUR).every(({ spec }) => spec.ingress === undefined));
  });

  check.needing(MISSING, 'are gone where they are switched off, and change nothing else', () => {
    const off = manifests({ ...FOUR, networkPolicy: { enabled: false } });
    assert.not.ok(kindsOf(off).includes('NetworkPolicy'));
    assert.equal(
      off,
      manifests(FOUR).filter(({ kind }) => kind !== 'NetworkPolicy'),
    );
  });

  check.needing(MISSING, 'are the same where a file leaves an address empty', () => {
    const empty = { bridge: { ...BRIDGE, agent: { baseUrl: null } }, console: { ...CONSOLE, agentUrls: null } };
    assert.equal(policies({ ...FOUR, ...empty, proxy: null }), policies(FOUR));
  });

  check.needing(MISSING, 'are for both directions of every service where they are asked for', () => {
    const all = policies({ ...FOUR, redis: { existingSecret: 'redis' }, networkPolicy: { enabled: true } });
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

const gateway = (values: Values): Values => ({ ...LEAST, ...values });
const onGateway = (value: string, name = 'ANY'): Values => gateway({ gateway: { extraEnv: [{ name, value }] } });
const NAMED: readonly (readonly [string, string, Values, readonly number[], readonly string[]])[] = [
  [
    'a backend of its namespace',
    'gateway',
    gateway({ backend: { baseUrl: 'http://ollama:11434/v1' } }),
    [443, 11434],
    ['moderation'],
  ],
  [
    'a backend of another',
    'gateway',
    gateway({ backend: { baseUrl: 'http://ollama.models.svc' } }),
    [443, 80],
    ['models'],
  ],
  [
    'a backend by its whole name',
    'gateway',
    gateway({ backend: { baseUrl: 'http://a.b.svc.cluster.test.:81' } }),
    [443, 81],
    ['b'],
  ],
  [
    'a backend by name and namespace',
    'gateway',
    gateway({ backend: { baseUrl: 'https://ollama.models' } }),
    [443],
    ['models'],
  ],
  ['a backend outside', 'gateway', gateway({ backend: { baseUrl: 'https://judge.corp.test:8443' } }), [443, 8443], []],
  [
    'another cloud',
    'gateway',
    gateway({ gateway: { env: { BACKEND_CLOUD_URL: 'http://cloud.corp.test:81' } } }),
    [443, 81],
    [],
  ],
  ['proxies', 'gateway', gateway({ proxy: { httpsProxy: 'http://user:a%40b@proxy.corp.test:3128' } }), [443, 3128], []],
  ['the port of Redis', 'gateway', gateway({ redis: { existingSecret: 'r', port: 6380 } }), [443, 6380], []],
  ['an address in a variable', 'gateway', onGateway('redis://cache.shared.svc', 'REDIS_URL'), [443, 6379], ['shared']],
  ['behind a password', 'gateway', onGateway('redis://:a,b;c|d@e@cache.shared.svc:6380'), [443, 6380], ['shared']],
  [
    'addresses in a text',
    'gateway',
    onGateway('{"a":"HTTP://a.corp.test:82","b":["http://b:83"]}'),
    [443, 82, 83],
    ['moderation'],
  ],
  [
    'an address in a policy',
    'gateway',
    gateway({
      config: { policy: { version: '1', categories: { hate: { guidance: 'See <http://x.corp.test:84>.' } } } },
    }),
    [443, 84],
    [],
  ],
  [
    'what only looks like an address, in a text',
    'gateway',
    onGateway('(http://a.b$c, http://d:99999 or http://e.svc:0; see http://f.corp.test:85.)'),
    [443, 80, 85],
    ['moderation', 'svc'],
  ],
  ['this machine', 'gateway', onGateway('http://127.0.0.1:9000 http://localhost:9001'), [443], []],
  [
    'ports, whatever a Secret holds',
    'gateway',
    gateway({ redis: { existingSecret: 'r' }, networkPolicy: { egress: { gateway: [7000] } } }),
    [443, 6379, 7000],
    [],
  ],
  [
    'ports of its models and tools',
    'agent',
    {
      ...ALL,
      agent: { ...AGENT, database: { ...DATABASE, port: 6543 } },
      networkPolicy: { egress: { agent: [8080] } },
    },
    [443, 6543, 8080],
    [],
  ],
  [
    'agents elsewhere',
    'bridge',
    { ...LEAST, bridge: { ...BRIDGE, agent: { baseUrl: 'http://a.llm.svc:4000, https://b.corp.test' } } },
    [443, 4000],
    ['llm'],
  ],
  [
    'an address in a variable',
    'bridge',
    { ...ALL, bridge: { ...BRIDGE, extraEnv: [{ name: 'ANY', value: 'http://x.y.svc:1' }] } },
    [1],
    ['y'],
  ],
  [
    'services elsewhere',
    'console',
    { ...LEAST, console: { ...CONSOLE, agentUrls: 'http://a.llm.svc:4000,http://b.corp.test:4001' } },
    [443, 4000, 4001],
    ['llm'],
  ],
];
const FROM_SECRET = [{ name: 'ANY', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }];
const OPEN: readonly (readonly [string, string, Values])[] = [
  ['the address of Redis', 'gateway', gateway({ redis: { existingSecret: 'r' } })],
  ['a variable from a Secret', 'gateway', gateway({ gateway: { extraEnv: FROM_SECRET } })],
  ['an address made of variables', 'gateway', onGateway('http://$(HOST_IP):4318')],
  ['a scheme made of variables', 'gateway', onGateway('$(SCHEME)://collector:4318')],
  ['an address of a Service', 'gateway', gateway({ backend: { baseUrl: 'http://10.96.0.12:11434' } })],
  ['the same in IPv6', 'gateway', gateway({ proxy: { httpProxy: 'http://[fd00::12]:3128' } })],
  ['servers that tell of others', 'gateway', onGateway('redis-cluster://one:6379,two:6379', 'REDIS_URL')],
  ['a program beside it', 'gateway', onGateway('--import=/app/agent.mjs', 'NODE_OPTIONS')],
  ['a sidecar', 'gateway', gateway({ gateway: { podAnnotations: { 'sidecar.istio.io/inject': 'true' } } })],
  ['models and tools', 'agent', { ...ALL, agent: { ...AGENT, database: { ...DATABASE, port: 5432 } } }],
  ['a variable from a Secret', 'bridge', { ...ALL, bridge: { ...BRIDGE, extraEnv: FROM_SECRET } }],
  [
    'the address of its webhook',
    'console',
    { ...FOUR, console: { ...CONSOLE, secretKeys: { CONSOLE_NOTIFY_URL: 'hook' } } },
  ],
];

describe('where network policies let a service go by themselves', (check) => {
  for (const [what, service, values, ports, namespaces] of NAMED) {
    check.needing(MISSING, `the ${service} reaches ${what}, by the values`, () => {
      const known = reached(values, service);
      assert.equal([known?.ports, known?.namespaces], [ports, namespaces]);
    });
  }
  for (const [what, service, values] of OPEN) {
    check.needing(MISSING, `the ${service} goes anywhere where the values do not tell: ${what}`, () => {
      assert.is(reached(values, service), undefined);
    });
  }
  for (const enabled of [true, 'auto'])
    check.needing(MISSING, `every service reaches the collector, with ${enabled}`, () => {
      const tracing = { endpoint: 'http://collector.observability.svc:4318' };
      const networkPolicy = { enabled, egress: { agent: [443] } };
      const values = { ...FOUR, tracing, networkPolicy };
      for (const service of ['gateway', 'agent', 'bridge']) {
        const { ports = [], namespaces } = reached(values, service) ?? {};
        assert.equal([ports.includes(4318), namespaces], [true, ['observability']], service);
      }
      assert.equal(reached(values, 'console')?.namespaces, []);
    });
});
