import { isRecord } from '../../../core/json.ts';
import { caller, contentTexts, plainTextsOf } from './content-text.ts';
import { CONTEXT_CHARS, joinedText } from './joined-text.ts';
import {
  cacheControl,
  eachItem,
  type Found,
  foundTexts,
  idText,
  isNothing,
  jsonText,
  type Members,
  membersAlone,
  plainText,
  type Read,
  signedText,
  silent,
  unreadMember,
  wordText,
} from './members.ts';

/** A message of a chat, of which nothing but the role is known. */
export type ChatMessage = { readonly role: string } & Readonly<Record<string, unknown>>;

/** By hand: a body may hold a hundred thousand messages, and a schema takes a microsecond for each. */
export const isChatMessage = (value: unknown): value is ChatMessage =>
  isRecord(value) && typeof value.role === 'string';

/** Each escape of a text in JSON: of a character by its number, or of another kind. */
const ESCAPE = /\\(?:u([\da-f]{4})|.)/gis;

/** Characters in place of their numbers: programs write every letter but those of English so, and a model reads the letters. */
const withLetters = (json: string): string =>
  json.includes('\\u')
    ? json.replace(ESCAPE, (whole, unit?: string) =>
        unit === undefined ? whole : String.fromCharCode(Number.parseInt(unit, 16)),
      )
    : json;

const THOUGHT: Members = { thought_signature: signedText };
/** What a provider signs of its model's thinking and wants back with a call. */
const signature = membersAlone({ ...THOUGHT, google: membersAlone(THOUGHT) });
const readSigned = membersAlone({ ...THOUGHT, provider_specific_fields: signature });

/**
 * Reads a function that a model calls: its name, and the arguments as they were sent. They are not parsed: of a name that comes
 * twice in them a parser keeps one, and the model reads both.
 */
const functionOf =
  (argumentsName: 'arguments' | 'input'): Read =>
  (value, found) => {
    if (!isRecord(value)) return false;
    const { name = '', [argumentsName]: given, ...signed } = value;
    const text = isRecord(given) ? jsonText(given) : given;
    return (
      plainText(name, found) &&
      plainText(typeof text === 'string' && argumentsName === 'arguments' ? withLetters(text) : text, found) &&
      readSigned(signed, found)
    );
  };

const callOf = (kind: 'function' | 'custom'): Read =>
  membersAlone({
    id: idText,
    type: wordText((type) => type === kind),
    index: silent('number'),
    extra_content: signature,
    provider_specific_fields: signature,
    caller,
    [kind]: functionOf(kind === 'custom' ? 'input' : 'arguments'),
  });
const readFunctionCall = callOf('function');
const readCustomCall = callOf('custom');

/** Reads `tool_calls`, each of them a function's call or that of a custom tool. */
export const toolCallTexts = eachItem((call, found) => {
  if (!isRecord(call)) return false;
  if (!isNothing(call.custom)) return readCustomCall(call, found);
  return !isNothing(call.function) && readFunctionCall(call, found);
});

/** Many chat templates write a role as it is, so that any other is a text like the content. */
const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function', 'model']);

/** What of a message a model reads. Whatever is not here is no text. */
const MEMBERS: Members = {
  content: contentTexts,
  content_blocks: contentTexts,
  name: plainText,
  refusal: plainText,
  reasoning: plainText,
  reasoning_content: plainText,
  thinking_blocks: contentTexts,
  tool_calls: toolCallTexts,
  function_call: functionOf('arguments'),
  role: wordText((role) => ROLES.has(role)),
  tool_call_id: idText,
  cache_control: cacheControl,
};

/** The texts of a message, or the name of the first member that is no text: one of ours, or `''` where it is unknown. */
type MessageTexts = { readonly found: Found } | { readonly unreadable: string };

/**
 * All that a model reads of a message, no text of it empty: the content, and calls of tools with their arguments, a refusal,
 * reasoning, a name beside it, and a role or an id that is a text of its own. `joined`: the text that it makes with those before it.
 */
export const messageTexts = (message: ChatMessage, joined = ''): MessageTexts => {
  const found = foundTexts();
  const unread = unreadMember(message, MEMBERS, found);
  if (unread !== undefined) return { unreadable: Object.hasOwn(MEMBERS, unread) ? unread : '' };
  if (joined !== '') found.joined.push(joined);
  return { found };
};

const isOfSystem = (role: string): boolean => role === 'system' || role === 'developer';
const isResult = (role: string): boolean => role === 'tool' || role === 'function';

/** So much of what stands before a message is shown with it: a body of many short ones must not become many times as long. */
const contextChars = (text: string): number => Math.min(CONTEXT_CHARS, 40 + 2 * text.length);

/**
 * Is asked with each message of a chat, and returns the text that it makes with those before it if a server puts them together without a
 * break; empty where no word is split so. Servers do that with messages of one role in a row, and with those of the system wherever
 * they stand.
 */
export const createMessageJoiner = (): ((message: ChatMessage) => string) => {
  const before = { system: '', chat: '' };
  let roleBefore = '';
  return ({ role, content }) => {
    const text = typeof content === 'string' ? content : plainTextsOf(content).join('');
    if (text === '') return '';
    const kind = isOfSystem(role) ? 'system' : 'chat';
    if (kind === 'chat') {
      if (role !== roleBefore || isResult(role)) before.chat = '';
      roleBefore = role;
    }
    const joined = joinedText([before[kind].slice(-contextChars(text)), text]);
    before[kind] = `${before[kind]}${text}`.slice(-CONTEXT_CHARS);
    return joined;
  };
};

/**
 * What a chat defines for the model to call, as one text: names and descriptions are for it to read. Empty where there is
 * none, undefined where it has too many levels to be written.
 */
export const definitionsText = (definitions: unknown): string | undefined =>
  isNothing(definitions) ? '' : jsonText(definitions);
