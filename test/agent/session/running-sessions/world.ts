import type { Script } from '../../harness/world.ts';

/** The last text that the model was told. */
export const lastReported = (request: Parameters<Script>[0]): string => {
  const last = request.messages.at(-1);
  const piece = last?.role === 'user' ? last.content.at(-1) : undefined;
  return piece?.kind === 'text' ? piece.text : '';
};
