import { systemClock } from '../../adapter/node/clock.ts';
import { isRecord } from '../../core/json.ts';
import { ServiceEnded } from './process.ts';

const TOOLS_LIMIT_MS = 15_000;
const POLL_EVERY_MS = 25;

const pause = (ms: number): Promise<void> => new Promise((settle) => systemClock.after(ms, settle));

const areToolsConnected = async (agent: string): Promise<boolean> => {
  const statuses: unknown = await (await fetch(`${agent}/mcp`)).json();
  const tools = isRecord(statuses) ? statuses['relay-admin'] : undefined;
  return isRecord(tools) && tools.status === 'connected';
};

/** Resolves when the agent server has its tools. Throws `ServiceEnded` after 15 seconds. */
export const waitForTools = async (agent: string): Promise<void> => {
  for (let waitedMs = 0; !(await areToolsConnected(agent)); waitedMs += POLL_EVERY_MS) {
    if (waitedMs > TOOLS_LIMIT_MS) throw new ServiceEnded('relay-admin');
    await pause(POLL_EVERY_MS);
  }
};

/** Checks that the bridge gets models from the agent server. Throws `ServiceEnded` otherwise. */
export const checkModels = async (bridge: string, key: string): Promise<void> => {
  const { ok } = await fetch(`${bridge}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  if (!ok) throw new ServiceEnded('bridge');
};
