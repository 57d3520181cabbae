import type { Action, Rule, Session } from '../../../../src/agent/protocol/types.ts';
import { calling, createAgentWorld, type Script, type WorldGiven } from '../../harness/world.ts';

export const rule = (action: Action, permission = '*', pattern = '*'): Rule => ({ permission, pattern, action });

export const TASK = { description: 'count the beans', prompt: 'Count them all.', subagent_type: 'helper' };

/** Rules of an agent that may hand on what was handed to it. */
export const HANDING_ON = [rule('allow'), rule('allow', 'task')];

export const task = (input: unknown = TASK): Script => calling({ name: 'task', input });

/** A world in which the first agent hands its work to a helper. */
export const handing = async (scripts: readonly Script[], given: WorldGiven = {}) => {
  const world = await createAgentWorld({
    agents: [
      { name: 'helper', canTakeTasks: true, canAnswerPrompts: false, prompt: 'You help.', description: 'helps' },
    ],
    scripts,
    ...given,
  });
  return { world, id: await world.session({ directory: '/srv/desk' }) };
};

export type World = Awaited<ReturnType<typeof createAgentWorld>>;

export const childOf = async (world: World, id: string): Promise<Session> => {
  const [child] = (await world.get(`/session/${id}/children`)) as readonly Session[];
  if (child === undefined) throw new Error('no child');
  return child;
};
