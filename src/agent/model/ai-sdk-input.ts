import { isRecord } from '../../core/json.ts';
import { visibleLines } from '../../core/text.ts';
import { dataUrlError, parseDataUrl } from '../protocol/part-schemas.ts';
import { type BundledAdapter, type Effort, isEffort } from './adapters.ts';
import type { ModelMessage, ModelTarget } from './types.ts';

/** A file as a user attached it. */
type AttachedFile = { readonly mime: string; readonly url: string; readonly filename?: string };

/** A file as a model gets it: its text, its bytes in base64, or a line that describes it. */
type ModelFile =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly data: string; readonly mediaType: string };

/** Files of these types are sent as texts. */
export const TEXT_TYPE = /^(?:text\/|application\/(?:json|xml|yaml|javascript)\b)/i;
/**
 * Types that adapters can send. The backend decides whether a model accepts them; audio comes only for models whose
 * configuration names it.
 */
const SENT_TYPE = /^(?:image\/[\w.+-]+|application\/pdf|audio\/(?:wav|mp3|mpeg))$/i;
const NAME_LIMIT_CHARS = 200;

const paddingOf = (data: string): number => (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0);
const formatSize = (bytes: number): string => (bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`);

const describeFile = ({ filename = 'file', mime }: AttachedFile, bytes: number): ModelFile => {
  const [name, type] = [filename, mime].map((text) => visibleLines(text, NAME_LIMIT_CHARS).replace(/\s+/g, ' '));
  const what = `${name}, ${type || 'of unknown type'}, ${formatSize(bytes)}`;
  return { kind: 'text', text: `[attached ${what}: cannot be shown to this model]` };
};

/** Throws for malformed data. */
const decodeText = (isBase64: boolean, data: string): string => {
  if (!isBase64) return decodeURIComponent(data);
  const binary = atob(data);
  const bytes = new Uint8Array(binary.length);
  // Ten times as fast as `Uint8Array.from` with a function.
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return new TextDecoder().decode(bytes);
};

const LOOKED_AT_CHARS = 4096;
/** The beginning and the end, which have a length that base64 can have if the whole has. */
const endsOf = (data: string): string =>
  data.length <= 2 * LOOKED_AT_CHARS
    ? data
    : data.slice(0, LOOKED_AT_CHARS) + data.slice(-LOOKED_AT_CHARS - (data.length % 4));

/**
 * Converts a file to what a model can read. Text stays text, which every model can read, and nothing is ever fetched. A
 * line describes what cannot be sent: an error would also fail every later turn of the session. All of base64 was checked when it
 * came, and takes too long to be checked again in each step.
 */
export const toModelFile = (file: AttachedFile): ModelFile => {
  const { mime, url, filename } = file;
  const given = parseDataUrl(url);
  if (given === undefined) return describeFile(file, 0);
  const { isBase64, data } = given;
  if (TEXT_TYPE.test(mime)) {
    try {
      const text = decodeText(isBase64, data);
      return { kind: 'text', text: filename === undefined ? text : `${filename}:\n${text}` };
    } catch {
      return describeFile(file, 0);
    }
  }
  if (isBase64 && dataUrlError({ isBase64, data: endsOf(data) }) !== undefined) return describeFile(file, 0);
  const [mediaType = ''] = mime.split(/\s*;/);
  if (isBase64 && data !== '' && SENT_TYPE.test(mediaType)) return { kind: 'file', data, mediaType };
  return describeFile(file, isBase64 ? (data.length * 3) / 4 - paddingOf(data) : data.length);
};

type TextContent = { type: 'text'; text: string };
type FileContent = { type: 'file'; data: { type: 'data'; data: string }; mediaType: string; filename?: string };
type CallContent = { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown };
type ResultContent = {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: { type: 'text' | 'error-text'; value: string };
};

/** A message in the SDK's shape. */
type AiMessage =
  | { role: 'user'; content: (TextContent | FileContent)[] }
  | { role: 'assistant'; content: (TextContent | CallContent)[] }
  | { role: 'tool'; content: ResultContent[] };

type UserPiece = Extract<ModelMessage, { readonly role: 'user' }>['content'][number];
type FilePiece = Extract<UserPiece, { readonly kind: 'file' }>;

const toFileContent = (piece: FilePiece, shorten: Shorten): TextContent | FileContent => {
  const file = toModelFile(piece);
  if (file.kind === 'text') return { type: 'text', text: shorten(file.text, piece) };
  const { mediaType } = file;
  const data = { type: 'data' as const, data: shorten(file.data, piece) };
  return { type: 'file', data, mediaType, ...(piece.filename === undefined ? {} : { filename: piece.filename }) };
};

/** Replaces long texts. `holder` is the object of the request whose one text it is. */
type Shorten = (text: string, holder: object) => string;

const toAiMessage = (message: ModelMessage, shorten: Shorten): AiMessage => {
  switch (message.role) {
    case 'user':
      return {
        role: 'user',
        content: message.content
          .map((piece): TextContent | FileContent =>
            piece.kind === 'text' ? { type: 'text', text: shorten(piece.text, piece) } : toFileContent(piece, shorten),
          )
          // Some backends refuse an empty text.
          .filter((content) => content.type === 'file' || content.text !== ''),
      };
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          ...(message.text === '' ? [] : [{ type: 'text' as const, text: shorten(message.text, message) }]),
          ...message.calls.map(({ id, name, input }) => ({
            type: 'tool-call' as const,
            toolCallId: id,
            toolName: name,
            // Backends refuse arguments that are no object.
            input: isRecord(input) ? input : {},
          })),
        ],
      };
    case 'tool':
      return {
        role: 'tool',
        content: message.results.map((result) => ({
          type: 'tool-result',
          toolCallId: result.id,
          toolName: result.name,
          output: { type: result.isError ? 'error-text' : 'text', value: shorten(result.output, result) },
        })),
      };
    default:
      return message satisfies never;
  }
};

/**
 * The conversation in the SDK's shape, with what `shorten` makes of its texts and files. Messages without content are left
 * out: backends refuse them.
 */
export const toAiMessages = (messages: readonly ModelMessage[], shorten: Shorten): AiMessage[] =>
  messages.map((message) => toAiMessage(message, shorten)).filter(({ content }) => content.length > 0);

type Json = null | string | number | boolean | Json[] | { [key: string]: Json | undefined };
type JsonRecord = { [key: string]: Json | undefined };

/** The options of a model, in the form of its adapter. */
type AiOptions = {
  readonly options: JsonRecord;
  /** Reasoning effort, for an adapter that converts it to what the model accepts. */
  readonly reasoning?: Effort;
};

/** OpenAI's adapter knows which of these models reason. To all others it would not send an effort. */
const KNOWN_TO_OPENAI = /^(?:gpt-\d|chatgpt-|o\d)/;

/** The JSON part of a value. The SDK's types require it; a configuration holds nothing else. */
const toJson = (value: unknown): Json | undefined => {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  if (Array.isArray(value)) return value.map((item) => toJson(item) ?? null);
  return isRecord(value) ? toJsonRecord(value) : undefined;
};
const toJsonRecord = (record: Readonly<Record<string, unknown>>): JsonRecord =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, toJson(value)]));

/** The options of a model as its adapter takes them. `reasoningEffort` reaches the backend through each of them. */
export const toAiOptions = (npm: BundledAdapter, { options, upstreamID }: ModelTarget): AiOptions => {
  const { reasoningEffort, ...others } = options;
  switch (npm) {
    case '@ai-sdk/openai-compatible':
      return { options: toJsonRecord(options) };
    case '@ai-sdk/openai': {
      const isUnknownModel = typeof reasoningEffort === 'string' && !KNOWN_TO_OPENAI.test(upstreamID);
      // The role of the system message would change too, and other servers may not know the new one.
      const asReasoning = isUnknownModel ? { forceReasoning: true, systemMessageMode: 'system' } : {};
      return { options: { ...asReasoning, ...toJsonRecord(options) } };
    }
    case '@ai-sdk/anthropic':
      return { options: toJsonRecord(others), ...(isEffort(reasoningEffort) ? { reasoning: reasoningEffort } : {}) };
    default:
      return npm satisfies never;
  }
};

const hasResults = (message: unknown): boolean =>
  isRecord(message) &&
  Array.isArray(message.content) &&
  message.content.some((block: unknown) => isRecord(block) && block.type === 'tool_result');

/**
 * A request to Anthropic without a budget for thinking, where it would be refused: in the middle of a turn the backend
 * wants the thoughts that led to the calls back, and thoughts are never sent again.
 */
export const withoutLostThoughts = (body: string): string => {
  // Most requests have none, and taking a long one apart is not free.
  if (!body.includes('"budget_tokens"')) return body;
  const request: unknown = JSON.parse(body);
  if (!isRecord(request) || !isRecord(request.thinking) || !Array.isArray(request.messages)) return body;
  const { thinking, ...rest } = request;
  const { budget_tokens: budget } = request.thinking;
  if (typeof budget !== 'number' || typeof rest.max_tokens !== 'number' || !hasResults(request.messages.at(-1)))
    return body;
  // The adapter has put the budget on top of what the answer may take.
  return JSON.stringify({ ...rest, max_tokens: Math.max(1, rest.max_tokens - budget) });
};
