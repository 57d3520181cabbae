import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { demoAgentConfig } from '../../../src/demo/agent-config.ts';
import { JUDGE_MODEL } from '../../../src/demo/judge/judge.ts';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { KEY } from '../../runtime/client.ts';
import { freePort, ROOT } from '../../runtime/processes.ts';
import { type Engine, type Output, ran } from './engine.ts';
import { BASE, POSTGRES, PREFIX, REDIS } from './images.ts';
import { STAGE_PORTS } from './stage-ports.ts';

export const PASSWORD = 'canary-compose-password-51c2';
export const BRIDGE_KEY = 'canary-compose-bridge-key-9e07';
export const DATABASE_PASSWORD = 'canary-compose-database-88fb';
const ADMIN_KEY = 'canary-compose-admin-key-b2f9';
export const CONSOLE_SECRET = 'canary-compose-console-secret-0a4d7e';
export const MODEL_KEY = 'canary-compose-model-key-3d84';

export type Project = {
  readonly directory: string;
  /** docker-compose with the repository's compose.yaml, to its end. */
  readonly compose: (...words: string[]) => Promise<Output>;
  /** Brings services up and waits until those that are waited for are healthy. */
  readonly up: (profiles: readonly string[], ...services: string[]) => Promise<void>;
  readonly services: () => Promise<readonly string[]>;
  /** The name of the container of a service. */
  readonly container: (service: string) => Promise<string>;
  readonly address: (service: keyof Ports) => string;
  readonly end: () => Promise<void>;
};

type Ports = {
  readonly gateway: number;
  readonly agent: number;
  readonly bridge: number;
  readonly replicas: number;
  readonly agent1: number;
  readonly agent2: number;
  readonly bridgeReplicas: number;
  readonly console: number;
};

/** All of them, before any word of docker-compose that is to mean every service. */
export const EVERY_PROFILE = ['agent', 'console', 'replicas', 'shared'].flatMap((profile) => ['--profile', profile]);

const ALIASES = ['moderation-fast', 'moderation-standard', 'moderation-accurate', 'omni-moderation-latest'];
const HEALTH_EVERY_MS = 300;
const SOCKET_LIMIT_MS = 10_000;

const settingsFor = (ports: Ports): Readonly<Record<string, string | number>> => ({
  APP_ENV: 'production',
  MODERATION_API_KEYS: KEY,
  BACKEND_BASE_URL: `http://stage:${STAGE_PORTS.judge}`,
  MODERATION_MODELS: JSON.stringify(Object.fromEntries(ALIASES.map((alias) => [alias, JUDGE_MODEL]))),
  AGENT_SERVER_PASSWORD: PASSWORD,
  BRIDGE_API_KEYS: BRIDGE_KEY,
  MODEL_API_KEY: MODEL_KEY,
  RELAY_BASE_URL: `http://stage:${STAGE_PORTS.relay}`,
  RELAY_ALLOWED_HOST: 'stage',
  RELAY_ADMIN_API_KEY: DEMO_ADMIN_KEY,
  IMAGE_PREFIX: PREFIX,
  REDIS_IMAGE: REDIS,
  POSTGRES_IMAGE: POSTGRES,
  POSTGRES_PASSWORD: DATABASE_PASSWORD,
  PUBLISH_GATEWAY: `127.0.0.1:${ports.gateway}`,
  PUBLISH_AGENT: `127.0.0.1:${ports.agent}`,
  PUBLISH_BRIDGE: `127.0.0.1:${ports.bridge}`,
  PUBLISH_REPLICAS: `127.0.0.1:${ports.replicas}`,
  PUBLISH_AGENT_1: `127.0.0.1:${ports.agent1}`,
  PUBLISH_AGENT_2: `127.0.0.1:${ports.agent2}`,
  PUBLISH_BRIDGE_REPLICAS: `127.0.0.1:${ports.bridgeReplicas}`,
  PUBLISH_CONSOLE: `127.0.0.1:${ports.console}`,
  GATEWAY_ADMIN_KEY: ADMIN_KEY,
  CONSOLE_BRIDGE_KEY: BRIDGE_KEY,
  CONSOLE_SECRET,
});

/** The toys, beside what compose.yaml says. */
const STAGE = {
  services: {
    stage: {
      image: BASE,
      volumes: [`${ROOT}:/repository:ro`],
      entrypoint: ['/nodejs/bin/node', '--no-warnings', '/repository/test/deploy/container/stage.ts'],
    },
  },
};

const agentConfig = () => {
  const example = JSON.parse(readFileSync(join(ROOT, 'agent.example.json'), 'utf8'));
  const config = demoAgentConfig(example, { model: `http://stage:${STAGE_PORTS.model}`, relay: {} });
  // As in the example, the key comes by a variable.
  config.provider.demo.options.apiKey = '{env:MODEL_API_KEY}';
  return config;
};

/** podman's answer to docker's own API, which docker-compose speaks. */
const startSocket = async ({ directory, storage, variables }: Engine) => {
  const address = `unix://${join(directory, 'podman.sock')}`;
  const service = spawn('podman', [...storage, 'system', 'service', '--time', '0', address], {
    env: variables,
    stdio: 'ignore',
  });
  process.on('exit', () => service.kill('SIGKILL'));
  const deadline = performance.now() + SOCKET_LIMIT_MS;
  while ((await ran('podman', ['--remote', '--url', address, 'version'], variables)).code !== 0) {
    if (performance.now() > deadline) throw new Error('podman offers no socket');
    await sleep(100);
  }
  return { address, end: () => service.kill('SIGTERM') };
};

/** A directory with the repository's compose.yaml, a .env and an agent.json, and beside them the toys. */
export const openProject = async (engine: Engine): Promise<Project> => {
  const directory = join(engine.directory, 'project');
  mkdirSync(directory);
  const ports: Ports = {
    gateway: await freePort(),
    agent: await freePort(),
    bridge: await freePort(),
    replicas: await freePort(),
    agent1: await freePort(),
    agent2: await freePort(),
    bridgeReplicas: await freePort(),
    console: await freePort(),
  };
  copyFileSync(join(ROOT, 'compose.yaml'), join(directory, 'compose.yaml'));
  writeFileSync(join(directory, 'stage.yaml'), JSON.stringify(STAGE));
  writeFileSync(join(directory, 'agent.json'), JSON.stringify(agentConfig()));
  const lines = Object.entries(settingsFor(ports)).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(directory, '.env'), lines.join(''));
  const { address, end } = await startSocket(engine);
  const name = `gatehouse${process.pid}`;
  const files = ['compose.yaml', 'stage.yaml'].flatMap((file) => ['--file', join(directory, file)]);
  // Variables of whoever runs the tests would win over the file's.
  const variables = { PATH: process.env.PATH, HOME: process.env.HOME, DOCKER_HOST: address };
  const compose: Project['compose'] = (...words) =>
    ran('docker-compose', ['--project-name', name, '--project-directory', directory, ...files, ...words], variables);
  const must = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await compose(...words);
    if (code !== 0) throw new Error(`docker-compose ${words.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
    return stdout;
  };
  /** podman leaves it to systemd to look after health, and where these tests run there may be none. */
  const lookAfterHealth = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const { stdout } = await engine.podman('ps', '--quiet', '--filter', `name=${name}_`);
      for (const id of stdout.split('\n').filter((line) => line !== '')) await engine.podman('healthcheck', 'run', id);
      await sleep(HEALTH_EVERY_MS);
    }
  };
  return {
    directory,
    compose,
    async up(profiles, ...services) {
      const over = new AbortController();
      const looking = lookAfterHealth(over.signal);
      try {
        await must(
          ...profiles.flatMap((profile) => ['--profile', profile]),
          'up',
          '--detach',
          '--no-build',
          ...services,
        );
      } finally {
        over.abort();
        await looking;
      }
    },
    async services() {
      const out = await must(...EVERY_PROFILE, 'ps', '--services', '--filter', 'status=running');
      return out
        .split('\n')
        .filter((line) => line !== '')
        .sort();
    },
    async container(service) {
      return (await must(...EVERY_PROFILE, 'ps', '--quiet', service)).trim();
    },
    address: (service) => `http://127.0.0.1:${ports[service]}`,
    async end() {
      await compose(...EVERY_PROFILE, 'down', '--volumes', '--timeout', '1');
      end();
    },
  };
};

/** Asks again until the answer has this status: a port is open before the service behind it is. */
export const untilAnswered = async (url: string, init: RequestInit = {}, limitMs = 15_000): Promise<Response> => {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const answer = await fetch(url, init).catch(() => undefined);
    if (answer?.ok) return answer;
    if (performance.now() > deadline) throw new Error(`${url} does not answer: ${answer?.status}`);
    await sleep(100);
  }
};
