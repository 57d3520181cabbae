import { CHILD_FILE } from '../../agent/tools/mcp/child.ts';
import { bridgeCount } from '../../bridge/harness/round-robin.ts';
import { type AgentProcess, addressOf, PASSWORD, USER, untilReady } from '../agent/process.ts';
import { type AgentWorld, plainConfig, type Settings, until, withAgentWorld } from '../agent/world.ts';
import { bundle, type Running, start } from '../processes.ts';
import { startRoundRobin } from './round-robin.ts';

export const BRIDGE_KEY = 'canary-bridge-key-77b0c4';
export const OTHER_BRIDGE_KEY = 'canary-bridge-key-0d19ee';

export type BridgeProcess = {
  readonly running: Running;
  /** Without a slash at its end. */
  readonly address: string;
  /** What clients call it by: the address with `/v1`. */
  readonly baseURL: string;
  readonly send: (path: string, init?: RequestInit) => Promise<Response>;
};

export type BridgeWorld = AgentWorld & {
  readonly agent: AgentProcess;
  readonly bridge: BridgeProcess;
  readonly startBridge: (more?: Settings) => Promise<BridgeProcess>;
};

type BridgeGiven = {
  readonly config?: Readonly<Record<string, unknown>>;
  /** Models of the agent's provider beside those it always has, by their keys. */
  readonly models?: Readonly<Record<string, unknown>>;
  readonly agent?: Settings;
  readonly bridge?: Settings;
  /** What the bridge runs on, and what stands before the bundle. */
  readonly command?: string;
  readonly flags?: readonly string[];
};

/** Starts the bridge bundle with these settings alone, and waits for nothing. */
export const beginBridge = (variables: Settings, { command, flags = [] }: BridgeGiven = {}): Running =>
  start(command ?? process.execPath, [...flags, bundle('bridge.js')], {
    variables: { HOST: '127.0.0.1', PORT: '0', ...variables },
  });

/** Starts the bridge bundle before an agent server, and waits until it is ready. */
export const startBridgeAt = async (
  agent: { readonly address: string; readonly user: string; readonly password: string },
  given: BridgeGiven = {},
): Promise<BridgeProcess> => {
  const settings = {
    AGENT_BASE_URL: agent.address,
    AGENT_SERVER_USERNAME: agent.user,
    AGENT_SERVER_PASSWORD: agent.password,
    BRIDGE_API_KEYS: `${BRIDGE_KEY},${OTHER_BRIDGE_KEY}`,
  };
  const running = beginBridge({ ...settings, ...given.bridge }, given);
  const address = await addressOf(running);
  await untilReady(running, address);
  return { running, ...callsTo(address) };
};

/** How a bridge at an address is called. */
const callsTo = (address: string): Omit<BridgeProcess, 'running'> => {
  const send: BridgeProcess['send'] = (path, { headers, ...init } = {}) =>
    fetch(address + path, {
      ...init,
      headers: { authorization: `Bearer ${BRIDGE_KEY}`, 'content-type': 'application/json', ...headers },
    });
  return { address, baseURL: `${address}/v1`, send };
};

/** Runs the body beside a scripted model, an agent server and a bridge, and ends them all. */
export const inBridgeWorld = (given: BridgeGiven, body: (world: BridgeWorld) => Promise<void>) => (): Promise<void> =>
  withAgentWorld(async (world) => {
    const started: BridgeProcess[] = [];
    const { provider } = plainConfig(world.modelAddress, given.models);
    const agent = await world.start({ config: { provider, ...given.config }, variables: given.agent ?? {} });
    const startBridge = async (more: Settings = {}): Promise<BridgeProcess> => {
      const place = { address: agent.address, user: USER, password: PASSWORD };
      const bridge = await startBridgeAt(place, { ...given, bridge: { ...given.bridge, ...more } });
      started.push(bridge);
      return bridge;
    };
    let stopRoundRobin = (): void => {};
    /** One bridge, or several as one: each request goes to the next. */
    const startBridges = async (): Promise<BridgeProcess> => {
      const first = await startBridge();
      if (bridgeCount() === 1) return first;
      const others = await Promise.all(Array.from({ length: bridgeCount() - 1 }, () => startBridge()));
      const { address, stop } = await startRoundRobin([first, ...others].map((bridge) => bridge.address));
      stopRoundRobin = stop;
      return { ...first, ...callsTo(address) };
    };
    try {
      await body({ ...world, agent, bridge: await startBridges(), startBridge });
    } finally {
      stopRoundRobin();
      await Promise.all(started.map(({ running }) => running.kill()));
    }
  });

/** An agent with tools: of its tool server `echo` runs by itself, `noise` needs leave; so does work for `careful`. */
export const TOOLS_CONFIG = {
  permission: { '*': 'deny', tools_echo: 'allow', tools_noise: 'ask', task: { '*': 'allow', careful: 'ask' } },
  agent: {
    helper: { mode: 'subagent', description: 'Helps with one thing' },
    careful: { mode: 'subagent', description: 'Helps with leave' },
  },
  mcp: { tools: { type: 'local', command: [process.execPath, CHILD_FILE] } },
} as const;

/** Waits until the agent has connected its tool server. */
export const untilToolsAreThere = ({ ask }: AgentProcess): Promise<void> =>
  until('the tool server is connected', async () => {
    const { json } = await ask<Readonly<Record<string, { readonly status: string }>>>('GET', '/mcp');
    return json.tools?.status === 'connected';
  });

type Within<World> = (body: (world: World) => Promise<void>) => Promise<void>;
type Opened<World> = { readonly world: World; readonly end: () => Promise<void> };

/** A world that stays until it is ended. */
const openWorld = <World>(within: Within<World>): Promise<Opened<World>> => {
  const opened = Promise.withResolvers<Opened<World>>();
  const ending = Promise.withResolvers<void>();
  const over = within((world) => {
    opened.resolve({
      world,
      end() {
        ending.resolve();
        return over;
      },
    });
    return ending.promise;
  });
  over.catch(opened.reject);
  return opened.promise;
};

/**
 * One world for all the checks of a file: it begins with the first and ends after the last of those that were declared.
 * Nothing is scripted, and nothing counts as asked, when a check begins.
 */
export const sharedWorld = <World extends Pick<AgentWorld, 'model'>>(within: Within<World>) => {
  let left = 0;
  let shared: Promise<Opened<World>> | undefined;
  return (body: (world: World) => Promise<void>): (() => Promise<void>) => {
    left += 1;
    return async () => {
      shared ??= openWorld(within);
      const { world, end } = await shared;
      try {
        world.model.clear();
        await body(world);
      } finally {
        left -= 1;
        if (left === 0) await end();
      }
    };
  };
};

/** The same with an agent of ours and its tools. */
export const sharedBridgeWorld = (given: BridgeGiven = {}) =>
  sharedWorld<BridgeWorld>((body) =>
    inBridgeWorld({ ...given, config: { ...TOOLS_CONFIG, ...given.config } }, async (world) => {
      await untilToolsAreThere(world.agent);
      await body(world);
    })(),
  );
