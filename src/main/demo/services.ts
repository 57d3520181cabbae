import type { Variables } from '../../core/config.ts';
import { DEMO_MODEL_NAME } from '../../demo/agent-config.ts';
import type { DemoAddresses } from '../../demo/help.ts';
import { JUDGE_MODEL } from '../../demo/judge/judge.ts';
import { DEMO_ADMIN_KEY } from '../../demo/relay/records/secrets.ts';
import type { Credit } from '../../demo/relay/world.ts';
import { startToys, type Toys } from './backends.ts';
import { createDemoFiles, type DemoFiles } from './files.ts';
import type { Ports } from './port.ts';
import { type DemoProcess, type ProcessNeeds, ServiceEnded, startProcess } from './process.ts';
import { modelsAt, toolsAt } from './ready.ts';
import type { LeavingSignals } from './signals.ts';
import { agentVariables, bridgeVariables, gatewayVariables } from './variables.ts';

export type DemoNeeds = LeavingSignals & {
  readonly variables: Variables;
  readonly key: string;
  readonly ports: Ports;
};

export type DemoWorld = {
  readonly facts: DemoAddresses;
  readonly relayCredits: readonly Credit[];
  /** Rejects when a service ends by itself. */
  readonly trouble: Promise<never>;
};

type Begin = (needs: ProcessNeeds) => DemoProcess;

/** Its address, on its own port or on any free one. */
const addressOf = async (begin: Begin, needs: ProcessNeeds): Promise<string> => {
  const process = begin({ ...needs, mayMove: true });
  try {
    return await process.address;
  } catch (error) {
    if (!process.isToMove()) throw error;
    return begin({ ...needs, variables: { ...needs.variables, PORT: '0' } }).address;
  }
};

/** Side by side, but for the bridge, which has to be told where the agent server is. */
const startAll = async (
  { variables, key, ports }: DemoNeeds,
  { toys, files, begin }: { readonly toys: Toys; readonly files: DemoFiles; readonly begin: Begin },
): Promise<DemoAddresses> => {
  const { directory, client } = files;
  const { judge, model, relay } = toys;
  const ofGateway = gatewayVariables(variables, { port: ports.gateway, key, judge });
  const gateway = begin({ service: 'gateway', variables: ofGateway, directory: process.cwd() });
  const ofAgent = agentVariables(variables, { port: ports.agent, files });
  const agent = await addressOf(begin, { service: 'agent', variables: ofAgent, directory });
  const ofBridge = bridgeVariables(variables, { port: ports.bridge, agent, key });
  const bridge = await addressOf(begin, { service: 'bridge', variables: ofBridge, directory });
  await Promise.all([toolsAt(agent), modelsAt(bridge, key)]);
  return {
    gateway: await gateway.address,
    agent,
    bridge,
    judge,
    judgeModel: JUDGE_MODEL,
    model,
    modelName: DEMO_MODEL_NAME,
    relay,
    key,
    adminKey: DEMO_ADMIN_KEY,
    client,
  };
};

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((settle) => {
    if (signal.aborted) settle(undefined);
    else signal.addEventListener('abort', () => settle(undefined), { once: true });
  });

/** The last that was started ends first: nobody loses the one behind it. */
const endAll = async (started: readonly DemoProcess[], hurrying: AbortSignal): Promise<number> => {
  hurrying.addEventListener('abort', () => void started.map((one) => one.end('hard')), { once: true });
  if (hurrying.aborted) for (const one of started) void one.end('hard');
  let worst = 0;
  for (const one of started.toReversed()) {
    const code = await one.end();
    if (!one.isToMove()) worst = Math.max(worst, code);
  }
  return worst;
};

/**
 * Runs the body beside all services, and answers with its exit code, or 0 when the demo was to end before. All that was
 * started or written is gone then, whatever came of it. Rejects with `ServiceEnded`.
 */
export const withDemoServices = async (
  needs: DemoNeeds,
  body: (world: DemoWorld) => Promise<number>,
): Promise<number> => {
  const toys = await startToys(needs.ports.relay);
  const files = createDemoFiles(toys);
  const started: DemoProcess[] = [];
  const trouble = Promise.withResolvers<never>();
  trouble.promise.catch(() => {});
  let isOver = false;
  const begin: Begin = (given) => {
    // A start that nobody waits for any more is not to go on.
    if (isOver) throw new ServiceEnded(given.service);
    const process = startProcess(given);
    started.push(process);
    void process.ended.then(() => process.isToMove() || trouble.reject(new ServiceEnded(given.service)));
    return process;
  };
  let code = 0;
  let endCode = 0;
  try {
    const starting = startAll(needs, { toys, files, begin });
    starting.catch(() => {});
    const facts = await Promise.race([starting, trouble.promise, aborted(needs.leaving)]);
    if (facts !== undefined) code = await body({ facts, relayCredits: toys.relayCredits, trouble: trouble.promise });
  } finally {
    isOver = true;
    endCode = await endAll(started, needs.hurrying);
    await toys.stop();
    files.remove();
  }
  return Math.max(code, endCode);
};
