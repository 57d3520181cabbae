import { isRecord } from '../../core/json.ts';
import { McpServerError } from './errors.ts';

/** What a tool answered, as a text for the model. An error is the tool's own, and its words are data. */
export type McpResult = { readonly text: string; readonly isError: boolean };

const RESULT_LIMIT_BYTES = 1_000_000;
const MEDIA_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/;
const LINK_LIMIT_CHARS = 500;

const encoder = new TextEncoder();

const sizeOf = (base64: unknown): string => {
  const bytes = typeof base64 === 'string' ? Math.floor((base64.length * 3) / 4) : 0;
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
};
const mediaTypeOf = (given: unknown): string =>
  typeof given === 'string' && MEDIA_TYPE.test(given) ? given : 'of unknown type';

/** A block of a result that is text, or else one line that says what it is. */
type Told = { readonly text?: string; readonly summary?: string };

const toldOfResource = (resource: unknown): Told => {
  if (!isRecord(resource)) return { summary: '[resource]' };
  if (typeof resource.text === 'string') return { text: resource.text };
  return { summary: `[resource ${mediaTypeOf(resource.mimeType)}, ${sizeOf(resource.blob)}]` };
};
const toldOf = (block: unknown): Told => {
  if (!isRecord(block)) return {};
  const { type, text, mimeType, data, resource, uri } = block;
  if (type === 'text') return typeof text === 'string' ? { text } : {};
  if (type === 'image' || type === 'audio') return { summary: `[${type} ${mediaTypeOf(mimeType)}, ${sizeOf(data)}]` };
  if (type === 'resource') return toldOfResource(resource);
  if (type === 'resource_link' && typeof uri === 'string')
    return { summary: `[link to ${uri.slice(0, LINK_LIMIT_CHARS)}]` };
  return { summary: '[a block of an unknown kind]' };
};

const bounded = (text: string): string => {
  const whole = text.toWellFormed();
  if (whole.length * 3 <= RESULT_LIMIT_BYTES) return whole;
  const { read } = encoder.encodeInto(whole, new Uint8Array(RESULT_LIMIT_BYTES));
  if (read === whole.length) return whole;
  return `${whole.slice(0, read)}\n[the tool answered with ${whole.length - read} more characters, which were dropped]`;
};

const jsonOf = (value: unknown): string => {
  try {
    return JSON.stringify(value);
  } catch {
    // So deep that it cannot be written.
    throw new McpServerError('unusable', 'The answer is nested too deeply');
  }
};

/**
 * The text of a tool's answer. A success that has structured content is told by that alone, as its texts only repeat it;
 * an error is told by its texts. Throws a `McpProblem` when it is no answer at all.
 */
export const resultFrom = (answer: unknown): McpResult => {
  const { content = [], structuredContent, isError } = isRecord(answer) ? answer : {};
  if (!Array.isArray(content)) throw new McpServerError('unusable', 'The answer is not what the protocol says');
  const told = content.map(toldOf);
  const texts = told.flatMap(({ text }) => text ?? []);
  const failed = isError === true;
  const isStructured = isRecord(structuredContent) && (!failed || texts.length === 0);
  const words = isStructured ? [jsonOf(structuredContent)] : texts;
  const text = [...words, ...told.flatMap(({ summary }) => summary ?? [])].join('\n\n');
  return { text: text === '' ? '[the tool answered with nothing]' : bounded(text), isError: failed };
};
