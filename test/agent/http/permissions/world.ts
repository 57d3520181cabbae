import { createHash } from 'node:crypto';
import type { PermissionDecision } from '../../../../src/agent/protocol/permissions.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  outcome,
  replying,
  toolNamed,
  type WorldGiven,
} from '../../harness/world.ts';

export const ASK = { permission: '*', pattern: '*', action: 'ask' } as const;

/** A world in which every tool asks, and the model makes these calls of `pay`, one a step. */
export const paying = async (inputs: readonly unknown[], given: WorldGiven = {}) => {
  const paid: unknown[] = [];
  const pay = toolNamed('pay', async (input) => {
    paid.push(input);
    return outcome('paid');
  });
  const world = await createAgentWorld({
    tools: [pay],
    rules: [ASK],
    scripts: [...inputs.map((input) => calling({ name: 'pay', input })), replying('done')],
    ...given,
  });
  return { world, paid, id: await world.session({ title: 'the desk' }) };
};

/** What was decided, page by page. */
export const decisions = async (world: AgentWorld, query = ''): Promise<readonly PermissionDecision[]> =>
  (await world.get(`/permission/decisions${query}`)) as readonly PermissionDecision[];

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
