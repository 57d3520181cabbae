import { isRecord } from '../../core/json.ts';
import { McpServerError } from './errors.ts';

/** The result of a tool as a text for the model. `isError` is the tool's own error, whose text is data. */
export type McpResult = { readonly text: string; readonly isError: boolean };

const RESULT_LIMIT_BYTES = 1_000_000;
const MEDIA_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/;
const LINK_LIMIT_CHARS = 500;

const encoder = new TextEncoder();

const formatSize = (base64: unknown): string => {
  const bytes = typeof base64 === 'string' ? Math.floor((base64.length * 3) / 4) : 0;
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
};
const formatMediaType = (value: unknown): string =>
  typeof value === 'string' && MEDIA_TYPE.test(value) ? value : 'of unknown type';

/** The text of a block of a result, or else one line that describes the block. */
type BlockText = { readonly text?: string; readonly summary?: string };

const resourceText = (resource: unknown): BlockText => {
  if (!isRecord(resource)) return { summary: '[resource]' };
  if (typeof resource.text === 'string') return { text: resource.text };
  return { summary: `[resource ${formatMediaType(resource.mimeType)}, ${formatSize(resource.blob)}]` };
};
const blockText = (block: unknown): BlockText => {
  if (!isRecord(block)) return {};
  const { type, text, mimeType, data, resource, uri } = block;
  if (type === 'text') return typeof text === 'string' ? { text } : {};
  if (type === 'image' || type === 'audio')
    return { summary: `[${type} ${formatMediaType(mimeType)}, ${formatSize(data)}]` };
  if (type === 'resource') return resourceText(resource);
  if (type === 'resource_link' && typeof uri === 'string')
    return { summary: `[link to ${uri.slice(0, LINK_LIMIT_CHARS)}]` };
  return { summary: '[a block of an unknown kind]' };
};

const limitText = (text: string): string => {
  const whole = text.toWellFormed();
  if (whole.length * 3 <= RESULT_LIMIT_BYTES) return whole;
  const { read } = encoder.encodeInto(whole, new Uint8Array(RESULT_LIMIT_BYTES));
  if (read === whole.length) return whole;
  return `${whole.slice(0, read)}\n[the tool answered with ${whole.length - read} more characters, which were dropped]`;
};

const toJson = (value: unknown): string => {
  try {
    return JSON.stringify(value);
  } catch {
    // Nested too deeply for the stack.
    throw new McpServerError('unusable', 'The answer is nested too deeply');
  }
};

/**
 * The text of a tool's result. If a success has structured content, that is the text, because its text blocks only repeat
 * it. The text of an error are its text blocks. Throws a `McpServerError` when the result violates the protocol.
 */
export const parseToolResult = (answer: unknown): McpResult => {
  const { content = [], structuredContent, isError } = isRecord(answer) ? answer : {};
  if (!Array.isArray(content)) throw new McpServerError('unusable', 'The answer is not what the protocol says');
  const blocks = content.map(blockText);
  const texts = blocks.flatMap(({ text }) => text ?? []);
  const failed = isError === true;
  const isStructured = isRecord(structuredContent) && (!failed || texts.length === 0);
  const parts = isStructured ? [toJson(structuredContent)] : texts;
  const text = [...parts, ...blocks.flatMap(({ summary }) => summary ?? [])].join('\n\n');
  return { text: text === '' ? '[the tool answered with nothing]' : limitText(text), isError: failed };
};
