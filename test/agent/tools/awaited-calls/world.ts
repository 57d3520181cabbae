import { askWithTools, callIDsOf, callsOf, clockCall, errorOf, weatherCall } from '../../harness/client-tools.ts';
import { answersIn, isQuiet, messagesOf, until } from '../../harness/permission-requests.ts';
import { type AgentWorld, calling, createAgentWorld, replying, type WorldGiven } from '../../harness/world.ts';

export const HOUR_MS = 3_600_000;
export const NONE: readonly string[] = [];
/** Waits until no session works. */
export const idle = (world: AgentWorld): Promise<void> => until(world, () => isQuiet(world));

/** A session whose turn waits for the results of two calls. */
export const waiting = async (given: WorldGiven = {}) => {
  const scripts = [calling(weatherCall, clockCall), ...(given.scripts ?? [replying('done')])];
  const world = await createAgentWorld({ ...given, scripts });
  const id = await world.session();
  const answer = await askWithTools(world, id);
  const [first = '', second = ''] = callIDsOf(answer);
  return { world, id, answer, first, second };
};

/** How the calls are now. */
export const errorsAt = async (world: AgentWorld, id: string, index = 0) => {
  const answer = answersIn(await messagesOf(world, id))[index];
  return answer === undefined ? [] : callsOf(answer).map((part) => errorOf(part) ?? part.state.status);
};
