import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { describe, thorough } from '../../../check.ts';
import { AGENT, BRIDGE, CONSOLE, LEAST } from '../cases.ts';
import { MISSING, manifests, manifestsIn, template, type Values } from '../world.ts';
import { type Connection, callsOf, mayCall } from './reach.ts';

const SERVICES = ['gateway', 'agent', 'bridge', 'console'];

const hosts = fc.constantFrom(
  'ollama',
  'judge.models',
  'judge.models.svc',
  'a.b.svc.cluster.local',
  'api.corp.test',
  'x.com',
);
const address = fc
  .record({
    scheme: fc.constantFrom('http', 'https'),
    host: hosts,
    port: fc.option(fc.integer({ min: 1, max: 65_535 })),
  })
  .map(({ scheme, host, port }) => `${scheme}://${host}${port === null ? '' : `:${port}`}`);
const orNone = <T>(of: fc.Arbitrary<T>, none: T) => fc.oneof({ weight: 2, arbitrary: fc.constant(none) }, of);
const url = orNone(address, '');
const secret = orNone(fc.constant('a-secret'), '');
const port = orNone(fc.integer({ min: 1, max: 65_535 }).map(String), '').map((text) =>
  text === '' ? '' : Number(text),
);
const extraEnv = orNone<readonly object[]>(
  fc
    .constantFrom(address, fc.tuple(address, address).map(String))
    .chain((texts) => texts.map((value) => [{ name: 'ANY_URL', value }])),
  [],
);
const fromSecret = { name: 'OTHER_URL', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } };
const someValues = fc
  .record({
    backend: url,
    cloud: url,
    httpsProxy: url,
    redis: secret,
    redisPort: port,
    endpoint: url,
    agentUrl: url,
    database: secret,
    gatewayUrl: url,
    webhook: fc.boolean(),
    extra: fc.tuple(extraEnv, extraEnv, extraEnv),
    secretOf: fc.constantFrom('gateway', 'bridge', 'console', 'none', 'none'),
    egress: orNone<Values>(fc.constantFrom({ agent: [8080] }, { gateway: [9000], bridge: [9000] }), {}),
  })
  .map((it) => {
    const extraOf = (service: string, extra: readonly object[]) => ({
      extraEnv: it.secretOf === service ? [...extra, fromSecret] : extra,
    });
    return {
      ...LEAST,
      backend: { baseUrl: it.backend },
      proxy: { httpsProxy: it.httpsProxy },
      redis: { existingSecret: it.redis, port: it.redisPort },
      tracing: { endpoint: it.endpoint },
      gateway: { env: it.cloud === '' ? {} : { BACKEND_CLOUD_URL: it.cloud }, ...extraOf('gateway', it.extra[0]) },
      agent: { ...AGENT, database: { existingSecret: it.database } },
      bridge: { ...BRIDGE, agent: { baseUrl: it.agentUrl }, ...extraOf('bridge', it.extra[1]) },
      console: {
        ...CONSOLE,
        gatewayUrl: it.gatewayUrl,
        secretKeys: it.webhook ? { CONSOLE_NOTIFY_URL: 'hook' } : {},
        ...extraOf('console', it.extra[2]),
      },
      networkPolicy: { egress: it.egress },
    };
  });

const DNS_PODS = { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } };
/** Where names are asked for: on nodes, at the pods behind OpenShift's Service, and at pods with a port of their own. */
const NAME_SERVERS: readonly Connection[] = [
  { to: 'outside', port: 53 },
  { to: { namespace: 'openshift-dns', labels: {} }, port: 5353 },
  { to: DNS_PODS, port: 8053 },
];
const SOMEWHERE: Connection = { to: 'outside', port: 64_999 };
const told = ({ to, port: at }: Connection): string => `${to === 'outside' ? to : to.namespace}:${at}`;

describe('what a service calls', (check) => {
  check.needing(MISSING, 'is let through by the policies of any values, and anything where they cannot know', () => {
    let limited = 0;
    const property = fc.property(someValues, (values) => {
      const { status, stdout, stderr } = template(values);
      assert.is(status, 0, stderr);
      const all = manifestsIn(stdout);
      const named: Readonly<Record<string, readonly number[]>> = values.networkPolicy.egress as never;
      for (const service of SERVICES) {
        const { known, unknown } = callsOf(all, service);
        assert.equal(known.filter((connection) => !mayCall(all, service, connection)).map(told), [], service);
        // Its configuration names whom the agent calls, and a redis.port is a name for the address in the Secret.
        const open = unknown.filter((name) => name !== 'REDIS_URL' || values.redis.port === '');
        if (service === 'agent') open.push('its configuration');
        const isOpen = mayCall(all, service, SOMEWHERE);
        assert.is(isOpen, open.length > 0 && named[service] === undefined, `${service}: ${open}`);
        if (!isOpen) limited += 1;
        for (const protocol of ['UDP', 'TCP'] as const)
          for (const connection of NAME_SERVERS) assert.ok(mayCall(all, service, { ...connection, protocol }));
      }
    });
    fc.assert(property, { numRuns: thorough(8, 60), seed: 20 });
    assert.ok(limited >= 8);
  });

  check.needing(
    MISSING,
    'would be cut off by a policy without the namespace of a backend whose pods have another port',
    () => {
      const values = { ...LEAST, backend: { baseUrl: 'http://judge.models.svc' }, networkPolicy: { enabled: true } };
      const all = manifests(values);
      assert.ok(callsOf(all, 'gateway').known.some((connection) => !mayCall(all, 'gateway', connection)));
    },
  );
});
