import { nodeHexDigest } from '../../../src/adapter/node/crypto.ts';
import { createSchemaCompiler } from '../../../src/adapter/node/json-schema.ts';
import type { AgentCatalog } from '../../../src/agent/agents/catalog.ts';
import { type AgentServer, createAgentServer } from '../../../src/agent/app.ts';
import type { ChatModel, ModelEvent, ModelRequest } from '../../../src/agent/model/types.ts';
import type { AgentServerNeeds } from '../../../src/agent/parts.ts';
import type { AgentEvent } from '../../../src/agent/protocol/events.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import { createSingleServer } from '../../../src/agent/store/cluster.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import type { AgentTool, ToolOutcome } from '../../../src/agent/tools/tool.ts';
import { isRecord } from '../../../src/core/json.ts';
import { createLog } from '../../../src/core/log.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { type CatalogGiven, catalogOf } from './catalog.ts';
import { NO_AGENT_METRICS } from './metrics.ts';

/** What a scripted model does when it is asked: it may look at what it was told. */
export type Script = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>;

const TOKENS = { input: 10, output: 5, reasoning: 0, cache: { read: 0, write: 0 }, total: 15 };

/** Says a text and is done. */
export const replying = (...deltas: readonly string[]): Script =>
  async function* () {
    for (const delta of deltas) yield { kind: 'text', delta };
    yield { kind: 'finished', finish: 'stop', tokens: TOKENS };
  };

/** Asks for tool calls. */
export const calling = (
  ...calls: readonly { readonly name: string; readonly input: unknown; readonly raw?: string }[]
): Script =>
  async function* (request) {
    for (const [index, { name, input, raw = JSON.stringify(input) }] of calls.entries()) {
      const id = `call-${request.messages.length}-${index}`;
      yield { kind: 'call-begun', id, name };
      yield { kind: 'call', id, name, input, raw };
    }
    yield { kind: 'finished', finish: 'tool-calls', tokens: TOKENS };
  };

/** Fails. */
export const failing = (error: unknown): Script =>
  // biome-ignore lint/correctness/useYield: a model that fails says nothing before
  async function* () {
    throw error;
  };

/** Waits until it is left. */
export const hanging: Script = async function* (_request, signal) {
  yield { kind: 'text', delta: 'thinking' };
  await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
};

export type AgentWorld = {
  readonly server: AgentServer;
  readonly clock: FakeClock;
  readonly store: Store;
  readonly catalog: AgentCatalog;
  readonly logged: string[];
  /** What the model was asked, in order. Requests for titles are left out. */
  readonly asked: ModelRequest[];
  readonly titles: ModelRequest[];
  /** Calls a route and hands on its answer. */
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** The JSON of a route that is expected to answer 200. */
  readonly get: (path: string) => Promise<unknown>;
  readonly post: (path: string, body?: unknown) => Promise<unknown>;
  /** A session's id. */
  readonly session: (given?: unknown) => Promise<string>;
  /** Every event there was. */
  readonly events: () => Promise<readonly AgentEvent[]>;
};

export type WorldGiven = CatalogGiven & {
  /** What the model does, call after call; the last one stays. */
  readonly scripts?: readonly Script[];
  readonly tools?: readonly AgentTool[];
  readonly store?: Store;
  readonly changes?: Partial<AgentServerNeeds>;
  /** Is given the world before its server is started. */
  readonly onBuilt?: (world: AgentWorld) => void;
};

/** A tool that answers with a text. */
export const toolNamed = (name: string, run: AgentTool['run'] = async () => outcome('done')): AgentTool => ({
  name,
  description: `The tool ${name}`,
  inputSchema: { type: 'object' },
  patternsFor: () => ['*'],
  run,
});
export const outcome = (output: string, isError = false): ToolOutcome => ({ output, title: '', metadata: {}, isError });

/** An agent server in memory, with a scripted model and tools of the test's own, on a clock that stands still. */
export const createAgentWorld = async (given: WorldGiven = {}): Promise<AgentWorld> => {
  const clock = createFakeClock();
  let count = 0;
  const ids = createIds(clock, (length) => {
    count += 1;
    return Uint8Array.from({ length }, (_, index) => (count >> (4 * (length - 1 - index))) & 15);
  });
  const store = given.store ?? createMemoryStore({ ids });
  const scripts = [...(given.scripts ?? [replying('hello')])];
  const asked: ModelRequest[] = [];
  const titles: ModelRequest[] = [];
  const model: ChatModel = (request, signal) => {
    if (request.system.includes('Generate a title')) {
      titles.push(request);
      return replying('A fine title')(request, signal);
    }
    asked.push(request);
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    return (script ?? replying('hello'))(request, signal);
  };
  const catalog = catalogOf(given);
  const logged: string[] = [];
  const server = createAgentServer({
    clock,
    log: createLog({ level: 'debug', service: 'agent', clock, write: (line) => void logged.push(line) }),
    ids,
    newId: () => 'test',
    runInSlices: createTimeSlices(given.changes?.clock ?? clock),
    chance: () => 0,
    digest: nodeHexDigest,
    compileSchema: createSchemaCompiler(),
    version: '0.0.0-test',
    directory: '/srv/desk',
    credentials: undefined,
    isForThisMachine: false,
    store,
    peers: createSingleServer(store),
    catalog,
    configViews: { config: {}, provider: {}, configProviders: {}, agent: [], command: [] },
    model,
    mcp: () => ({
      start: () => {},
      settled: () => undefined,
      statuses: () => ({}),
      instructions: () => [],
      connect: async () => 'not-found',
      disconnect: async () => 'not-found',
      tools: () => given.tools ?? [],
      stop: async () => {},
    }),
    outputLimits: { maxLines: 2000, maxBytes: 51_200 },
    permissionTimeoutMs: 300_000,
    permissionOnceOnly: ['desk_*'],
    turnTimeoutMs: 1_800_000,
    clientToolTimeoutMs: 86_400_000,
    drainMs: 0,
    retention: {},
    memory: { limitBytes: 33_554_432, memoryBytes: 4 * 1024 ** 3 },
    metrics: NO_AGENT_METRICS,
    ...given.changes,
  });
  const call: AgentWorld['call'] = async (method, path, body, headers = {}) =>
    server.handler(
      new Request(`http://agent.test${path}`, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  const expecting = async (response: Response): Promise<unknown> => {
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${text}`);
    return JSON.parse(text);
  };
  const world: AgentWorld = {
    server,
    clock,
    store,
    catalog,
    logged,
    asked,
    titles,
    call,
    get: async (path) => expecting(await call('GET', path)),
    post: async (path, body) => expecting(await call('POST', path, body)),
    async session(body = {}) {
      const made = await expecting(await call('POST', '/session', body));
      if (!isRecord(made) || typeof made.id !== 'string') throw new Error('no session');
      return made.id;
    },
    events: async () => (await store.events({ afterID: '', limit: 100_000 })).map(({ event }) => event),
  };
  given.onBuilt?.(world);
  await server.start();
  return world;
};

/** A prompt that holds a text. */
export const prompt = (text: string, more: Readonly<Record<string, unknown>> = {}) => ({
  parts: [{ type: 'text', text }],
  ...more,
});
