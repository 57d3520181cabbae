import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import manifest from '../../../package.json' with { type: 'json' };
import { readTracingSettings, TracingVariables } from '../../../src/adapter/opentelemetry/settings.ts';
import { readAgentSettings } from '../../../src/agent/settings.ts';
import { readBridgeSettings } from '../../../src/bridge/settings.ts';
import { readGatewayConfig } from '../../../src/gateway/settings/config.ts';
import { describe } from '../../check.ts';
import { ROOT } from '../../runtime/processes.ts';

type Service = {
  readonly image: string;
  readonly profiles?: readonly string[];
  readonly build?: { readonly target: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly unknown[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart?: string;
  readonly mem_limit?: string;
  readonly stop_grace_period?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly stop_signal?: string;
  readonly network_mode?: string;
  readonly tmpfs?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
};

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const FILE = read('compose.yaml');
const SERVICES: Readonly<Record<string, Service>> = parse(FILE, { merge: true }).services;
const all = Object.entries(SERVICES);
const inProfile = (profile: string | undefined): string[] =>
  all.filter(([, { profiles = [] }]) => profiles[0] === profile).map(([name]) => name);
const DOCKERFILE = read('Dockerfile');
const GATEWAY_EXAMPLE = read('.env.example');
/** Names of variables that this file reads itself. */
const own = [...FILE.matchAll(/\$\{([A-Z_0-9]+)/g)].map(([, name = '']) => name);

describe('compose.yaml', (check) => {
  check(
    'has the gateway alone without a profile, agent and bridge in one, and what runs twice with what it shares in two',
    () => {
      assert.equal(inProfile(undefined), ['gateway']);
      assert.equal(inProfile('agent'), ['agent', 'bridge']);
      assert.equal(inProfile('console'), ['console']);
      assert.equal(inProfile('replicas'), ['postgres', 'agent-1', 'agent-2', 'bridge-replicas']);
      assert.equal(inProfile('shared'), ['redis', 'replica-1', 'replica-2']);
    },
  );
  check('gives every service a root file system to read, no capability, a memory limit and a way back', () => {
    for (const [name, service] of all) {
      assert.is(service.read_only, true, name);
      assert.equal(service.cap_drop, ['ALL'], name);
      assert.equal(service.security_opt, ['no-new-privileges:true'], name);
      // What is set in .env has a default here.
      const limit = service.mem_limit?.replace(/^\$\{GATEWAY_MEMORY:-(.+)\}$/, '$1') ?? '';
      assert.match(limit, /^\d+[mg]$/, name);
      assert.is(service.restart, 'unless-stopped', name);
    }
  });
  check('gives every service more time to stop than the ten seconds and one that it takes', () => {
    for (const [name, { stop_grace_period: grace = '' }] of all) assert.ok(Number.parseInt(grace, 10) > 11, name);
  });
  check('asks every service for its health without a shell, ours as their image does', () => {
    for (const [name, { healthcheck, build }] of all) {
      assert.is(healthcheck?.test[0], 'CMD', name);
      if (build === undefined) continue;
      const [, words = ''] = healthcheck?.test ?? [];
      assert.is(words, 'node');
      const stage = DOCKERFILE.split(/^FROM /m).find((text) => text.split('\n')[0]?.endsWith(` AS ${build.target}`));
      const [, command = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(stage ?? '') ?? [];
      assert.equal(healthcheck?.test.slice(1), JSON.parse(command), name);
    }
  });
  check('starts no service before those are healthy that it needs', () => {
    const needs = all.flatMap(([name, { depends_on = {} }]) =>
      Object.entries(depends_on).map(([other, { condition }]) => `${name} ${other} ${condition}`),
    );
    assert.equal(needs, [
      'bridge agent service_healthy',
      'agent-1 postgres service_healthy',
      'agent-2 postgres service_healthy',
      'bridge-replicas agent-1 service_healthy',
      'bridge-replicas agent-2 service_healthy',
      'replica-1 redis service_healthy',
      'replica-2 redis service_healthy',
    ]);
  });
  check('names images of the version that the Dockerfile names, and builds each from its target', () => {
    for (const [name, { image, build }] of all) {
      if (build === undefined) continue;
      assert.is(image, `\${IMAGE_PREFIX:-gatehouse}-${build.target}:v${manifest.version}`, name);
      assert.match(DOCKERFILE, new RegExp(`^FROM \\S+ AS ${build.target}$`, 'm'));
    }
    assert.match(DOCKERFILE, `org.opencontainers.image.version="v${manifest.version}"`);
  });
  check('lets the gateways alone be reached from elsewhere unless it is configured otherwise', () => {
    const ports = all.flatMap(([name, { ports: [port = ''] = [] }]) => [`${name} ${/:-(.*?)\}:/.exec(port)?.[1]}`]);
    assert.equal(ports, [
      'gateway 8000',
      'agent 127.0.0.1:4000',
      'bridge 127.0.0.1:4100',
      'console 127.0.0.1:4200',
      'postgres undefined',
      'agent-1 127.0.0.1:4001',
      'agent-2 127.0.0.1:4002',
      'bridge-replicas 127.0.0.1:4101',
      'redis undefined',
      'replica-1 8001',
      'replica-2 undefined',
    ]);
  });
  check('gives .env to gateways alone, without the secrets that are for other services', () => {
    const secrets = all
      .filter(([, { env_file }]) => env_file === undefined)
      .flatMap(([, { environment = {} }]) => Object.entries(environment))
      // The gateway's admin key is its own, and the console's too.
      .filter(([name]) => /_(?:KEYS?|PASSWORD|SECRET|USERS)$|NOTIFY_URL$/.test(name) && name !== 'GATEWAY_ADMIN_KEY')
      .map(([name]) => name);
    assert.ok(secrets.length > 3);
    for (const [name, { env_file, environment = {} }] of all) {
      const isGateway = name === 'gateway' || name.startsWith('replica-');
      assert.equal(env_file, isGateway ? ['.env'] : undefined, name);
      if (isGateway)
        assert.equal(
          secrets.filter((secret) => environment[secret] !== ''),
          [],
          name,
        );
    }
  });
  check('gives the agent every variable that the example configuration takes', () => {
    const taken = [...read('agent.example.json').matchAll(/\{env:(\w+)\}/g)].map(([, name = '']) => name);
    const given = Object.keys(SERVICES.agent?.environment ?? {});
    assert.ok(taken.length > 3);
    assert.equal(
      taken.filter((name) => !given.includes(name)),
      [],
    );
  });
  check(
    'gives every service that sends spans the variables of tracing that are not its own, and they may stay empty',
    () => {
      const ownNames = ['OTEL_SERVICE_NAME', 'OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'];
      const names = Object.keys(TracingVariables.entries).filter((name) => !ownNames.includes(name));
      for (const service of ['agent', 'bridge', 'agent-1', 'agent-2', 'bridge-replicas'])
        for (const name of names) assert.is(SERVICES[service]?.environment?.[name], `\${${name}:-}`, service);
      const empty = Object.fromEntries(names.map((name) => [name, '']));
      assert.is(readTracingSettings(empty), undefined);
      const { url } = readTracingSettings({ ...empty, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }) ?? {};
      assert.is(url, 'http://collector:4318/v1/traces');
      // Its relay admin has them by its command: the configuration would have to name each.
      assert.equal(JSON.parse(read('agent.example.json')).mcp['relay-admin'].command[0], 'gatehouse');
    },
  );
  check('keeps what the agent remembers on a volume, and the journal of every agent server on the same', () => {
    for (const name of ['agent', 'agent-1', 'agent-2'])
      assert.is(SERVICES[name]?.volumes?.[1], 'agent-data:/data', name);
    assert.equal(Object.keys(parse(FILE, { merge: true }).volumes), ['agent-data', 'agent-database', 'console-data']);
  });
  check('keeps what the console remembers on a volume, in a directory of its image that its user may write', () => {
    const { environment, volumes } = SERVICES.console ?? {};
    assert.is(volumes?.[1], `console-data:${environment?.CONSOLE_DATA_DIRECTORY}`);
    assert.match(DOCKERFILE, `/out${environment?.CONSOLE_DATA_DIRECTORY} `);
  });
  check('runs agent servers on one database that are alike in all but their port, and a bridge before each', () => {
    const [one, other] = [SERVICES['agent-1'], SERVICES['agent-2']];
    assert.equal({ ...one, ports: [] }, { ...other, ports: [] });
    const { AGENT_DATABASE_URL = '', ...environment } = one?.environment ?? {};
    assert.equal(environment, SERVICES.agent?.environment);
    const filled = AGENT_DATABASE_URL.replace('${POSTGRES_PASSWORD:-}', 'letters');
    const { POSTGRES_USER, POSTGRES_DB } = SERVICES.postgres?.environment ?? {};
    assert.is(filled, `postgres://${POSTGRES_USER}:letters@postgres:5432/${POSTGRES_DB}`);
    assert.is(readAgentSettings({ AGENT_DATABASE_URL: filled }).database.kind, 'postgres');
    const { AGENT_BASE_URL = '' } = SERVICES['bridge-replicas']?.environment ?? {};
    const { agent } = readBridgeSettings({ AGENT_BASE_URL }, () => undefined);
    assert.equal(agent.baseUrls, ['http://agent-1:4000', 'http://agent-2:4000']);
  });
  check('runs two gateways on one port and one Redis that are alike in all but where the port is published', () => {
    const [one, other] = [SERVICES['replica-1'], SERVICES['replica-2']];
    const own = { ports: undefined, network_mode: undefined };
    assert.equal({ ...one, ...own }, { ...other, ...own });
    assert.equal([one?.ports?.length, other?.ports, other?.network_mode], [1, undefined, 'service:replica-1']);
    const { settings } = readGatewayConfig(one?.environment ?? {});
    assert.equal([settings.REUSE_PORT, settings.REDIS_URL], ['true', 'redis://redis:6379']);
  });
  check("keeps the database on a volume, and ends it in the way that does not wait for the agents' connections", () => {
    const { volumes, stop_signal, environment, tmpfs } = SERVICES.postgres ?? {};
    const [, place = ''] = String(volumes?.[0]).split(':');
    assert.ok(environment?.PGDATA?.startsWith(`${place}/`));
    assert.is(stop_signal, 'SIGINT');
    assert.equal(tmpfs, ['/run/postgresql:mode=1777', '/tmp:mode=1777']);
  });
  check("reads no variable that docs/containers.md does not explain, unless it is the gateway's", () => {
    const page = read('docs/containers.md');
    const unexplained = own.filter((name) => !page.includes(`\`${name}\``) && !GATEWAY_EXAMPLE.includes(`${name}=`));
    assert.equal(unexplained, []);
  });
});

describe('.dockerignore', (check) => {
  check('lets nothing into a build but what the Dockerfile copies', () => {
    const [first, ...let_in] = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    const copied = [...DOCKERFILE.matchAll(/^COPY ((?:(?!--)\S+ )+)\S+$/gm)].flatMap(([, files = '']) =>
      files.trim().split(' '),
    );
    assert.is(first, '*');
    assert.equal(
      let_in.map((line) => line.slice(1)).sort(),
      [...new Set(copied.map((file) => file.split('/')[0] ?? ''))].sort(),
    );
  });
});
