import type { Action, Rule } from '../../../../src/agent/protocol/types.ts';
import { calling, createAgentWorld, outcome, replying, toolNamed, type WorldGiven } from '../../harness/world.ts';

/** A rule for one tool, or for all. */
export const rule = (action: Action, permission = '*', pattern = '*'): Rule => ({ permission, pattern, action });

/** A call of the tool that `paying` offers. */
export const PAY = { name: 'pay', input: { amount: '5' } };

/** A world in which the model wants to pay, once, and then says so. */
export const paying = async (action: Action, given: WorldGiven = {}) => {
  const paid: unknown[] = [];
  const pay = toolNamed('pay', async (input) => {
    paid.push(input);
    return outcome('paid');
  });
  const world = await createAgentWorld({
    tools: [pay, toolNamed('look')],
    rules: [rule(action)],
    scripts: [calling(PAY), replying('done'), calling(PAY), replying('done'), calling(PAY), replying('done')],
    ...given,
  });
  return { world, paid };
};
