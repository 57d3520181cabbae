import type { AgentTool } from '../../../../src/agent/tools/tool.ts';
import { calling, createAgentWorld, outcome, replying, toolNamed } from '../../harness/world.ts';

type Call = { readonly name: string; readonly input: unknown; readonly raw?: string };

/** A world in which the model calls once and then says what it has heard. */
export const worldWith = (tools: readonly AgentTool[], ...calls: readonly Call[]) =>
  createAgentWorld({ tools, scripts: [calling(...calls), replying('done')] });

/** The results that the model was told of, in the order of its last request. */
export const resultsSent = (world: Awaited<ReturnType<typeof createAgentWorld>>) =>
  (world.asked.at(-1)?.messages ?? []).flatMap((outputText) => (outputText.role === 'tool' ? outputText.results : []));

/** Keeps a tool running until the test lets it go. */
export const held = (name: string, begun: string[]) => {
  const gate = Promise.withResolvers<void>();
  const tool = toolNamed(name, async () => {
    begun.push(name);
    await gate.promise;
    return outcome(`${name} is done`);
  });
  return { tool, release: gate.resolve };
};
