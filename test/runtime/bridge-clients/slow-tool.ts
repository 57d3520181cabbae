import { answer, calls, type Piece, text } from '../../../src/demo/model/reply.ts';
import { isNoTitle } from '../agent/world.ts';
import { sessionsOf, TOOL } from '../bridge/clients.ts';
import type { BridgeWorld } from '../bridge/world.ts';

/** A turn that calls a tool and then takes its time: so many milliseconds, or until something has happened. */
export const scriptSlowTool = ({ model }: Pick<BridgeWorld, 'model'>, until: number | Promise<unknown>): void => {
  const waiting: Piece = typeof until === 'number' ? { kind: 'wait', ms: until } : { kind: 'wait-for', event: until };
  model.addReply(answer([...calls({ name: TOOL, arguments: { words: 'five' } })]), isNoTitle);
  model.addReply(answer([waiting, ...text('It is five.')]), (one) => one.turns.at(-1)?.role === 'tool');
};

type Listed = { readonly parts: readonly { readonly type: string }[] };

/** How often a tool was called in the newest session. */
export const callsIn = async (world: Pick<BridgeWorld, 'agent'>): Promise<number> => {
  const sessions = [...(await sessionsOf(world))].sort((left, right) => right.time.created - left.time.created);
  const { json } = await world.agent.ask<readonly Listed[]>('GET', `/session/${sessions[0]?.id}/message`);
  return json.flatMap(({ parts }) => parts.filter(({ type }) => type === 'tool')).length;
};
