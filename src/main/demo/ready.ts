import { systemClock } from '../../adapter/node/clock.ts';
import { isRecord } from '../../core/json.ts';
import { ServiceEnded } from './process.ts';

const TOOLS_LIMIT_MS = 15_000;
const LOOK_EVERY_MS = 25;

const pause = (ms: number): Promise<void> => new Promise((settle) => systemClock.after(ms, settle));

const areToolsThere = async (agent: string): Promise<boolean> => {
  const statuses: unknown = await (await fetch(`${agent}/mcp`)).json();
  const tools = isRecord(statuses) ? statuses['relay-admin'] : undefined;
  return isRecord(tools) && tools.status === 'connected';
};

/** Until the agent server has its tools. */
export const toolsAt = async (agent: string): Promise<void> => {
  for (let waitedMs = 0; !(await areToolsThere(agent)); waitedMs += LOOK_EVERY_MS) {
    if (waitedMs > TOOLS_LIMIT_MS) throw new ServiceEnded('relay-admin');
    await pause(LOOK_EVERY_MS);
  }
};

/** Until the bridge has heard from the agent server. */
export const modelsAt = async (bridge: string, key: string): Promise<void> => {
  const { ok } = await fetch(`${bridge}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  if (!ok) throw new ServiceEnded('bridge');
};
