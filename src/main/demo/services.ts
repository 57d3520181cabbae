import { newId } from '../../adapter/web-crypto.ts';
import type { Variables } from '../../core/config.ts';
import { DEMO_MODEL_NAME } from '../../demo/agent-config.ts';
import type { DemoAddresses } from '../../demo/help.ts';
import { JUDGE_MODEL } from '../../demo/judge/judge.ts';
import { DEMO_ADMIN_KEY, SECRETS } from '../../demo/relay/records/secrets.ts';
import type { Credit } from '../../demo/relay/world.ts';
import { startToys, type Toys } from './backends.ts';
import { createDemoFiles, type DemoFiles } from './files.ts';
import type { Ports } from './port.ts';
import { type DemoProcess, type ProcessNeeds, ServiceEnded, startProcess } from './process.ts';
import { checkModels, waitForTools } from './ready.ts';
import type { StopSignals } from './signals.ts';
import { agentVariables, bridgeVariables, consoleVariables, gatewayVariables } from './variables.ts';

type DemoNeeds = StopSignals & {
  readonly variables: Variables;
  readonly key: string;
  readonly ports: Ports;
};

export type RunningDemo = {
  readonly facts: DemoAddresses;
  readonly relayCredits: readonly Credit[];
  /** Rejects when a service ends by itself. */
  readonly failure: Promise<never>;
};

type Begin = (needs: ProcessNeeds) => DemoProcess;

/** Starts a service on its port, or on any free one, whose reason then goes to `moved`. Resolves with its address. */
const addressOf = async (begin: Begin, needs: ProcessNeeds, moved: string[]): Promise<string> => {
  const { service, variables } = needs;
  const first = begin({ ...needs, mayChangePort: true });
  try {
    return await first.address;
  } catch (error) {
    if (!first.hasPortConflict()) throw error;
    const address = await begin({ ...needs, variables: { ...variables, PORT: '0' } }).address;
    moved.push(`port ${variables.PORT} is in use, so the ${service} is at ${address}`);
    return address;
  }
};

/** Starts the services concurrently, except the bridge and the console, which need the addresses of those before them. */
const startAll = async (
  { variables, key, ports }: DemoNeeds,
  { toys, files, begin }: { readonly toys: Toys; readonly files: DemoFiles; readonly begin: Begin },
): Promise<DemoAddresses> => {
  const { directory, client } = files;
  const { judge, model, relay } = toys;
  const moved: string[] = [];
  const adminKey = `admin-${newId()}`;
  const ofGateway = gatewayVariables(variables, { port: ports.gateway, key, adminKey, judge });
  const gateway = begin({ service: 'gateway', variables: ofGateway, directory: process.cwd() });
  const ofAgent = agentVariables(variables, { port: ports.agent, files });
  const agent = await addressOf(begin, { service: 'agent', variables: ofAgent, directory }, moved);
  const ofBridge = bridgeVariables(variables, { port: ports.bridge, agent, key });
  const bridge = await addressOf(begin, { service: 'bridge', variables: ofBridge, directory }, moved);
  const gatewayAddress = await gateway.address;
  const ofConsole = consoleVariables(variables, {
    ...{ port: ports.console, gateway: gatewayAddress, adminKey, agent, bridge, key, files },
  });
  const [console] = await Promise.all([
    addressOf(begin, { service: 'console', variables: ofConsole, directory }, moved),
    waitForTools(agent),
    checkModels(bridge, key),
  ]);
  toys.moderateRelay(gatewayAddress);
  return {
    console,
    gateway: gatewayAddress,
    agent,
    bridge,
    judge,
    judgeModel: JUDGE_MODEL,
    model,
    modelName: DEMO_MODEL_NAME,
    relay,
    relayKey: SECRETS.userKey,
    key,
    adminKey: DEMO_ADMIN_KEY,
    client,
    moved,
  };
};

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((settle) => {
    if (signal.aborted) settle(undefined);
    else signal.addEventListener('abort', () => settle(undefined), { once: true });
  });

/** Stops the services in reverse order, so that none loses a service that it uses. */
const endAll = async (started: readonly DemoProcess[], forced: AbortSignal): Promise<number> => {
  forced.addEventListener('abort', () => void started.map((one) => one.end('hard')), { once: true });
  if (forced.aborted) for (const one of started) void one.end('hard');
  let worst = 0;
  for (const one of started.toReversed()) {
    const code = await one.end();
    if (!one.hasPortConflict()) worst = Math.max(worst, code);
  }
  return worst;
};

/**
 * Starts all services, runs `body` and returns its exit code, or 0 when the demo was stopped before. Afterwards everything
 * that was started or written is removed, also after an error. Rejects with `ServiceEnded`.
 */
export const withDemoServices = async (
  needs: DemoNeeds,
  body: (world: RunningDemo) => Promise<number>,
): Promise<number> => {
  const toys = await startToys(needs.ports.relay, needs.key);
  const files = createDemoFiles(toys);
  const started: DemoProcess[] = [];
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  let isOver = false;
  const begin: Begin = (given) => {
    // The demo is over: start nothing more.
    if (isOver) throw new ServiceEnded(given.service);
    const process = startProcess(given);
    started.push(process);
    void process.ended.then(() => {
      if (!process.hasPortConflict()) failure.reject(new ServiceEnded(given.service, process.endedBy()));
    });
    return process;
  };
  let code = 0;
  let endCode = 0;
  try {
    const starting = startAll(needs, { toys, files, begin });
    starting.catch(() => {});
    const facts = await Promise.race([starting, failure.promise, aborted(needs.stopping)]);
    if (facts !== undefined) code = await body({ facts, relayCredits: toys.relayCredits, failure: failure.promise });
  } finally {
    isOver = true;
    endCode = await endAll(started, needs.forced);
    await toys.stop();
    files.remove();
  }
  return Math.max(code, endCode);
};
