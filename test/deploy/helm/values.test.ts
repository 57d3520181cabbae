import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { AgentVariables } from '../../../src/agent/settings.ts';
import { BridgeVariables } from '../../../src/bridge/settings.ts';
import { ConsoleVariables } from '../../../src/console/settings.ts';
import { GatewayVariables } from '../../../src/gateway/settings/variables.ts';
import { BaseUrl, resolveRelayAddress } from '../../../src/relay-admin/settings.ts';
import { describe } from '../../check.ts';
import { AGENT, BRIDGE, CASES, DATABASE, LEAST } from './cases.ts';
import {
  CHART,
  kindsOf,
  MISSING,
  manifests,
  manifestsIn,
  only,
  refusal,
  template,
  type Values,
  variablesOf,
} from './world.ts';

const HOST = 'ingress.hosts[0].host=moderation.corp.test';
const TLS_HOST = 'ingress.tls[0].hosts[0]=moderation.corp.test';
const TLS_SECRET = 'ingress.tls[0].secretName=moderation-tls';
const PLACEHOLDER = 'moderation.example.com';
const OUR_SECRET = 'demo-gatehouse-gateway-tls';

const set = (...lines: readonly string[]): readonly string[] => lines.flatMap((line) => ['--set', line]);

const hostsWith = (...lines: readonly string[]) => {
  const { spec } = only(manifests(LEAST, set('ingress.enabled=true', ...lines)), 'Ingress');
  return { hosts: spec.rules.map(({ host }: { host: string }) => host), tls: spec.tls, class: spec.ingressClassName };
};

describe("the specification's values", (check) => {
  check.needing(MISSING, 'render no ingress and no Secret unless asked', () => {
    assert.equal(kindsOf(manifests(LEAST)), ['Deployment', 'Service', 'ServiceAccount']);
    const withSecret = Object.keys(CASES).filter((name) => kindsOf(manifests(CASES[name] ?? {})).includes('Secret'));
    assert.equal(withSecret, ['created-secret']);
  });

  check.needing(MISSING, 'take the name of the Secret from secrets.existingSecret, for both lists of keys', () => {
    const all = manifests({}, set('secrets.create=false', 'secrets.existingSecret=moderation-keys'));
    const { BACKEND_API_KEYS, MODERATION_API_KEYS } = variablesOf(only(all, 'Deployment'));
    assert.is(BACKEND_API_KEYS, 'moderation-keys/BACKEND_API_KEYS');
    assert.is(MODERATION_API_KEYS, 'moderation-keys/MODERATION_API_KEYS');
  });

  check.needing(MISSING, 'have an ingress of the class nginx with managed certificates and a placeholder host', () => {
    const { metadata } = only(manifests(LEAST, set('ingress.enabled=true')), 'Ingress');
    assert.is(metadata.annotations['cert-manager.io/cluster-issuer'], 'letsencrypt');
    const tls = [{ hosts: [PLACEHOLDER], secretName: OUR_SECRET }];
    assert.equal(hostsWith(), { hosts: [PLACEHOLDER], tls, class: 'nginx' });
  });

  check.needing(MISSING, 'take ingress.hosts[0].host alone, for the certificate as well', () => {
    const tls = [{ hosts: ['moderation.corp.test'], secretName: OUR_SECRET }];
    assert.equal(hostsWith(HOST), { hosts: ['moderation.corp.test'], tls, class: 'nginx' });
  });

  check.needing(MISSING, 'take ingress.tls[0].hosts[0] alone', () => {
    const tls = [{ hosts: ['moderation.corp.test'], secretName: OUR_SECRET }];
    assert.equal(hostsWith(TLS_HOST), { hosts: [PLACEHOLDER], tls, class: 'nginx' });
  });

  check.needing(MISSING, 'take ingress.tls[0].secretName alone', () => {
    const tls = [{ hosts: [PLACEHOLDER], secretName: 'moderation-tls' }];
    assert.equal(hostsWith(TLS_SECRET), { hosts: [PLACEHOLDER], tls, class: 'nginx' });
  });

  check.needing(MISSING, 'take any two and all three together', () => {
    const hosts = ['moderation.corp.test'];
    const all = { hosts, tls: [{ hosts, secretName: 'moderation-tls' }], class: 'nginx' };
    assert.equal(hostsWith(HOST, TLS_HOST, TLS_SECRET), all);
    assert.equal(hostsWith(HOST, TLS_SECRET), all);
    assert.equal(hostsWith(HOST, TLS_HOST).tls, [{ hosts, secretName: OUR_SECRET }]);
    assert.equal(hostsWith(TLS_HOST, TLS_SECRET), { ...all, hosts: [PLACEHOLDER] });
  });

  check.needing(MISSING, 'give several certificates names of their own', () => {
    const { tls } = hostsWith('ingress.tls[0].hosts[0]=one.test', 'ingress.tls[1].hosts[0]=two.test');
    assert.equal(
      tls.map(({ secretName }: { secretName: string }) => secretName),
      [OUR_SECRET, `${OUR_SECRET}-1`],
    );
  });
});

describe('values that cannot work', (check) => {
  const reported = (values: object, words: readonly string[], more: readonly string[] = []): void => {
    const text = refusal({ ...values }, more);
    for (const word of words) assert.match(text, word);
  };

  check.needing(MISSING, 'are refused with what to set when no Secret is named', () => {
    reported({}, [
      'secrets.existingSecret: expected the name of a Secret',
      '(MODERATION_API_KEYS)',
      '(BACKEND_API_KEYS)',
    ]);
    reported({}, ['secrets.create=true makes one']);
  });
  check.needing(MISSING, 'are refused when a Secret is to be made of nothing', () => {
    reported({ secrets: { create: true } }, [
      'secrets.values.MODERATION_API_KEYS: expected gateway keys',
      'secrets.values.BACKEND_API_KEYS: expected backend keys',
    ]);
  });
  check.needing(MISSING, 'are refused when a Secret is made and named at once', () => {
    reported({ secrets: { create: true, existingSecret: 'keys' } }, ['secrets.existingSecret: expected nothing']);
  });
  check.needing(MISSING, 'are refused when the agent or the bridge has no Secret, all of it at once', () => {
    reported({ agent: { enabled: true }, bridge: { enabled: true } }, [
      'secrets.existingSecret:',
      'agent.existingSecret: expected the name of a Secret with AGENT_SERVER_PASSWORD, MODEL_API_KEY',
      'bridge.existingSecret: expected the name of a Secret with BRIDGE_API_KEYS',
    ]);
  });
  check.needing(MISSING, 'are refused when the agent is to have two replicas', () => {
    const agent = { enabled: true, existingSecret: 'agent-secrets', replicaCount: 2 };
    reported({ ...LEAST, agent }, [
      'agent.replicaCount: expected 1; the store is one SQLite file with one writer, unless agent.database.existingSecret',
    ]);
  });
  check.needing(
    MISSING,
    'are refused when several agents are to look after a relay, as each would have a journal',
    () => {
      const relay = { enabled: true, baseUrl: 'http://relay.apps.svc', allowedHost: 'relay.apps.svc' };
      reported({ ...LEAST, agent: { ...AGENT, database: DATABASE, relay, replicaCount: 2 } }, [
        'agent.replicaCount: expected 1 with agent.relay.enabled; recharges of one relay',
      ]);
      const config = '{"mcp":{"relay-admin":{"environment":{"RELAY_ADMIN_API_KEY":"{env:RELAY_ADMIN_API_KEY}"}}}}';
      reported({ ...LEAST, agent: { ...AGENT, database: DATABASE, config } }, ['agent.relay.enabled: expected true']);
      // Where it can only read there is no journal, and with SQLite there is a volume anyway.
      const readOnly = config.replace('"environment":{', '"environment":{"RELAY_READ_ONLY":"true",');
      assert.ok(manifests({ ...LEAST, agent: { ...AGENT, database: DATABASE, config: readOnly, replicaCount: 2 } }));
      assert.ok(manifests({ ...LEAST, agent: { ...AGENT, config } }));
    },
  );
  check.needing(MISSING, 'are refused when the bridge has no agent, or the relay no address', () => {
    reported({ ...LEAST, bridge: { enabled: true, existingSecret: 'bridge-secrets' } }, [
      'bridge.agent.baseUrl: expected',
    ]);
    const agent = { enabled: true, existingSecret: 'agent-secrets', relay: { enabled: true } };
    reported({ ...LEAST, agent }, ['agent.relay: expected baseUrl and allowedHost']);
  });
  check.needing(MISSING, "are refused in relay admin's words when its two addresses are not of one host", () => {
    const relayOf = (baseUrl: string, allowedHost: string) => ({
      ...LEAST,
      agent: { ...AGENT, relay: { enabled: true, baseUrl, allowedHost } },
    });
    const inValues = (text: string): string =>
      text
        .replaceAll('RELAY_BASE_URL', 'agent.relay.baseUrl')
        .replaceAll('RELAY_ALLOWED_HOST', 'agent.relay.allowedHost');
    for (const allowedHost of ['relay2', 'relay:8080', 'http://relay', 'Relay'])
      reported(relayOf('http://relay:8080', allowedHost), [
        inValues(String(resolveRelayAddress('http://relay:8080', allowedHost))),
      ]);
    for (const baseUrl of ['http://relay/api', 'http://user@relay', 'http://RELAY']) {
      const { issues = [] } = v.safeParse(BaseUrl, baseUrl);
      reported(relayOf(baseUrl, 'relay'), [`agent.relay.baseUrl: ${issues[0]?.message}`]);
    }
    for (const [baseUrl, host] of [
      ['http://relay:8080/', 'relay'],
      ['http://[fd00::1]:80', '[fd00::1]'],
    ] as const) {
      assert.is(typeof resolveRelayAddress(baseUrl, host), 'object');
      assert.ok(manifests(relayOf(baseUrl, host)));
    }
  });
  check.needing(MISSING, 'are refused when an ingress has no gateway, or fewer pods are allowed than needed', () => {
    reported({ gateway: { enabled: false }, ingress: { enabled: true } }, ['ingress.enabled: expected false']);
    const autoscaling = { enabled: true, minReplicas: 6 };
    reported({ ...LEAST, gateway: { autoscaling } }, [
      'gateway.autoscaling.maxReplicas: expected at least minReplicas',
    ]);
  });

  check.needing(MISSING, 'are refused when nothing would be installed', () => {
    reported({ gateway: { enabled: false } }, [
      'gateway.enabled: expected true, or agent.enabled, bridge.enabled or console.enabled',
    ]);
  });
  check.needing(MISSING, 'are refused when a rollout would cut requests before their deadline', () => {
    const gateway = (REQUEST_DEADLINE_MS: number | string, drainSeconds: number) => ({
      ...LEAST,
      gateway: { env: { REQUEST_DEADLINE_MS }, drainSeconds },
    });
    reported(gateway(40001, 30), [
      'gateway.drainSeconds: expected at least 31, as gateway.env.REQUEST_DEADLINE_MS is 40001',
    ]);
    reported(gateway('600000', 15), ['expected at least 590, as']);
    reported({ ...LEAST, gateway: { drainSeconds: 14 } }, [
      'expected at least 15, as gateway.env.REQUEST_DEADLINE_MS is 25000',
    ]);
    assert.ok(manifests(gateway(40000, 30)));
    assert.ok(manifests(gateway('600000', 590)));
  });
  check.needing(MISSING, 'are refused when one key of the Secret would be for both lists', () => {
    const keys = { BACKEND_API_KEYS: 'keys', MODERATION_API_KEYS: 'keys' };
    reported({ secrets: { existingSecret: 'moderation-keys', keys } }, ['secrets.keys: expected two different keys']);
  });
  check.needing(MISSING, 'are refused when a variable would be there twice', () => {
    const twice = (service: string, name: string) => [`${service}: expected ${name} once`];
    const extraEnv = (name: string) => ({ extraEnv: [{ name, value: 'other' }] });
    reported({ ...LEAST, gateway: extraEnv('APP_ENV') }, twice('gateway', 'APP_ENV'));
    reported(
      { ...LEAST, agent: { ...AGENT, ...extraEnv('AGENT_DATABASE_URL') } },
      twice('agent', 'AGENT_DATABASE_URL'),
    );
    reported({ ...LEAST, agent: { ...AGENT, secretKeys: { AGENT_CONFIG: 'a' } } }, twice('agent', 'AGENT_CONFIG'));
    const bridge = { ...BRIDGE, ...extraEnv('AGENT_BASE_URL') };
    reported({ ...LEAST, agent: AGENT, bridge }, twice('bridge', 'AGENT_BASE_URL'));
  });
  check.needing(MISSING, 'are refused when the autoscaler has nothing to count in', () => {
    const gateway = { autoscaling: { enabled: true }, resources: { requests: { cpu: null } } };
    reported({ ...LEAST, gateway }, ['gateway.resources.requests.cpu: expected an amount']);
    assert.ok(
      manifests({ ...LEAST, gateway: { ...gateway, resources: { requests: { cpu: null }, limits: { cpu: 1 } } } }),
    );
  });

  const wrong = [
    ['nameOverride=Judge', "at '/nameOverride': 'Judge' does not match pattern"],
    ['fullnameOverride=7judges', "at '/fullnameOverride': '7judges' does not match pattern"],
    ['fullnameOverride=judge.one', "at '/fullnameOverride': 'judge.one' does not match pattern"],
    ['agent.persistence.size=5 Gi', "at '/agent/persistence/size': '5 Gi' does not match pattern"],
    ['ingress.paths[0]=/v1 x', "at '/ingress/paths/0': '/v1 x' does not match pattern"],
    ['ingress.paths[0]=/v1/../metrics', "at '/ingress/paths/0'"],
    ['gateway.topologySpreadConstraints[0].labelSelector.a=b', "/topologySpreadConstraints/0/labelSelector'"],
    ['agent.topologySpreadConstraints[0].labelSelector.a=b', "/topologySpreadConstraints/0/labelSelector'"],
    ['gatewy.enabled=true', "additional properties 'gatewy' not allowed"],
    ['ingress.host=a.test', "at '/ingress': additional properties 'host' not allowed"],
    ['ingress.hosts[0].hosts=a.test', "'hosts' not allowed"],
    ['secrets.exisitingSecret=keys', "at '/secrets': additional properties 'exisitingSecret' not allowed"],
    ['gateway.env.MAX_BODY_BITES=1', "at '/gateway/env': additional properties 'MAX_BODY_BITES' not allowed"],
    ['gateway.env.BACKEND_API_KEYS=key', "at '/gateway/env': additional properties 'BACKEND_API_KEYS' not allowed"],
    [
      'agent.env.AGENT_DATABASE_URL=postgres',
      "at '/agent/env': additional properties 'AGENT_DATABASE_URL' not allowed",
    ],
    ['agent.database.url=postgres', "at '/agent/database': additional properties 'url' not allowed"],
    ['agent.drainSeconds=0', "at '/agent/drainSeconds'"],
    ['agent.persistance.size=1Gi', "at '/agent': additional properties 'persistance' not allowed"],
    ['bridge.env.BRIDGE_API_KEYS=key', "at '/bridge/env': additional properties 'BRIDGE_API_KEYS' not allowed"],
    ['gateway.replicaCount=two', "at '/gateway/replicaCount': got string, want integer"],
    ['ingress.enabled=yes', "at '/ingress/enabled': got string, want boolean"],
    ['backend.baseUrl=ollama:11434', "at '/backend/baseUrl': 'ollama:11434' does not match pattern"],
    ['bridge.agent.baseUrl=http://a:1\\,b:2', "at '/bridge/agent/baseUrl'"],
    ['console.agentUrls=agent-1:4000', "at '/console/agentUrls': 'agent-1:4000' does not match pattern"],
    ['networkPolicy.enabled=yes', "at '/networkPolicy/enabled': value must be one of true, false, 'auto'"],
    ['networkPolicy.egress.gatewy[0]=443', "at '/networkPolicy/egress': additional properties 'gatewy' not allowed"],
    ['networkPolicy.egress.agent[0]=0', "at '/networkPolicy/egress/agent/0'"],
    ['networkPolicy.clients.bridge[0].podSelectr.a=b', "additional properties 'podSelectr' not allowed"],
    ['tracing.endpont=http://a', "at '/tracing': additional properties 'endpont' not allowed"],
    ['config.policy.categories.hate.threshold=2', "at '/config/policy"],
    ['config.policy.policies.mild.own_categories.guns.threshold=0.5', "at '/config/policy"],
  ] as const;
  // Helm reports all of them at once. Neighbours have one place in the values, and are not set together.
  const GROUPS = 6;
  for (let group = 0; group < GROUPS; group++) {
    const some = wrong.filter((_, at) => at % GROUPS === group);
    const lines = some.map(([line]) => line);
    check.needing(MISSING, `are refused with their names: --set ${lines.join(' --set ')}`, () =>
      reported(
        LEAST,
        some.map(([, place]) => place),
        set(...lines),
      ),
    );
  }
});

describe('names of objects', (check) => {
  const nameOf = (release: string, values: Values = LEAST): string => {
    const { status, stdout, stderr } = template(values, [], { release });
    assert.is(status, 0, stderr);
    return only(manifestsIn(stdout), 'Service').metadata.name;
  };
  check.needing(MISSING, 'of long releases differ where the releases do, and leave space for those of pods', () => {
    const [one, other] = ['a', 'b'].map((end) => nameOf(`moderation-of-everything-that-customers-say-${end}`));
    assert.not.equal(one, other);
    assert.ok([one, other].every((name = '') => name.length <= '-gateway'.length + 40));
    assert.match(one ?? '', /^moderation-of-everything-that-cus-[0-9a-f]{6}-gateway$/);
  });
  check.needing(MISSING, 'are what a Service may be called', () => {
    assert.is(nameOf('judge.v1'), 'judge-v1-gatehouse-gateway');
    const { stderr } = template(LEAST, [], { release: '7judges' });
    assert.match(stderr, 'fullnameOverride: expected a name, as that of the release, 7judges, begins with a digit');
    assert.is(nameOf('7judges', { ...LEAST, fullnameOverride: 'judges' }), 'judges-gateway');
  });
});

describe('keys and backends', (check) => {
  check.needing(MISSING, 'find a made Secret under the names that the gateway asks for', () => {
    const all = manifests({
      secrets: {
        create: true,
        keys: { BACKEND_API_KEYS: 'cloud' },
        values: { BACKEND_API_KEYS: 'one,two', MODERATION_API_KEYS: 'client' },
      },
    });
    const { metadata, stringData } = only(all, 'Secret');
    assert.equal(stringData, { cloud: 'one,two', MODERATION_API_KEYS: 'client' });
    const variables = variablesOf(only(all, 'Deployment'));
    assert.is(variables.BACKEND_API_KEYS, `${metadata.name}/cloud`);
    assert.is(variables.MODERATION_API_KEYS, `${metadata.name}/MODERATION_API_KEYS`);
  });
  check.needing(MISSING, 'leave backend keys where they are when the backend is a server of your own', () => {
    const backend = { baseUrl: 'http://ollama:11434' };
    const variables = variablesOf(only(manifests({ ...LEAST, backend }), 'Deployment'));
    assert.is(variables.BACKEND_BASE_URL, 'http://ollama:11434');
    assert.is(variables.BACKEND_API_KEYS, undefined);
    const asked = variablesOf(only(manifests({ ...LEAST, backend: { ...backend, sendKeys: true } }), 'Deployment'));
    assert.is(asked.BACKEND_API_KEYS, 'moderation-keys/BACKEND_API_KEYS');
  });
  check.needing(MISSING, 'need gateway keys alone to make a Secret for a server of your own', () => {
    const secrets = { create: true, values: { MODERATION_API_KEYS: 'client' } };
    const all = manifests({ secrets, backend: { baseUrl: 'http://ollama:11434' } });
    assert.equal(only(all, 'Secret').stringData, { MODERATION_API_KEYS: 'client' });
    assert.not.match(refusal({ backend: { baseUrl: 'http://ollama:11434' } }), 'BACKEND_API_KEYS');
  });
  check.needing(MISSING, 'put no key into any object but the Secret', () => {
    const { stdout } = template(CASES['created-secret'] ?? {});
    const others = stdout.split('\n---\n').filter((text) => !text.includes('\nkind: Secret\n'));
    assert.ok(stdout.includes('backend-one'));
    assert.not.match(others.join('\n'), 'backend-one');
  });
});

describe('settings by name', (check) => {
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'));
  /** Given by other values, or by the chart itself. */
  const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
    gateway: [
      // A pod has one gateway.
      ...['HOST', 'PORT', 'REUSE_PORT', 'APP_ENV', 'GATEWAY_ADMIN_KEY', 'MODERATION_API_KEY', 'MODERATION_API_KEYS'],
      ...[
        'BACKEND_API_KEYS',
        'BACKEND_BASE_URL',
        'MODERATION_MODELS',
        'MODERATION_POLICY',
        'MODERATION_POLICY_FILE',
        'REDIS_URL',
      ],
    ],
    agent: [
      ...['HOST', 'PORT', 'AGENT_CONFIG', 'AGENT_CONFIG_CONTENT', 'AGENT_SERVER_USERNAME'],
      ...['AGENT_SERVER_PASSWORD', 'AGENT_ALLOW_ANONYMOUS', 'AGENT_DATABASE_URL'],
    ],
    bridge: [
      ...['HOST', 'PORT', 'BRIDGE_CONFIG', 'BRIDGE_API_KEYS', 'BRIDGE_ALLOW_ANONYMOUS'],
      ...['AGENT_BASE_URL', 'AGENT_SERVER_USERNAME', 'AGENT_SERVER_PASSWORD'],
    ],
    // Those of a file of another service's, of a volume, and of a proxy that runs beside it in one pod, have no value.
    console: [
      ...['HOST', 'PORT', 'CONSOLE_GATEWAY_URL', 'GATEWAY_ADMIN_KEY', 'CONSOLE_AGENT_URLS', 'AGENT_SERVER_USERNAME'],
      ...['AGENT_SERVER_PASSWORD', 'CONSOLE_BRIDGE_URL', 'CONSOLE_BRIDGE_KEY', 'RELAY_JOURNAL', 'CONSOLE_USERS'],
      ...['CONSOLE_SECRET', 'CONSOLE_DATA_DIRECTORY', 'CONSOLE_TRUST_HEADER', 'CONSOLE_NOTIFY_URL'],
    ],
  };
  for (const [service, { entries }] of Object.entries({
    gateway: GatewayVariables,
    agent: AgentVariables,
    bridge: BridgeVariables,
    console: ConsoleVariables,
  })) {
    check(`are for the ${service} all that it knows, but for those that have values of their own`, () => {
      const known = Object.keys(entries).filter((name) => !ELSEWHERE[service]?.includes(name));
      assert.equal(Object.keys(schema.properties[service].properties.env.properties).sort(), known.sort());
    });
  }
  check('find the schema where helm looks for it', () => assert.ok(existsSync(join(CHART, 'values.schema.json'))));
  check.needing(MISSING, 'arrive as they were written, large numbers too', () => {
    const env = { MAX_BODY_BYTES: 104857600, CACHE_TTL_SECONDS: 31536000 };
    const fromFile = variablesOf(only(manifests({ ...LEAST, gateway: { env } }), 'Deployment'));
    assert.equal([fromFile.MAX_BODY_BYTES, fromFile.CACHE_TTL_SECONDS], ['104857600', '31536000']);
    const fromLine = variablesOf(only(manifests(LEAST, set('gateway.env.MAX_BODY_BYTES=104857600')), 'Deployment'));
    assert.is(fromLine.MAX_BODY_BYTES, '104857600');
  });
  check.needing(MISSING, 'leave proxies out unless they are set', () => {
    const named = (values: object) =>
      Object.keys(variablesOf(only(manifests({ ...LEAST, ...values }), 'Deployment'))).filter((name) =>
        name.endsWith('_PROXY'),
      );
    assert.equal(named({}), []);
    assert.equal(named({ proxy: { httpsProxy: 'http://proxy.test:3128' } }), ['HTTPS_PROXY']);
    const proxy = { httpsProxy: 'http://p.test:1', httpProxy: 'http://p.test:2', noProxy: '.svc' };
    assert.equal(named({ proxy }).sort(), ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']);
  });
});
