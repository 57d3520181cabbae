import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import type { PermissionRequest } from '../../../src/agent/protocol/permissions.ts';
import type { AssistantMessage, Message, Part, Session } from '../../../src/agent/protocol/types.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import { demoScript } from '../../../src/demo/model/script.ts';
import { withModelServer } from '../../agent/harness/model-server.ts';
import { createControlledModel, type ModelControl } from '../../demo/model/control.ts';
import { type RunningRelay, startRelay } from '../../relay-admin/harness/relay-server.ts';
import { bundle, ROOT, type Running } from '../processes.ts';
import { type AgentNeeds, type AgentProcess, awaitedLater, beginAgent, PASSWORD, startAgent, USER } from './process.ts';

/** Secrets that the server is given, and that nobody may ever be shown. */
export const CANARIES = {
  modelKey: 'canary-model-key-2c81d0',
  modelHeader: 'canary-model-header-99e1b2',
  mcpVariable: 'canary-mcp-variable-41ad7c',
  mcpHeader: 'canary-mcp-header-d0773f',
  adminKey: 'admin-c4a7a917f0e1d2b3948576a6b5c4d3e2f10f2e3d4c5b6a79880716253443526f',
  password: PASSWORD,
} as const;

export type ReceivedAnswer = { readonly info: AssistantMessage; readonly parts: readonly Part[] };
export type ReceivedMessage = { readonly info: Message; readonly parts: readonly Part[] };
export type Settings = Readonly<Record<string, string | undefined>>;
type Config = Readonly<Record<string, unknown>>;
type StartMore = Partial<Omit<AgentNeeds, 'variables'>> & {
  readonly variables?: Settings;
  readonly config?: Config;
};

export type AgentWorld = {
  /** What the model says, and what it was asked. */
  readonly model: ModelControl;
  /** Where the model answers, without a slash at its end. */
  readonly modelAddress: string;
  /** An empty directory, in which the server runs. */
  readonly directory: string;
  readonly database: string;
  readonly variables: (more?: Settings, config?: Config) => Settings;
  readonly start: (more?: StartMore) => Promise<AgentProcess>;
  /** The same without waiting. */
  readonly begin: (more?: StartMore) => Running;
};

/** A configuration with one provider and two models, or more, over which more is merged at its top. */
export const plainConfig = (modelAddress: string, models: Config = {}): Config => ({
  model: 'demo/main',
  small_model: 'demo/small',
  provider: {
    demo: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Demo',
      options: { baseURL: `${modelAddress}/v1`, apiKey: '{env:MODEL_KEY}' },
      models: {
        main: {
          id: 'demo-main',
          name: 'Main',
          limit: { context: 100_000, output: 8000 },
          options: { store: false },
          variants: { low: {}, high: {} },
          reasoning: true,
          modalities: { input: ['text', 'image'], output: ['text'] },
        },
        small: { name: 'Small' },
        ...models,
      },
    },
  },
});

/** Whether the model is asked for a title, which happens beside the answers. */
export const isTitle = ({ system }: ReceivedRequest): boolean => /^Generate a title/.test(system);
export const isNoTitle = (asked: ReceivedRequest): boolean => !isTitle(asked);

/** Runs the body beside a model, and ends the model and all that was started, whatever came of it. */
export const withAgentWorld = async (body: (world: AgentWorld) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-bundle-'));
  const started: Running[] = [];
  const { handler, control } = createControlledModel({ clock: systemClock, script: demoScript });
  try {
    await withModelServer(handler, async ({ url }) => {
      const variables = (more: Settings = {}, config: Config = {}): Settings => ({
        AGENT_CONFIG_CONTENT: JSON.stringify({ ...plainConfig(url), ...config }),
        AGENT_SERVER_USERNAME: USER,
        AGENT_SERVER_PASSWORD: PASSWORD,
        AGENT_DATABASE_URL: `sqlite:${join(directory, 'agent.db')}`,
        MODEL_KEY: CANARIES.modelKey,
        ...more,
      });
      const needsOf = ({ variables: more, config, ...rest }: StartMore): AgentNeeds => ({
        directory,
        ...rest,
        variables: variables(more, config),
      });
      await body({
        model: control,
        modelAddress: url,
        directory,
        database: join(directory, 'agent.db'),
        variables,
        async start(more = {}) {
          const agent = await startAgent(needsOf(more));
          started.push(agent.running);
          return agent;
        },
        begin(more = {}) {
          const running = beginAgent(needsOf(more));
          started.push(running);
          return running;
        },
      }).finally(() => Promise.all(started.map((one) => one.kill())));
    });
  } catch (error) {
    // The failure of a fetch says in its cause what it was, and a server what it was doing.
    const logs = started.slice(-3).map((one) => `\n${one.stderr().slice(-2000)}`);
    console.log(error instanceof Error && error.cause !== undefined ? error.cause : '', ...logs);
    throw error;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

export const inAgentWorld = (body: (world: AgentWorld) => Promise<void>) => (): Promise<void> => withAgentWorld(body);

/** What makes the example configuration work with this world's model, this relay and the built tool server. */
export const exampleSettings = (
  world: Pick<AgentWorld, 'modelAddress' | 'directory'>,
  relay: RunningRelay,
  over: Config = {},
): Settings => ({
  AGENT_CONFIG: join(ROOT, 'agent.example.json'),
  AGENT_CONFIG_CONTENT: JSON.stringify({
    provider: { cloud: { options: { baseURL: `${world.modelAddress}/v1` } } },
    mcp: {
      'relay-admin': {
        command: [process.execPath, bundle('relay-admin.js')],
        cwd: world.directory,
        environment: { RELAY_JOURNAL: join(world.directory, 'journal.jsonl') },
      },
    },
    ...over,
  }),
  MODEL_API_KEY: CANARIES.modelKey,
  RELAY_BASE_URL: relay.origin,
  RELAY_ALLOWED_HOST: relay.hostname,
  RELAY_ADMIN_API_KEY: CANARIES.adminKey,
});

export type RelayWorld = AgentWorld & {
  readonly relay: RunningRelay;
  /** Starts the server with the example configuration, and waits for its tool server. */
  readonly startExample: (over?: Config) => Promise<AgentProcess>;
};

/** The same beside a relay. */
export const inRelayWorld = (body: (world: RelayWorld) => Promise<void>) => (): Promise<void> =>
  withAgentWorld(async (world) => {
    const relay = await startRelay({ adminKey: CANARIES.adminKey });
    try {
      await body({
        ...world,
        relay,
        async startExample(over) {
          const agent = await world.start({ variables: exampleSettings(world, relay, over) });
          await until('the tool server is connected', () => isConnected(agent));
          return agent;
        },
      });
    } finally {
      await relay.stop();
    }
  });

const isConnected = async ({ ask }: AgentProcess): Promise<boolean> => {
  const { json } = await ask<Readonly<Record<string, { readonly status: string }>>>('GET', '/mcp');
  return json['relay-admin']?.status === 'connected';
};

/** Waits until something that another process does is to be seen. Looks ever more seldom: a look is work for both. */
export const until = async (what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  const startedAt = performance.now();
  while (!(await isTrue())) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > 15_000) throw new Error(`waited too long until ${what}`);
    await sleep(Math.min(50, Math.max(5, waitedMs / 10)));
  }
};

export const newSession = async ({ ask }: AgentProcess, given: object = { title: 'a test' }): Promise<Session> => {
  const { status, json, text } = await ask<Session>('POST', '/session', given);
  if (status !== 200) throw new Error(`no session: ${status} ${text}`);
  return json;
};

export const textPrompt = (text: string, more: object = {}) => ({ parts: [{ type: 'text', text }], ...more });

export const prompt = (
  { ask }: AgentProcess,
  sessionID: string,
  text: string,
  more: object = {},
): Promise<ReceivedAnswer> => {
  const answered = ask<ReceivedAnswer>('POST', `/session/${sessionID}/message`, textPrompt(text, more));
  return awaitedLater(
    answered.then((reply) => {
      if (reply.status !== 200) throw new Error(`no answer: ${reply.status} ${reply.text}`);
      return reply.json;
    }),
  );
};

export const messagesOf = async ({ ask }: AgentProcess, sessionID: string): Promise<readonly ReceivedMessage[]> =>
  (await ask<readonly ReceivedMessage[]>('GET', `/session/${sessionID}/message`)).json;

export const questionsOf = async ({ ask }: AgentProcess): Promise<readonly PermissionRequest[]> =>
  (await ask<readonly PermissionRequest[]>('GET', '/permission')).json;

/** The one question that is open, as soon as it is. */
export const nextQuestion = async (agent: AgentProcess): Promise<PermissionRequest> => {
  let open: readonly PermissionRequest[] = [];
  await until('somebody is asked', async () => {
    open = await questionsOf(agent);
    return open.length > 0;
  });
  const [question, ...others] = open;
  if (question === undefined || others.length > 0) throw new Error(`${open.length} questions are open`);
  return question;
};

export const promptTexts = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** The tool calls of a turn: what was called, and what came of it. */
export const callsIn = (messages: readonly ReceivedMessage[]) =>
  messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === 'tool' ? [{ tool: part.tool, state: part.state }] : []));

/** The processes that a process has started. */
export const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number);
