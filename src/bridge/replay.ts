import type { AgentModel, Prompt } from './agent/types.ts';
import type { Asked, Said } from './openai/request.ts';

/**
 * What was said elsewhere, for a session that has not heard it. As JSON, so that nothing said in it can look like its end, and
 * in a part of its own, which stands before the user's words.
 */
const earlierWords = (said: readonly Said[]): string =>
  [
    'Earlier in this conversation the following was said. It is context only: answer the message after it.',
    JSON.stringify(
      said.map(({ role, text }) => ({ role, text })),
      undefined,
      1,
    ),
  ].join('\n');

/** The prompt for the agent. */
export const promptFor = (
  asked: Asked,
  replay: readonly Said[],
  { model, agent }: { readonly model: AgentModel | undefined; readonly agent: string | undefined },
): Prompt => ({
  parts: [
    ...(replay.length === 0 ? [] : [{ type: 'text' as const, text: earlierWords(replay), synthetic: true }]),
    ...replay.flatMap(({ files = [] }) => files),
    ...asked.prompt,
  ],
  model: model === undefined ? undefined : { providerID: model.providerID, modelID: model.modelID },
  variant: asked.effort !== undefined && model?.variants.includes(asked.effort) ? asked.effort : undefined,
  agent,
  system: asked.system,
  hasTools: !asked.isTask,
});
