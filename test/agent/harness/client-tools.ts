import type { Session, ToolPart } from '../../../src/agent/protocol/types.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import type { Answer } from './permission-requests.ts';
import { type AgentWorld, prompt } from './world.ts';

/** Tools that run at the client. */
export const WEATHER = {
  name: 'weather',
  description: 'The weather of a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
export const CLOCK = { name: 'clock', inputSchema: { type: 'object' } };
export const clientTools = (more: object = {}) => ({ clientTools: { tools: [WEATHER, CLOCK], ...more } });

/** Calls of a scripted model. */
export const weatherCall = { name: 'weather', input: { city: 'Oslo' } };
export const clockCall = { name: 'clock', input: {} };

type Taken = { readonly accepted: string[]; readonly settled: string[]; readonly waiting: string[] };

/** Prompts with client tools, and waits for the answer. */
export const askWithTools = async (world: AgentWorld, id: string, more: object = clientTools()): Promise<Answer> =>
  (await world.post(`/session/${id}/message`, prompt('what is the weather?', { ...more }))) as Answer;

export const callsOf = ({ parts }: Pick<Answer, 'parts'>): readonly ToolPart[] =>
  parts.filter((part) => part.type === 'tool');
export const callIDsOf = (answer: Pick<Answer, 'parts'>): readonly string[] =>
  callsOf(answer).map(({ callID }) => callID);

/** Why a call failed. */
export const errorOf = (part: ToolPart | undefined): string | undefined =>
  part?.state.status === 'error' ? part.state.error : undefined;

export const giveResults = async (
  world: AgentWorld,
  id: string,
  results: readonly object[],
  more: object = {},
): Promise<Taken> => (await world.post(`/session/${id}/client-tool-results`, { results, ...more })) as Taken;

export const sessionAt = async (world: AgentWorld, id: string): Promise<Session> =>
  (await world.get(`/session/${id}`)) as Session;

/** The same object whose methods, and those of objects in it, are made by `wrap`. */
export const wrapMethods = <Wrapped extends object>(
  inner: Wrapped,
  wrap: (name: string, method: (...given: readonly unknown[]) => unknown) => (...given: readonly unknown[]) => unknown,
): Wrapped =>
  Object.fromEntries(
    Object.entries(inner).map(([name, value]) => [
      name,
      typeof value === 'function'
        ? wrap(name, value)
        : wrapMethods(value, (below, method) => wrap(`${name}.${below}`, method)),
    ]),
  ) as unknown as Wrapped;

/** The store of a server that may be killed: after that nothing of the server comes to the store. */
export const killableStore = (store: Store) => {
  let isKilled = false;
  const guarded = wrapMethods(
    store,
    (_, method) =>
      (...given) =>
        isKilled ? new Promise(() => {}) : method(...given),
  );
  const kill = (): void => {
    isKilled = true;
  };
  return { store: guarded, kill };
};
