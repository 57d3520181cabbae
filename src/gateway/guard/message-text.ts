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

/** Texts that were found; undefined where something is no text. */
type Texts = readonly string[] | undefined;

const allTexts = (found: readonly Texts[]): Texts => {
  const known = found.filter((texts) => texts !== undefined);
  return known.length === found.length ? known.flat() : undefined;
};

/** A value as JSON; undefined where it has too many levels to be written. */
const jsonText = (value: unknown): string | undefined => (isNestedBeyond(value) ? undefined : JSON.stringify(value));

const hasOnly = (value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean =>
  Object.keys(value).every((name) => names.includes(name) || isNothing(value[name]));

const isThoughtSignature = (value: unknown): boolean =>
  isRecord(value) && typeof value.thought_signature === 'string' && hasOnly(value, ['thought_signature']);

/**
 * Whether a member is nothing but what a provider signs of its model's thinking and wants back with the call. It is no text: what a user
 * puts there instead, the provider refuses.
 */
const isSignature = (value: unknown): boolean =>
  isNothing(value) ||
  isThoughtSignature(value) ||
  (isRecord(value) && hasOnly(value, ['google']) && isThoughtSignature(value.google));

/** Each escape of a text in JSON: of a character by its number, or of another kind. */
const ESCAPE = /\\(?:u([\da-f]{4})|.)/gis;

/** Characters in place of their numbers: programs write every letter but those of English so, and a model reads the letters. */
const withLetters = (json: string): string =>
  json.includes('\\u')
    ? json.replace(ESCAPE, (whole, unit?: string) =>
        unit === undefined ? whole : String.fromCharCode(Number.parseInt(unit, 16)),
      )
    : json;

/**
 * A function that a model calls: its name, and the arguments as they were sent. They are not parsed: of a name that comes
 * twice in them a parser keeps one, and the model reads both.
 */
const functionTexts = (value: unknown, argumentsName: 'arguments' | 'input'): Texts => {
  if (!isRecord(value) || !hasOnly(value, ['name', argumentsName, 'provider_specific_fields', 'thought_signature']))
    return undefined;
  const { name = '', [argumentsName]: given, provider_specific_fields: signed, thought_signature: signature } = value;
  if (!isSignature(signed) || !(isNothing(signature) || typeof signature === 'string')) return undefined;
  const text = isRecord(given) ? jsonText(given) : given;
  if (typeof name !== 'string' || typeof text !== 'string') return undefined;
  const shown = argumentsName === 'arguments' ? withLetters(text) : text;
  return [name === '' || text === '' ? `${name}${shown}` : `${name}\n${shown}`];
};

const plainText = (value: unknown): Texts => (typeof value === 'string' ? [value] : undefined);

/** An id of a call as programs make them. LiteLLM appends what a provider has signed. */
const ID = /^[\w.:|-]{1,128}(?:__thought__[\w+/=-]+)?$/;

/** A word that programs write and some chat templates show to the model: nothing where it is one of theirs, else a text. */
const wordText = (value: unknown, isUsual: (word: string) => boolean): Texts =>
  isNothing(value) || (typeof value === 'string' && isUsual(value)) ? [] : plainText(value);

const idText = (id: unknown): Texts => wordText(id, (word) => ID.test(word));

/** Who has made a call, as Anthropic's API tells it: by a type, and the id of a tool. */
const callerTexts = (caller: unknown): Texts => {
  if (isNothing(caller)) return [];
  return isRecord(caller) && hasOnly(caller, ['type', 'tool_id'])
    ? allTexts([idText(caller.type), idText(caller.tool_id)])
    : undefined;
};

/** One of `tool_calls`: a function's, or that of a custom tool. */
const callTexts = (call: unknown): Texts => {
  if (!isRecord(call)) return undefined;
  const kind = isNothing(call.custom) ? 'function' : 'custom';
  return hasOnly(call, ['id', 'type', 'index', 'extra_content', 'provider_specific_fields', 'caller', kind]) &&
    isSignature(call.extra_content) &&
    isSignature(call.provider_specific_fields)
    ? allTexts([
        idText(call.id),
        wordText(call.type, (type) => type === kind),
        callerTexts(call.caller),
        functionTexts(call[kind], kind === 'custom' ? 'input' : 'arguments'),
      ])
    : undefined;
};

const eachOf = (value: unknown, textsOf: (one: unknown) => Texts): Texts =>
  Array.isArray(value) ? allTexts(value.map(textsOf)) : undefined;

/** The texts of `tool_calls`, one for each call; undefined where one of them is no call of a tool. */
export const toolCallTexts = (calls: unknown): Texts => (isNothing(calls) ? [] : eachOf(calls, callTexts));

const textPart = (part: unknown): Texts => (isRecord(part) && isTextPart(part) ? plainText(part.text) : undefined);

/** Parts of other types that hold texts: refusals, and Anthropic's blocks. A result of a tool holds no further blocks. */
const BLOCKS: Readonly<Record<string, (block: Readonly<Record<string, unknown>>) => Texts>> = {
  refusal: ({ refusal }) => plainText(refusal),
  tool_use: ({ id, name, input }) => allTexts([idText(id), functionTexts({ name, input }, 'input')]),
  tool_result: ({ tool_use_id: id, content }) =>
    allTexts([idText(id), typeof content === 'string' ? [content] : eachOf(content ?? [], textPart)]),
  thinking: ({ thinking }) => plainText(thinking),
  // Encrypted by the provider.
  redacted_thinking: ({ data }) => (typeof data === 'string' ? [] : undefined),
};

const partTexts = (part: unknown): Texts => {
  const { type } = isRecord(part) ? part : {};
  const isBlock = isRecord(part) && typeof type === 'string' && Object.hasOwn(BLOCKS, type);
  return isBlock ? BLOCKS[type]?.(part) : textPart(part);
};

/** The texts of a message's content, none where it holds none; undefined where some of it is no text. */
export const contentTexts = (content: unknown): Texts => {
  if (typeof content === 'string') return [content];
  return isNothing(content) ? [] : eachOf(content, partTexts);
};

/** Many chat templates write a role as it is, so that any other is a text like the content. */
const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function', 'model']);

/** What of a message a model reads, each with how its texts are found. Whatever is not here is no text. */
const MEMBERS: Readonly<Record<string, (value: unknown) => Texts>> = {
  content: contentTexts,
  content_blocks: contentTexts,
  name: plainText,
  refusal: plainText,
  reasoning: plainText,
  reasoning_content: plainText,
  thinking_blocks: contentTexts,
  tool_calls: toolCallTexts,
  function_call: (value) => functionTexts(value, 'arguments'),
  role: (value) => wordText(value, (role) => ROLES.has(role)),
  tool_call_id: idText,
};

/** What says nothing to a model. */
const SILENT_MEMBERS: readonly string[] = ['cache_control'];

/** The texts of a message, or the name of the first member that is no text: one of ours, or `''` where it is unknown. */
type MessageTexts = { readonly texts: readonly string[] } | { readonly unreadable: string };

/**
 * All that a model reads of a message, no text of it empty: the content, and calls of tools with their arguments, a refusal,
 * reasoning, a name beside it, and a role or an id that is a text of its own.
 */
export const messageTexts = (message: ChatMessage): MessageTexts => {
  const found: string[] = [];
  for (const [name, value] of Object.entries(message)) {
    if (SILENT_MEMBERS.includes(name) || isNothing(value)) continue;
    const texts = Object.hasOwn(MEMBERS, name) ? MEMBERS[name]?.(value) : undefined;
    if (texts === undefined) return { unreadable: Object.hasOwn(MEMBERS, name) ? name : '' };
    for (const text of texts) if (text !== '') found.push(text);
  }
  return { texts: found };
};

/**
 * What a chat defines for the model to call, as one text: names and descriptions are for it to read. Empty where there is
 * none, undefined where it has too many levels to be written.
 */
export const definitionsText = (definitions: unknown): string | undefined =>
  isNothing(definitions) ? '' : jsonText(definitions);
