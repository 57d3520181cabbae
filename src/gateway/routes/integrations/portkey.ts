import { jsonResponse } from '../../../core/http/response.ts';
import { isNestedBeyond, isRecord } from '../../../core/json.ts';
import { contentTexts } from '../chat-texts/content-text.ts';
import { foundTexts, isNothing } from '../chat-texts/members.ts';
import { isChatMessage } from '../chat-texts/message-text.ts';
import type { VerdictRoute } from '../observer.ts';
import { readChatMessages, unreadable } from './chat-input.ts';
import type { AskGuardrail, GuardrailInput, GuardrailVerdict } from './guardrail.ts';

/** Where Portkey's webhook guardrail is to send what it has judged: its operator enters the whole address. */
export const PORTKEY_PATH = '/integrations/portkey';

/** Portkey waits for 3 s unless its check has a `timeout`, and passes what it then has no verdict for. */
const USUAL_LIMIT_MS = 2500;

type Json = Readonly<Record<string, unknown>>;
const NO_INPUT: GuardrailInput = { texts: [], images: [] };
const joined = (inputs: readonly GuardrailInput[]): GuardrailInput => ({
  texts: inputs.flatMap(({ texts }) => texts),
  images: inputs.flatMap(({ images }) => images),
});

/** A prompt, or what is to be embedded: a text or a list of texts. Numbers are tokens, which the gateway cannot read. */
const readPrompt = (value: unknown, param: string): GuardrailInput => {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  const known = texts.filter((text) => typeof text === 'string');
  if (known.length < texts.length) throw unreadable(param, 'a text or a list of texts');
  return { texts: known.map((text) => foundTexts(text)), images: [] };
};

/** A text or blocks of it: the system prompt of Anthropic's API. */
const readContent = (value: unknown, param: string): GuardrailInput => {
  const found = foundTexts();
  if (!contentTexts(value, found)) throw unreadable(param, 'nothing but texts and calls of tools');
  return { texts: [found], images: [] };
};

/** What a model reads of any other member: its texts as they stand, everything that holds more as JSON. */
const readOther = (value: unknown, param: string): GuardrailInput => {
  if (typeof value === 'number' || typeof value === 'boolean' || isNothing(value)) return NO_INPUT;
  if (isNestedBeyond(value)) throw unreadable(param, 'fewer levels');
  return { texts: [foundTexts(typeof value === 'string' ? value : JSON.stringify(value))], images: [] };
};

/** No text that a model reads; some of it is new with each request, and would cost a call each time. */
const SILENT = ['model', 'user', 'metadata', 'stream_options', 'tool_choice', 'safety_identifier', 'prompt_cache_key'];

const REQUEST_MEMBERS: Readonly<Record<string, (value: unknown, param: string) => GuardrailInput>> = {
  messages: readChatMessages,
  system: readContent,
  prompt: readPrompt,
  input: readPrompt,
};

/** The messages come last: what is new in a growing conversation is at their end, so that the groups before it stay the same. */
const readRequest = ({ messages, ...others }: Json): GuardrailInput =>
  joined(
    Object.entries({ ...others, messages })
      .filter(([name]) => !SILENT.includes(name))
      .map(([name, value]) => {
        const read = Object.hasOwn(REQUEST_MEMBERS, name) ? REQUEST_MEMBERS[name] : undefined;
        return isNothing(value)
          ? NO_INPUT
          : (read ?? readOther)(value, read === undefined ? 'request' : `request.${name}`);
      }),
  );

/** A choice holds a message or a text. Some servers send both, and a client may read either. */
const readChoice = (choice: unknown, param: string): GuardrailInput => {
  if (!isRecord(choice)) throw unreadable(param, 'a message or a text');
  const { text, message, delta } = choice;
  const given = [message, delta].filter((one) => !isNothing(one));
  if (given.length === 0 && typeof text !== 'string') throw unreadable(param, 'a message or a text');
  const messages = given.map((one) => (isRecord(one) && !isChatMessage(one) ? { role: 'assistant', ...one } : one));
  return joined([isNothing(text) ? NO_INPUT : readPrompt(text, param), readChatMessages(messages, param)]);
};

/** An answer in the form of OpenAI's API, or of Anthropic's. */
const readResponse = ({ choices, type, content }: Json): GuardrailInput => {
  if (!Array.isArray(choices) && type !== 'message')
    throw unreadable('response', 'a chat completion, a completion or a message');
  const chosen: readonly unknown[] = Array.isArray(choices) ? choices : [];
  return joined([
    ...chosen.map((choice) => readChoice(choice, 'response.choices')),
    isNothing(content) ? NO_INPUT : readContent(content, 'response.content'),
  ]);
};

const jsonOf = (body: unknown, name: 'request' | 'response'): Json => {
  const part = isRecord(body) ? body[name] : undefined;
  const json = isRecord(part) ? part.json : undefined;
  if (!isRecord(json)) throw unreadable(`${name}.json`, 'the body as an object');
  return json;
};

/** What a hook is about: the request before it is sent, or the answer. Throws `unjudged-input` where some of it cannot be read. */
export const readPortkey = (body: unknown): GuardrailInput => {
  const event = isRecord(body) ? body.eventType : undefined;
  if (event === 'beforeRequestHook') return readRequest(jsonOf(body, 'request'));
  if (event === 'afterRequestHook') return readResponse(jsonOf(body, 'response'));
  throw unreadable('eventType', 'beforeRequestHook or afterRequestHook');
};

/** Portkey shows `data` to the user, so it holds names of ours alone. */
const respond = ({ categories, headers }: GuardrailVerdict): Response =>
  jsonResponse(200, { verdict: categories.length === 0, data: { categories } }, headers);

/**
 * `POST /integrations/portkey`: Portkey's webhook guardrail.
 * Source: Portkey-AI/gateway 1.15.2, plugins/default/webhook.ts and src/middlewares/hooks.
 */
export const createPortkeyRoute =
  (ask: AskGuardrail): VerdictRoute =>
  (request, observer) =>
    ask(request, {
      observer,
      read: readPortkey,
      respond,
      ...(request.headers.has('x-request-timeout-ms') ? {} : { limitMs: USUAL_LIMIT_MS }),
    });

/**
 * The answer in place of an error: `verdict` is false. Portkey passes every error, also that of a wrong key, unless its check has
 * `failOnError`. `reason` is a word of ours.
 */
export const portkeyFailure = (reason: string): Response =>
  jsonResponse(200, { verdict: false, data: { error: reason } });
