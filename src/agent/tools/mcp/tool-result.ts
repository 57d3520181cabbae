import { isRecord, parseJsonValue } from '../../../core/json.ts';
import { dataUrlError } from '../../protocol/part-schemas.ts';
import type { ToolFile } from '../tool.ts';
import { McpServerError } from './errors.ts';

/** The result of a tool: a text for the model, and files. `isError` is the tool's own error, whose text is data. */
export type McpResult = { readonly text: string; readonly files: readonly ToolFile[]; readonly isError: boolean };

const RESULT_LIMIT_BYTES = 1_000_000;
/** Of all files of a result together, as base64. */
const FILES_LIMIT_CHARS = 5_000_000;
const FILES_LIMIT = 20;
const MEDIA_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/;
/** What some model can read. */
const READABLE_TYPE = /^(?:(?:image|audio)\/[\w.+-]{1,64}|application\/pdf)$/i;
const LINK_LIMIT_CHARS = 500;

const encoder = new TextEncoder();

const formatSize = (base64: unknown): string => {
  const bytes = typeof base64 === 'string' ? Math.floor((base64.length * 3) / 4) : 0;
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
};
const formatMediaType = (value: unknown): string =>
  typeof value === 'string' && MEDIA_TYPE.test(value) ? value : 'of unknown type';

/** The text of a block of a result, or else one line that describes the block, and the file that it may be. */
type Block = { readonly text?: string; readonly summary?: string; readonly file?: ToolFile };

const fileBlock = (kind: string, mimeType: unknown, data: unknown): Block => {
  const summary = `[${kind} ${formatMediaType(mimeType)}, ${formatSize(data)}]`;
  const isReadable = typeof mimeType === 'string' && READABLE_TYPE.test(mimeType);
  if (!isReadable || typeof data !== 'string' || data === '' || data.length > FILES_LIMIT_CHARS) return { summary };
  if (dataUrlError({ isBase64: true, data }) !== undefined) return { summary };
  return { summary, file: { mime: mimeType, url: `data:${mimeType};base64,${data}` } };
};
const resourceBlock = (resource: unknown): Block => {
  if (!isRecord(resource)) return { summary: '[resource]' };
  if (typeof resource.text === 'string') return { text: resource.text };
  return fileBlock('resource', resource.mimeType, resource.blob);
};
const toBlock = (block: unknown): Block => {
  if (!isRecord(block)) return {};
  const { type, text, mimeType, data, resource, uri } = block;
  if (type === 'text') return typeof text === 'string' ? { text } : {};
  if (type === 'image' || type === 'audio') return fileBlock(type, mimeType, data);
  if (type === 'resource') return resourceBlock(resource);
  if (type === 'resource_link' && typeof uri === 'string')
    return { summary: `[link to ${uri.slice(0, LINK_LIMIT_CHARS)}]` };
  return { summary: '[a block of an unknown kind]' };
};

/** The same blocks without the files that are too many or too large together: only their summaries are left. */
const limitFiles = (blocks: readonly Block[]): readonly Block[] => {
  let count = 0;
  let chars = 0;
  return blocks.map((block) => {
    const { file, ...rest } = block;
    if (file === undefined) return block;
    const fits = count < FILES_LIMIT && chars + file.url.length <= FILES_LIMIT_CHARS + 200;
    if (!fits) return rest;
    count += 1;
    chars += file.url.length;
    return block;
  });
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
 * Whether a text says all that structured content says. Servers repeat one in the other: the content as JSON in the text, or the
 * text as the only member of the content. `json` is the content as JSON.
 */
const isRepeated = (content: Readonly<Record<string, unknown>>, json: string, text: string): boolean => {
  if (JSON.stringify(parseJsonValue(text)) === json) return true;
  const values = Object.values(content);
  return values.length === 0 || (values.length === 1 && typeof values[0] !== 'object' && String(values[0]) === text);
};

/**
 * A tool's result. Its text is what the server wrote, as it is; structured content comes in its place where there is no text,
 * and behind it where it says something else. The text of an error are its text blocks. Throws a `McpServerError` when the
 * result violates the protocol.
 */
export const parseToolResult = (answer: unknown): McpResult => {
  const { content = [], structuredContent, isError } = isRecord(answer) ? answer : {};
  if (!Array.isArray(content)) throw new McpServerError('unusable', 'The answer is not what the protocol says');
  const failed = isError === true;
  const blocks = limitFiles(content.map(toBlock));
  const texts = blocks.flatMap(({ text = '' }) => (text === '' ? [] : text));
  const written = texts.join('\n\n');
  if (isRecord(structuredContent) && (written === '' || !failed)) {
    const json = toJson(structuredContent);
    if (written === '' || !isRepeated(structuredContent, json, written)) texts.push(json);
  }
  const summaries = blocks.flatMap(({ summary, file }) => (summary === undefined || (file && !failed) ? [] : summary));
  const files = failed ? [] : blocks.flatMap(({ file }) => file ?? []);
  const text = [...texts, ...summaries].join('\n\n');
  const isEmpty = text === '' && files.length === 0;
  return { text: isEmpty ? '[the tool answered with nothing]' : limitText(text), files, isError: failed };
};
