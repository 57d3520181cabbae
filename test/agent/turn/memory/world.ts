import * as assert from 'uvu/assert';
import { type AgentWorld, prompt, replying, type Script } from '../../harness/world.ts';

export const LIMIT_BYTES = 100_000;
/** The limits of a server whose turns together hold one budget. */
export const memory = { limitBytes: LIMIT_BYTES, memoryBytes: LIMIT_BYTES };

/** A model that notes how many calls are under way, and answers when `open` is called. */
export const createGate = () => {
  const waiting: (() => void)[] = [];
  const script: Script = async function* (request, signal) {
    const gate = Promise.withResolvers<void>();
    waiting.push(gate.resolve);
    signal.addEventListener('abort', () => gate.reject(signal.reason), { once: true });
    await gate.promise;
    yield* replying('done')(request, signal);
  };
  return { script, calls: () => waiting.length, open: () => waiting.shift()?.() };
};

/** A session with a message that takes more than half of the budget. */
export const sessionWithText = async (world: AgentWorld): Promise<string> => {
  const id = await world.session();
  const { status } = await world.call('POST', `/session/${id}/message`, {
    ...prompt('x'.repeat(60_000)),
    noReply: true,
  });
  assert.is(status, 200);
  return id;
};
