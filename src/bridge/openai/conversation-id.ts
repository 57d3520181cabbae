import { isRecord } from '../../core/json.ts';
import { type ConversationReference, invalidValue, wrongType } from '../request.ts';

/** Headers of clients that rely on the bridge to store the conversation. */
const HEADERS = ['x-session-id', 'x-conversation-id', 'x-chat-id', 'x-hermes-session-id', 'x-letta-chat-key'];
/**
 * Headers of front ends that send the whole history each time. They set them for background tasks too, so they count only for
 * streamed requests, which such tasks are not.
 */
const FRONT_END_HEADERS = [
  'x-openwebui-chat-id',
  'x-librechat-conversation-id',
  'x-opencode-session',
  'x-session-affinity',
];
const MEMBERS = ['session_id', 'sessionId', 'conversation_id', 'conversationId', 'chat_id', 'chatId'];

const ID_CHARS = 200;
/** What templates leave where a value is missing. As an id it would put different users into one conversation. */
const PLACEHOLDER = /^(?:null|undefined|none|new|\{\{.*\}\}|\$\{.*\})$/i;

/** Of a request that names none. */
export const UNNAMED: ConversationReference = { kind: 'unnamed' };

const isValidID = (id: string): boolean => id !== '' && id.length <= ID_CHARS && !/\p{C}/u.test(id);

const namedConversation = (id: string, remembers: boolean): ConversationReference => ({
  kind: 'named',
  id,
  isIncremental: remembers,
});

const parseID = (value: unknown, at: string): string | undefined => {
  if (value === undefined || value === null) return undefined;
  const id = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof id !== 'string') throw wrongType(at, 'string');
  const trimmed = id.trim();
  if (PLACEHOLDER.test(trimmed)) return undefined;
  if (isValidID(trimmed)) return trimmed;
  throw invalidValue(at, `expected 1 to ${ID_CHARS} printable characters`);
};

type RequestBody = Readonly<Record<string, unknown>>;

/** An empty header counts as not set. */
const idInHeader = (headers: Headers, name: string): string | undefined => {
  const value = headers.get(name)?.trim() ?? '';
  return value === '' ? undefined : parseID(value, name);
};

const idInFrontEndHeader = (headers: Headers, name: string): string | undefined => {
  const id = headers.get(name)?.trim() ?? '';
  return isValidID(id) && !PLACEHOLDER.test(id) ? id : undefined;
};

const metadataOf = ({ metadata }: RequestBody): RequestBody => {
  if (metadata === undefined || metadata === null) return {};
  if (isRecord(metadata)) return metadata;
  throw wrongType('metadata', 'Object');
};

/** A hint for caches, so an invalid one is ignored. */
const cacheKeyOf = ({ prompt_cache_key: key }: RequestBody): string | undefined => {
  if (key === undefined || key === null) return undefined;
  if (typeof key !== 'string') throw wrongType('prompt_cache_key', 'string');
  const id = key.trim();
  return isValidID(id) && !PLACEHOLDER.test(id) ? id : undefined;
};

function* conversationReferences(
  headers: Headers,
  body: RequestBody,
  isStreamed: boolean,
): Generator<ConversationReference | undefined> {
  const found = (id: string | undefined, remembers: boolean) =>
    id === undefined ? undefined : namedConversation(id, remembers);
  for (const name of HEADERS) yield found(idInHeader(headers, name), true);
  if (isStreamed) for (const name of FRONT_END_HEADERS) yield found(idInFrontEndHeader(headers, name), false);
  for (const name of MEMBERS) yield found(parseID(body[name], name), true);
  const metadata = metadataOf(body);
  for (const name of MEMBERS) yield found(parseID(metadata[name], `metadata.${name}`), true);
  yield found(cacheKeyOf(body), false);
}

/**
 * The conversation that a client names: the first of many headers and members of the body. The id of a user names none. Faults with
 * `bad-input` for an invalid id.
 */
export const parseConversationReference = (
  headers: Headers,
  body: RequestBody,
  isStreamed: boolean,
): ConversationReference => {
  for (const place of conversationReferences(headers, body, isStreamed)) if (place !== undefined) return place;
  return UNNAMED;
};
