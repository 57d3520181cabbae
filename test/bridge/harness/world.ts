import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { createNodeHash, nodeDigest } from '../../../src/adapter/node/crypto.ts';
import { createSchemaCompiler } from '../../../src/adapter/node/json-schema.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Store, StoreChange } from '../../../src/agent/store/store.ts';
import { createAgentCalls } from '../../../src/bridge/agent/calls.ts';
import { createAgentClient } from '../../../src/bridge/agent/client.ts';
import { type AgentTransportOptions, createAgentTransport } from '../../../src/bridge/agent/servers.ts';
import { type Bridge, type BridgeOptions, createBridge } from '../../../src/bridge/app.ts';
import type { AnswerMeasurement, BridgeReadings } from '../../../src/bridge/metrics.ts';
import { createAgentTurns } from '../../../src/bridge/turns/agent/turns.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { createLog, type Log } from '../../../src/core/log.ts';
import { beginAtOnce, createTimeSlices } from '../../../src/core/time-slices.ts';
import { type AgentWorld, createAgentWorld, type WorldGiven } from '../../agent/harness/world.ts';
import { createMemoryStore } from '../../agent/store/memory-store.ts';
import { type AgentLink, type Call, createAgentLink } from './agent-link.ts';
import { NO_BRIDGE_METRICS } from './metrics.ts';
import { behindRoundRobin, bridgeCount, sumReadings } from './round-robin.ts';

export const KEY = 'key-of-the-first-client';
export const OTHER_KEY = 'key-of-another-client';

type Headers_ = Readonly<Record<string, string>>;

export type BridgeWorld = Pick<AgentLink, 'calls' | 'cutStreams' | 'hold' | 'breakOff'> & {
  readonly agent: AgentWorld;
  /** How much the agent had stored when this world began. */
  readonly since: number;
  readonly bridge: Bridge;
  readonly logged: string[];
  readonly answers: AnswerMeasurement[];
  readonly readings: () => BridgeReadings;
  readonly send: (path: string, body?: unknown, headers?: Headers_, signal?: AbortSignal) => Promise<Response>;
  /** A chat completion, whole, that is expected to be answered with 200. */
  readonly chat: (body: ChatBody, headers?: Headers_) => Promise<ChatReply>;
  /** The data of a stream's events. */
  readonly chunks: (body: ChatBody, headers?: Headers_) => Promise<readonly string[]>;
  /** Puts another handler in the agent's place, or nothing: then nobody answers. */
  readonly replaceAgent: AgentLink['replace'];
  /** Ends the agent as a process that is killed, without a word. Nobody answers until another is started. */
  readonly killAgent: () => void;
  /** Another agent over what the first one has stored. */
  readonly startAgent: (given?: WorldGiven) => Promise<AgentWorld>;
  /** Another bridge over the same agent, as after a restart. It is stopped with this one. */
  readonly restart: () => Promise<BridgeWorld>;
  /** The same after the bridge was killed: it says nothing more to the agent, whose runs go on. */
  readonly restartKilled: () => Promise<BridgeWorld>;
  readonly stop: () => Promise<void>;
};

export type ChatBody = {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly [more: string]: unknown;
};
export type ChatReply = {
  readonly text: string;
  readonly name: string;
  readonly headers: Headers;
  readonly json: {
    readonly id: string;
    readonly created: number;
    readonly model: string;
    readonly choices: readonly {
      readonly message: { readonly content: string; readonly reasoning_content?: string };
      readonly finish_reason: string;
    }[];
    readonly usage: Readonly<Record<string, number>>;
    readonly gatehouse?: { readonly approvals: readonly { readonly id: string; readonly tool: string }[] };
  };
};

export type BridgeGiven = WorldGiven & {
  readonly settings?: Partial<BridgeOptions['settings']>;
  readonly isForThisMachine?: boolean;
  /** What the process of a bridge may use. */
  readonly memoryBytes?: number;
  readonly over?: AgentWorld;
  /** Other ways than the world's own link, to several servers. */
  readonly ways?: Pick<AgentTransportOptions, 'baseUrls' | 'httpClient' | 'stream'>;
  /** The bridge's time; the agent always keeps the machine's. */
  readonly clock?: Clock;
  /** So many bridges with nothing in common but the agent. Requests go to one after the other. */
  readonly bridges?: number;
  /** By how much the clock of each bridge is ahead of the machine's; behind, if negative. */
  readonly aheadMs?: readonly number[];
};

const SETTINGS: BridgeOptions['settings'] = {
  keys: [KEY, OTHER_KEY],
  agent: { baseUrls: [], credentials: undefined },
  agentName: undefined,
  defaultModel: undefined,
  chunkSize: 0,
  chunkDelayMs: 0,
  dropsLeadingEcho: false,
  asksInChat: true,
  onDisconnect: { kind: 'abort' },
  matching: 'prefix',
  showsTools: true,
  showsReasoning: true,
  heartbeat: 'comment',
  corsOrigins: [],
  bodyLimitBytes: 20 * 1024 * 1024,
  answersAtATime: 500,
};

const modelNamed = (id: string, variants: unknown = {}) => ({
  id,
  name: id,
  limit: { context: 1000, output: 100 },
  variants,
});
const PROVIDERS = {
  providers: [
    { id: 'demo', name: 'Demo', models: { main: modelNamed('main', { high: {} }), small: modelNamed('small') } },
  ],
  default: { demo: 'main' },
};
/** What the agents of these worlds say of their models. */
export const SHOWN = {
  config: { model: 'demo/main', small_model: 'demo/small' },
  provider: {},
  configProviders: PROVIDERS,
  agent: [],
  command: [],
};

/** The machine's time until it is ended: then nothing falls due any more, and no timer keeps the process. */
const createOwnClock = () => {
  const timers = new Set<() => void>();
  let isOver = false;
  const clock: Clock = {
    now: systemClock.now,
    after(delayMs, task) {
      if (isOver) return () => {};
      const cancel = systemClock.after(delayMs, () => {
        timers.delete(cancel);
        task();
      });
      timers.add(cancel);
      return () => {
        timers.delete(cancel);
        cancel();
      };
    },
  };
  return {
    clock,
    end() {
      isOver = true;
      for (const cancel of timers) cancel();
    },
  };
};

const aheadBy = ({ now, after }: Clock, ms: number): Clock => ({ now: () => now() + ms, after });

/** What was stored through a store, in order. */
const changesOf = new WeakMap<Store, StoreChange[]>();

/** The same store, of which is known what was stored. */
const recorded = (store: Store): Store => {
  if (changesOf.has(store)) return store;
  const changes: StoreChange[] = [];
  const recording: Store = {
    ...store,
    async commit(...given: Parameters<Store['commit']>) {
      const done = await store.commit(...given);
      changes.push(...given[0]);
      return done;
    },
  };
  changesOf.set(recording, changes);
  return recording;
};

/** An agent on the machine's own clock, with ids that no other one makes. */
export const startAgentWorld = (given: WorldGiven): Promise<AgentWorld> => {
  const ids = createIds(systemClock, randomBytes);
  const store = recorded(given.store ?? createMemoryStore({ ids }));
  return createAgentWorld({
    ...given,
    store,
    changes: { clock: systemClock, ids, configViews: SHOWN, ...given.changes },
  });
};

type BridgePlace = Pick<AgentTransportOptions, 'baseUrls' | 'httpClient' | 'stream'> & {
  readonly settings: BridgeOptions['settings'];
  readonly isForThisMachine: boolean;
  readonly memoryBytes: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly recordAnswer: (facts: AnswerMeasurement) => void;
};

/** One bridge, which shares nothing with another but what it is given. */
const startBridge = (place: BridgePlace): { readonly bridge: Bridge; readonly readings: () => BridgeReadings } => {
  const { settings, isForThisMachine, memoryBytes, clock, log, recordAnswer, ...transport } = place;
  let read = (): BridgeReadings => sumReadings([]);
  const reach = createAgentTransport({ ...transport, credentials: undefined, clock, log });
  const runInSlices = beginAtOnce(createTimeSlices(clock));
  const callAgent = createAgentCalls({ transport: reach, clock, runInSlices });
  const bridge = createBridge({
    settings,
    isForThisMachine,
    memoryBytes,
    agent: createAgentClient(callAgent),
    turns: createAgentTurns({ transport: reach, callAgent, clock, chance: () => 0, runInSlices }),
    servers: reach.servers,
    clock,
    log,
    meter: {
      ...NO_BRIDGE_METRICS,
      recordAnswer,
      watch(now) {
        read = now;
      },
    },
    digest: nodeDigest,
    newHash: createNodeHash,
    runInSlices,
    compileSchema: createSchemaCompiler(),
    newId: () => randomBytes(10).toString('hex'),
    version: '0.0.0-test',
    isStopping: () => false,
  });
  return { bridge, readings: () => read() };
};

/** A bridge, or several behind a round-robin, over an agent server, all in this process and on the machine's own clock. */
export const createBridgeWorld = async (given: BridgeGiven = {}): Promise<BridgeWorld> => {
  const ownClock = createOwnClock();
  const {
    settings,
    over,
    ways,
    clock = ownClock.clock,
    isForThisMachine = false,
    memoryBytes = 1024 ** 3,
    ...more
  } = given;
  const { bridges: count = bridgeCount(), aheadMs = [], ...agentGiven } = more;
  const agent = over ?? (await startAgentWorld(agentGiven));
  const agents = [agent];
  const since = (changesOf.get(agent.store) ?? []).length;
  let next: BridgeWorld | undefined;
  const link = createAgentLink(agent.server.handler);
  const logged: string[] = [];
  const answers: AnswerMeasurement[] = [];
  const log = createLog({ level: 'debug', service: 'bridge', clock, write: (line) => void logged.push(line) });
  const place: BridgePlace = {
    ...(ways ?? { ...link, baseUrls: ['http://agent.test'] }),
    settings: { ...SETTINGS, ...settings },
    isForThisMachine,
    memoryBytes,
    clock,
    log,
    recordAnswer: (facts) => void answers.push(facts),
  };
  const startNumber = (index: number) => startBridge({ ...place, clock: aheadBy(clock, aheadMs[index] ?? 0) });
  const first = startNumber(0);
  const others = Array.from({ length: count - 1 }, (_, index) => startNumber(index + 1));
  const bridge = behindRoundRobin([first.bridge, ...others.map((other) => other.bridge)]);
  const send: BridgeWorld['send'] = (path, body, headers = {}, signal) =>
    bridge.handler(
      new Request(`http://bridge.test${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${KEY}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
    );
  return {
    ...link,
    agent,
    since,
    bridge,
    logged,
    answers,
    readings: () => sumReadings([first, ...others].map(({ readings }) => readings())),
    send,
    async chat(body, headers) {
      const response = await send('/v1/chat/completions', body, headers);
      const whole = await response.text();
      if (response.status !== 200) throw new Error(`${response.status} ${whole}`);
      const json = JSON.parse(whole) as ChatReply['json'];
      const text = json.choices[0]?.message.content ?? '';
      return { text, json, headers: response.headers, name: response.headers.get('x-session-id') ?? '' };
    },
    async chunks(body, headers) {
      const response = await send('/v1/chat/completions', { ...body, stream: true }, headers);
      return dataIn(await response.text());
    },
    replaceAgent: link.replace,
    killAgent() {
      link.replace(undefined);
      link.breakOff();
    },
    async startAgent(more = {}) {
      const another = await startAgentWorld({ ...agentGiven, ...more, store: agent.store });
      agents.push(another);
      link.replace(another.server.handler);
      return another;
    },
    async restart() {
      await bridge.stop();
      next = await createBridgeWorld({ ...given, over: agent });
      return next;
    },
    async restartKilled() {
      link.replace(undefined);
      link.breakOff();
      next = await createBridgeWorld({ ...given, over: agent });
      return next;
    },
    async stop() {
      await next?.stop();
      await bridge.stop();
      for (const { server } of agents) await server.stop();
      ownClock.end();
    },
  };
};

/** The same, ended whatever comes of `body`. */
export const withBridge = async (given: BridgeGiven, body: (world: BridgeWorld) => Promise<void>): Promise<void> => {
  const world = await createBridgeWorld(given);
  try {
    await body(world);
  } finally {
    await world.stop();
  }
};

type Stored = Pick<BridgeWorld, 'agent' | 'since'>;

/** The data of the events of a stream, without its comments. */
export const dataIn = (stream: string): readonly string[] =>
  stream
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length));

type Chunk = {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
  readonly type?: string;
  readonly delta?: string;
};

/** The text of one chunk, or of one event of a response; empty for one that says nothing. */
export const contentIn = (line: string): string => {
  if (line === '[DONE]') return '';
  const { choices, type, delta } = JSON.parse(line) as Chunk;
  if (type === 'response.output_text.delta') return delta ?? '';
  return choices?.[0]?.delta?.content ?? '';
};

/** The text that a stream of chunks adds up to. */
export const joinedIn = (data: readonly string[]): string => data.map(contentIn).join('');

export const user = (content: unknown) => ({ role: 'user', content });
export const assistant = (content: string) => ({ role: 'assistant', content });
export const system = (content: string) => ({ role: 'system', content });

/** Calls of one kind, such as `POST /session/:id/abort`. */
export const callsTo = ({ calls }: Pick<BridgeWorld, 'calls'>, method: string, path: RegExp): readonly Call[] =>
  calls.filter((call) => call.method === method && path.test(call.path));

/** What was stored since this world was there. */
const storedIn = ({ agent, since }: Stored): readonly StoreChange[] => (changesOf.get(agent.store) ?? []).slice(since);

/** Sessions that were created at the agent, none below another. */
export const sessionsMade = ({ agent, since }: Stored): readonly string[] => {
  const all = changesOf.get(agent.store) ?? [];
  const created = (changes: readonly StoreChange[]): readonly string[] =>
    changes.flatMap((change) =>
      (change.kind === 'session' || change.kind === 'session-begun') && change.session.parentID === undefined
        ? [change.session.id]
        : [],
    );
  const before = new Set(created(all.slice(0, since)));
  return [...new Set(created(all.slice(since)))].filter((id) => !before.has(id));
};
export const sessionsDeleted = (world: Stored): readonly string[] =>
  storedIn(world).flatMap((change) => (change.kind === 'session-removed' ? [change.sessionID] : []));
/** Turns that were begun at the agent. */
export const turnsBegun = (world: Stored) =>
  storedIn(world).flatMap((change) => (change.kind === 'turn' && change.before === undefined ? [change.turn] : []));
/** Prompts that were sent to the agent: turns that continue another one have none. */
export const prompts = (world: Stored): readonly string[] => [
  ...new Set(
    turnsBegun(world).flatMap(({ promptID, messageIDs }) => (messageIDs.includes(promptID) ? [promptID] : [])),
  ),
];
/** Ids of answers of the agent that were aborted. */
export const aborts = (world: Stored): readonly string[] => {
  const aborted = storedIn(world).flatMap((change) =>
    change.kind === 'message' &&
    change.message.role === 'assistant' &&
    change.message.error?.name === 'MessageAbortedError'
      ? [change.message.id]
      : [],
  );
  return [...new Set(aborted)];
};

/** Requests that begin a turn, or join one. */
export const begins = (world: Pick<BridgeWorld, 'calls'>) => callsTo(world, 'POST', /^\/gatehouse\/turns$/);

/** Looks again and again, in the machine's own time. */
export const until = async (isSo: () => boolean | Promise<boolean>, what = 'it'): Promise<void> => {
  const endsAt = Date.now() + 8000;
  while (!(await isSo())) {
    if (Date.now() > endsAt) throw new Error(`${what} never came to be`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
};

/** Time in which something that must not happen could. */
export const quietTime = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
