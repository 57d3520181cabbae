import type { AgentModel } from '../agent/types.ts';
import { badInput, type PromptFile } from '../request.ts';

/** Agents send these as texts, which every model can read. */
const TEXT_TYPE = /^(?:text\/|application\/(?:json|xml|yaml|javascript)\b)/i;

/**
 * What the adapters of our agent server send to a backend, which then decides for its model. OpenCode has them, too. Of every other
 * file the model would read a line at most, or the turn would fail.
 */
const SENT_BY_ADAPTER: Readonly<Record<string, RegExp>> = {
  '@ai-sdk/openai-compatible': /^(?:image\/.+|application\/pdf|audio\/(?:wav|mp3|mpeg))$/i,
  '@ai-sdk/openai': /^(?:image\/.+|application\/pdf)$/i,
  '@ai-sdk/anthropic': /^(?:image\/.+|application\/pdf)$/i,
};

const mediumOf = (mime: string): string =>
  mime.toLowerCase() === 'application/pdf' ? 'pdf' : (mime.split('/')[0] ?? '').toLowerCase();

type FileModel = Pick<AgentModel, 'adapter' | 'media'>;

const isTaken = (mime: string, { adapter, media }: FileModel): boolean => {
  // An agent that does not say what it sends decides itself.
  if (TEXT_TYPE.test(mime) || adapter === undefined) return true;
  return SENT_BY_ADAPTER[adapter]?.test(mime) ?? media.includes(mediumOf(mime));
};

/** An example of each kind of file, with its name for an error. */
const KINDS = [
  ['image/png', 'images'],
  ['application/pdf', 'PDF'],
  ['audio/wav', 'audio as wav or mp3'],
  ['video/mp4', 'video'],
] as const;

/** Faults with `bad-input` at the first file that the model's adapter cannot take. */
export const refuseUnsupportedFiles = (files: readonly PromptFile[], model: FileModel): void => {
  const refused = files.find(({ mime }) => !isTaken(mime, model));
  if (refused === undefined) return;
  const { at = null } = refused;
  const taken = ['texts', ...KINDS.flatMap(([mime, name]) => (isTaken(mime, model) ? [name] : []))].join(', ');
  throw badInput(
    'unsupported_value',
    at,
    `Unsupported value${at === null ? '' : ` at '${at}'`}: this model takes ${taken}. Send one of these (its data: URL or its filename says what it is), or choose another model`,
  );
};
