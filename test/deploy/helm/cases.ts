import type { Values } from './world.ts';

/** With the least that the chart asks for. */
export const LEAST: Values = { secrets: { existingSecret: 'moderation-keys' } };

export const AGENT: Values = { enabled: true, existingSecret: 'agent-secrets' };
export const BRIDGE: Values = { enabled: true, existingSecret: 'bridge-secrets' };
export const CONSOLE: Values = { enabled: true, existingSecret: 'console-secrets' };
/** Agent and bridge beside the gateway. */
export const ALL: Values = { ...LEAST, agent: AGENT, bridge: BRIDGE };

const RELAY: Values = {
  enabled: true,
  baseUrl: 'http://relay.apps.svc.cluster.local:8080',
  allowedHost: 'relay.apps.svc.cluster.local',
};

export const DATABASE: Values = { existingSecret: 'agent-database' };

/** What is rendered, and has to be valid, by name. */
export const CASES: Readonly<Record<string, Values>> = {
  least: LEAST,
  'created-secret': {
    secrets: { create: true, values: { BACKEND_API_KEYS: 'backend-one,backend-two', MODERATION_API_KEYS: 'client' } },
  },
  'own-backend': {
    ...LEAST,
    backend: { baseUrl: 'http://ollama.models.svc:11434' },
    networkPolicy: { egress: { gateway: [11434] } },
  },
  ingress: { ...LEAST, ingress: { enabled: true }, gateway: { env: { MAX_BODY_BYTES: 8388608 } } },
  scaled: {
    ...LEAST,
    gateway: { autoscaling: { enabled: true } },
    admin: { existingSecret: 'operators' },
    redis: { existingSecret: 'shared-redis' },
    proxy: { httpsProxy: 'http://proxy.corp.test:3128', noProxy: '.svc,.cluster.local' },
    networkPolicy: {
      enabled: true,
      egress: { gateway: [3128, 6379] },
      clients: {
        gateway: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }],
      },
    },
    metrics: { scrapeAnnotations: true },
  },
  configured: {
    secrets: { existingSecret: 'vault-keys', keys: { BACKEND_API_KEYS: 'cloud', MODERATION_API_KEYS: 'clients' } },
    image: { registry: 'registry.corp.test/team', tag: 'v0.1.1', pullSecrets: ['registry-login'] },
    config: {
      models: {
        'moderation-fast': 'gpt-oss-safeguard:20b',
        seeing: { model: 'qwen3-vl:32b', vision: true, think: false },
      },
      policy: {
        version: 'acme-1',
        categories: { illicit: { threshold: 0.6, guidance: 'Betting under 20 is legal here: "<&>".' } },
      },
    },
    gateway: {
      replicaCount: 3,
      drainSeconds: 30,
      env: { LOG_LEVEL: 'warn', REQUEST_DEADLINE_MS: 40000, RATE_LIMIT_RPM: 1000000, CACHE_MAX_ENTRIES: '0' },
      extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=180' }],
      topologySpreadConstraints: [],
      podAnnotations: { team: 'trust' },
    },
    serviceAccount: { create: false, name: 'existing' },
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    tolerations: [{ key: 'llm', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [] }] } },
    },
  },
  console: {
    ...ALL,
    admin: { existingSecret: 'operators' },
    console: { ...CONSOLE, ingress: { enabled: true }, env: { CONSOLE_PUBLIC_URL: 'https://console.example.com' } },
    networkPolicy: { enabled: true },
  },
  'agent-and-bridge': { ...ALL, networkPolicy: { enabled: true } },
  monitored: {
    ...ALL,
    metrics: {
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' }, agentUsernameKey: 'username' },
    },
  },
  traced: {
    ...ALL,
    agent: { ...AGENT, relay: RELAY },
    tracing: {
      endpoint: 'http://collector.observability.svc:4318',
      headersSecret: { name: 'collector' },
      sampler: 'parentbased_traceidratio',
      samplerArg: 0.01,
      resourceAttributes: { 'deployment.environment.name': 'production', team: 'trust & safety' },
    },
    networkPolicy: { egress: { gateway: [4318], agent: [4318, 8080], bridge: [4318] } },
  },
  // Nothing but DNS for the agent, and no rule without ports, which would let it out everywhere.
  'agent-kept-in': { ...ALL, networkPolicy: { enabled: true, egressPorts: [] } },
  'agent-with-relay': {
    ...LEAST,
    agent: { ...AGENT, relay: RELAY, persistence: { existingClaim: 'old-sessions' } },
    proxy: { httpsProxy: 'http://proxy.corp.test:3128', httpProxy: 'http://proxy.corp.test:3128', noProxy: '.svc' },
    networkPolicy: { enabled: true, egress: { agent: [3128, 8080] } },
  },
  'agents-on-postgresql': {
    gateway: { enabled: false },
    agent: {
      ...AGENT,
      replicaCount: 3,
      database: { existingSecret: 'agent-database', key: 'uri' },
      env: { AGENT_LEASE_SECONDS: 8, AGENT_RETENTION_DAYS: 30 },
      drainSeconds: 60,
    },
    bridge: BRIDGE,
    networkPolicy: { enabled: true, egress: { agent: [6543] } },
  },
  'relay-on-postgresql': {
    gateway: { enabled: false },
    agent: { ...AGENT, relay: RELAY, database: DATABASE },
    networkPolicy: { enabled: true, egress: { agent: [5432, 8080] } },
  },
  'bridge-alone': {
    gateway: { enabled: false },
    fullnameOverride: 'chat',
    bridge: {
      ...BRIDGE,
      replicaCount: 2,
      agent: { baseUrl: 'http://opencode.agents.svc:4096', username: 'opencode' },
      env: { DEFAULT_MODEL: 'cloud/gpt-oss-120b', BRIDGE_HEARTBEAT: 'off' },
      ingress: { enabled: true, hosts: [{ host: 'chat.corp.test' }], tls: [] },
    },
    networkPolicy: { enabled: true, egress: { bridge: [4096] } },
  },
};

/** Those whose values differ most: what they render is kept in the snapshots. Of the others, checks name what matters. */
export const SNAPSHOT_CASES = ['agents-on-postgresql', 'configured', 'console', 'least', 'scaled', 'traced'] as const;
