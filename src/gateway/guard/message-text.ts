import { isNestedBeyond, isRecord } from '../../core/json.ts';

/** A message of a chat, of which nothing but the role is known. */
export type ChatMessage = { readonly role: string } & Readonly<Record<string, unknown>>;

/** By hand: a body may hold a hundred thousand messages, and a schema takes a microsecond for each. */
export const isChatMessage = (value: unknown): value is ChatMessage =>
  isRecord(value) && typeof value.role === 'string';

/** Whether a member says nothing: clients send many of them empty. */
export const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

const TEXT_TYPES: readonly unknown[] = ['text', 'input_text', 'output_text'];

/** Whether a part is a text: of a type that says so, or without a type and with a text alone. */
const isTextPart = (part: Readonly<Record<string, unknown>>): boolean =>
  isNothing(part.type)
    ? Object.keys(part).every((name) => name === 'text' || name === 'type')
    : TEXT_TYPES.includes(part.type);

const partText = (part: unknown): string | undefined =>
  isRecord(part) && isTextPart(part) && typeof part.text === 'string' ? part.text : undefined;

/** The texts that say something, a line each; undefined where one of them is no text. */
const joined = (texts: readonly (string | undefined)[]): string | undefined =>
  texts.includes(undefined) ? undefined : texts.filter((text) => text !== '').join('\n');

/** The text of a message's content, empty where it holds none; undefined where some of it is no text. */
const contentText = (content: unknown): string | undefined => {
  if (typeof content === 'string') return content;
  if (isNothing(content)) return '';
  return Array.isArray(content) ? joined(content.map(partText)) : undefined;
};

/** A value as JSON; undefined where it has too many levels to be written. */
const jsonText = (value: unknown): string | undefined => (isNestedBeyond(value) ? undefined : JSON.stringify(value));

const hasOnly = (value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean =>
  Object.keys(value).every((name) => names.includes(name) || isNothing(value[name]));

/**
 * A function that a model calls: its name, and the arguments as they were sent. They are not parsed: of a name that comes
 * twice in them a parser keeps one, and the model reads both.
 */
const functionText = (value: unknown, argumentsName: 'arguments' | 'input'): string | undefined => {
  if (!isRecord(value) || !hasOnly(value, ['name', argumentsName])) return undefined;
  const { name = '', [argumentsName]: given } = value;
  const text = isRecord(given) ? jsonText(given) : given;
  return typeof name === 'string' && typeof text === 'string' ? joined([name, text]) : undefined;
};

/** One of `tool_calls`: a function's, or that of a custom tool. */
const callText = (call: unknown): string | undefined => {
  if (!isRecord(call)) return undefined;
  const kind = isNothing(call.custom) ? 'function' : 'custom';
  return hasOnly(call, ['id', 'type', 'index', kind])
    ? functionText(call[kind], kind === 'custom' ? 'input' : 'arguments')
    : undefined;
};

const plainText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** What of a message a model reads, each with how its text is found. Whatever is not here is no text. */
const MEMBERS: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  content: contentText,
  name: plainText,
  refusal: plainText,
  reasoning: plainText,
  reasoning_content: plainText,
  tool_calls: (value) => (Array.isArray(value) ? joined(value.map(callText)) : undefined),
  function_call: (value) => functionText(value, 'arguments'),
};

/** What says nothing to a model. */
const SILENT_MEMBERS: readonly string[] = ['role', 'tool_call_id'];

/** The text of a message, or the name of the first member that is no text: one of ours, or `''` where it is unknown. */
type MessageText = { readonly text: string } | { readonly unreadable: string };

/**
 * All that a model reads of a message as one text, empty where there is none: the content, and calls of tools with their
 * arguments, a refusal, reasoning and a name beside it.
 */
export const messageText = (message: ChatMessage): MessageText => {
  const texts: string[] = [];
  for (const [name, value] of Object.entries(message)) {
    if (SILENT_MEMBERS.includes(name) || isNothing(value)) continue;
    const text = Object.hasOwn(MEMBERS, name) ? MEMBERS[name]?.(value) : undefined;
    if (text === undefined) return { unreadable: Object.hasOwn(MEMBERS, name) ? name : '' };
    if (text !== '') texts.push(text);
  }
  return { text: texts.join('\n') };
};

/**
 * What a chat defines for the model to call, as one text: names and descriptions are for it to read. Empty where there is
 * none, undefined where it has too many levels to be written.
 */
export const definitionsText = (definitions: unknown): string | undefined =>
  isNothing(definitions) ? '' : jsonText(definitions);
