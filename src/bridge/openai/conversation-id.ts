import { isRecord } from '../../core/json.ts';
import { badInput, type ConversationReference } from '../request.ts';

/** Set by those who mean a conversation that is remembered for them. */
const HEADERS = ['x-session-id', 'x-conversation-id', 'x-chat-id', 'x-hermes-session-id', 'x-letta-chat-key'];
/**
 * Set by front ends that send all that was said each time. They set them for their own small jobs too, so they count only for
 * streamed requests, which such jobs are not.
 */
const FRONT_END_HEADERS = [
  'x-openwebui-chat-id',
  'x-librechat-conversation-id',
  'x-opencode-session',
  'x-session-affinity',
];
const MEMBERS = ['session_id', 'sessionId', 'conversation_id', 'conversationId', 'chat_id', 'chatId'];

const ID_CHARS = 200;
/** What templates leave where there was nothing to fill in; as an id it would bring strangers together. */
const NOT_FILLED_IN = /^(?:null|undefined|none|new|\{\{.*\}\}|\$\{.*\})$/i;

const UNNAMED: ConversationReference = { kind: 'unnamed' };

const isFit = (id: string): boolean => id !== '' && id.length <= ID_CHARS && !/\p{C}/u.test(id);

const named = (id: string, remembers: boolean): ConversationReference => ({
  kind: 'named',
  id,
  isIncremental: remembers,
});

const idFrom = (value: unknown, at: string): string | undefined => {
  if (value === undefined || value === null) return undefined;
  const id = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof id !== 'string') throw badInput('invalid_type', at, `Invalid type at '${at}': expected string`);
  const trimmed = id.trim();
  if (NOT_FILLED_IN.test(trimmed)) return undefined;
  if (isFit(trimmed)) return trimmed;
  throw badInput('invalid_value', at, `Invalid value at '${at}': expected 1 to ${ID_CHARS} printable characters`);
};

type Given = Readonly<Record<string, unknown>>;

/** A header without a value is one that was not set. */
const inHeader = (headers: Headers, name: string): string | undefined => {
  const value = headers.get(name)?.trim() ?? '';
  return value === '' ? undefined : idFrom(value, name);
};

const inFrontEndHeader = (headers: Headers, name: string): string | undefined => {
  const id = headers.get(name)?.trim() ?? '';
  return isFit(id) && !NOT_FILLED_IN.test(id) ? id : undefined;
};

const metadataOf = ({ metadata }: Given): Given => {
  if (metadata === undefined || metadata === null) return {};
  if (isRecord(metadata)) return metadata;
  throw badInput('invalid_type', 'metadata', "Invalid type at 'metadata': expected Object");
};

/** A hint for caches and no more, so one that is unfit as a name is none. */
const cacheKeyOf = ({ prompt_cache_key: key }: Given): string | undefined => {
  if (key === undefined || key === null) return undefined;
  if (typeof key !== 'string')
    throw badInput('invalid_type', 'prompt_cache_key', "Invalid type at 'prompt_cache_key': expected string");
  const id = key.trim();
  return isFit(id) && !NOT_FILLED_IN.test(id) ? id : undefined;
};

function* placesIn(headers: Headers, body: Given, isStreamed: boolean): Generator<ConversationReference | undefined> {
  const found = (id: string | undefined, remembers: boolean) => (id === undefined ? undefined : named(id, remembers));
  for (const name of HEADERS) yield found(inHeader(headers, name), true);
  if (isStreamed) for (const name of FRONT_END_HEADERS) yield found(inFrontEndHeader(headers, name), false);
  for (const name of MEMBERS) yield found(idFrom(body[name], name), true);
  const metadata = metadataOf(body);
  for (const name of MEMBERS) yield found(idFrom(metadata[name], `metadata.${name}`), true);
  yield found(cacheKeyOf(body), false);
}

/**
 * The conversation that a client names, the first of many ways to do so: headers, then the body. Who the user is names none,
 * and a task belongs to none. Faults with `bad-input` at an id that cannot be one.
 */
export const placeOf = (
  headers: Headers,
  body: Given,
  { isStreamed, isTask }: { readonly isStreamed: boolean; readonly isTask: boolean },
): ConversationReference => {
  if (isTask) return UNNAMED;
  for (const place of placesIn(headers, body, isStreamed)) if (place !== undefined) return place;
  return UNNAMED;
};
