import type { Part } from '../../../../src/agent/protocol/types.ts';
import { answersIn, isQuiet, messagesOf, until } from '../../harness/permission-requests.ts';
import type { AgentWorld } from '../../harness/world.ts';

/** Waits until no session works. */
export const idle = (world: AgentWorld): Promise<void> => until(world, () => isQuiet(world));

/** The last answer of a session. */
export const lastOf = async (
  world: AgentWorld,
  id: string,
): Promise<{ readonly parts: readonly Part[]; readonly info: { readonly parentID: string } }> => {
  const last = answersIn(await messagesOf(world, id)).at(-1);
  if (last === undefined) throw new Error('no answer');
  return last;
};
