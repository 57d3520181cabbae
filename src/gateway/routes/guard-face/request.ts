import * as v from 'valibot';
import { Fault } from '../../../core/fault.ts';
import { issueOf } from '../../../core/http/body.ts';
import type { GatewayFault } from '../../errors.ts';
import { type Found, foundTexts } from '../chat-texts/members.ts';
import {
  type ChatMessage,
  createMessageJoiner,
  definitionsText,
  isChatMessage,
  messageTexts,
} from '../chat-texts/message-text.ts';
import type { AnswerForm } from './answer-form.ts';

/** The body of `POST /v1/chat/completions`. Everything else in it is for a chat model, and ignored. */
export const GuardRequest = v.object({
  model: v.string(),
  messages: v.pipe(v.array(v.looseObject({ role: v.string(), content: v.optional(v.unknown()) })), v.minLength(1)),
  stream: v.nullish(v.boolean()),
  tools: v.optional(v.unknown()),
  functions: v.optional(v.unknown()),
  response_format: v.optional(v.unknown()),
});
const Envelope = v.object({ ...GuardRequest.entries, messages: v.pipe(v.array(v.unknown()), v.minLength(1)) });
type AskedGuard = Omit<v.InferOutput<typeof Envelope>, 'messages'> & { readonly messages: readonly ChatMessage[] };

/** How many texts a request may hold, and how many characters each. */
type TextLimits = { readonly inputs: number; readonly chars: number };

const misfit = (path: string, message: string): Fault =>
  new Fault({ kind: 'bad-input', code: 'invalid_type', param: path === '' ? null : path, message });

/** What to send in each field, for the error of a request that has something else. */
const FIELD_RULES: Readonly<Record<string, string>> = {
  model: 'Expected the name of an alias at model, as "qwen3guard"',
  messages: 'Expected at least one message at messages, as [{"role":"user","content":"some text"}]',
  stream: 'Expected true or false at stream',
};

/** Parses the body's outer fields. Throws `bad-input` that says where it is no request for a chat. */
export const parseGuardRequest = (body: unknown): AskedGuard => {
  const result = v.safeParse(Envelope, Array.isArray(body) ? undefined : body, { abortEarly: true });
  if (!result.success) {
    const { path } = issueOf(result.issues[0]);
    throw misfit(path, FIELD_RULES[path] ?? 'Expected a JSON object with model and messages as the body');
  }
  const wrong = result.output.messages.findIndex((message) => !isChatMessage(message));
  if (wrong !== -1)
    throw misfit(`messages[${wrong}]`, `Expected an object with a role and a content at messages[${wrong}]`);
  return { ...result.output, messages: result.output.messages.filter(isChatMessage) };
};

const unjudged = (message: string): Fault<GatewayFault> => new Fault<GatewayFault>({ kind: 'unjudged-text', message });

const WRONG: Readonly<Record<string, string>> = {
  content: 'a text, or parts of text alone,',
  tool_calls: 'calls that hold nothing but a name and arguments',
  function_call: 'a name and arguments alone',
};

const textOf = (message: ChatMessage, index: number, joined: string): Found => {
  const param = `messages[${index}]`;
  const read = messageTexts(message, joined);
  if ('found' in read) return read.found;
  const { unreadable } = read;
  throw unjudged(
    unreadable === ''
      ? `Expected nothing at ${param} that is neither a text nor a call of a tool`
      : `Expected ${WRONG[unreadable] ?? 'a text'} at ${param}.${unreadable}`,
  );
};

/** The instructions that platforms which ask for JSON send along: one system message, the first of all. */
const isInstruction = ({ role }: ChatMessage, index: number): boolean =>
  index === 0 && (role === 'system' || role === 'developer');

/**
 * The texts to judge, one for each message that holds one, not even a blank, and one for the tools that the chat defines. Who asks
 * for JSON sends the guard's instructions along, as the first message: that is not judged. Everything else is, whatever its role.
 * Throws `unjudged-text` where something is no text, or too much, and where no text is left.
 */
export const guardTexts = (asked: AskedGuard, { kind }: AnswerForm, limits: TextLimits): readonly string[] => {
  const texts: string[] = [];
  const add = ({ written, joined }: Found, param: string): void => {
    const sent = written.join('\n');
    if (sent.length > limits.chars)
      throw unjudged(`Expected at most ${limits.chars} characters at ${param}, as MAX_INPUT_CHARS allows`);
    if (sent !== '') texts.push([sent, ...joined].join('\n'));
    if (texts.length > limits.inputs)
      throw unjudged(`Expected at most ${limits.inputs} messages with a text, as MAX_INPUTS allows`);
  };
  const join = createMessageJoiner();
  for (const [index, message] of asked.messages.entries())
    if (kind === 'text' || !isInstruction(message, index))
      add(textOf(message, index, join(message)), `messages[${index}]`);
  if (texts.length === 0) throw unjudged('Expected a text to judge in at least one message that is no instruction');
  for (const name of ['tools', 'functions'] as const) {
    const text = definitionsText(asked[name]);
    if (text === undefined) throw unjudged(`Expected fewer levels at ${name}`);
    add(foundTexts(text), name);
  }
  return texts;
};

/** What the limits of this service leave without a verdict, as a fault for which a caller asks another service. */
export const asUnjudged = (error: unknown): unknown => {
  if (!(error instanceof Fault)) return error;
  const { detail } = error;
  if (detail.kind === 'body-too-large') return unjudged(`The request body is over ${detail.limitBytes} bytes`);
  if (detail.kind === 'body-too-slow') return unjudged('The request body did not arrive in time');
  return error;
};
