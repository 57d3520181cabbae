import type { Part } from './protocol/types.ts';

/** Longer than this no file is told: every event is stored, and sent to everybody who listens. */
const FILE_LIMIT_CHARS = 64 * 1024;

/**
 * A part as events tell it. The content of a file that is not small is left out: `data:<type>;omitted,` stands for it, and
 * the message itself has it.
 */
export const toldPart = (part: Part): Part =>
  part.type === 'file' && part.url.length > FILE_LIMIT_CHARS ? { ...part, url: `data:${part.mime};omitted,` } : part;
