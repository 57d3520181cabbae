import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';
import { isRecord } from '../../core/json.ts';
import type { GatewayFault } from '../errors.ts';
import type { GuardForm, ModelAlias } from '../models.ts';

/** The body of `POST /v1/chat/completions`. Everything else in it is for a chat model, and ignored. */
export const GuardRequest = v.object({
  model: v.string(),
  messages: v.pipe(v.array(v.looseObject({ role: v.string(), content: v.optional(v.unknown()) })), v.minLength(1)),
  stream: v.nullish(v.boolean()),
});
const Envelope = v.object({ ...GuardRequest.entries, messages: v.pipe(v.array(v.unknown()), v.minLength(1)) });
type Message = { readonly role: string } & Readonly<Record<string, unknown>>;
type AskedGuard = Omit<v.InferOutput<typeof Envelope>, 'messages'> & { readonly messages: readonly Message[] };

/** How many texts a request may hold, and how many characters each. */
type TextLimits = { readonly inputs: number; readonly chars: number };

const misfit = (path: string, message: string): Fault =>
  new Fault({ kind: 'bad-input', code: 'invalid_type', param: path === '' ? null : path, message });

/** What to send in each field, for whoever sends something else. */
const FIELD_RULES: Readonly<Record<string, string>> = {
  model: 'Expected the name of an alias at model, as "qwen3guard"',
  messages: 'Expected at least one message at messages, as [{"role":"user","content":"some text"}]',
  stream: 'Expected true or false at stream',
};

/** By hand: a body may hold a hundred thousand messages, and a schema takes a microsecond for each. */
const isMessage = (value: unknown): value is Message => isRecord(value) && typeof value.role === 'string';

/** Parses the body's outer fields. Throws `bad-input` that says where it is no request for a chat. */
export const parseGuardRequest = (body: unknown): AskedGuard => {
  const result = v.safeParse(Envelope, Array.isArray(body) ? undefined : body, { abortEarly: true });
  if (!result.success) {
    const { path } = issueOf(result.issues[0]);
    throw misfit(path, FIELD_RULES[path] ?? 'Expected a JSON object with model and messages as the body');
  }
  const wrong = result.output.messages.findIndex((message) => !isMessage(message));
  if (wrong !== -1)
    throw misfit(`messages[${wrong}]`, `Expected an object with a role and a content at messages[${wrong}]`);
  return { ...result.output, messages: result.output.messages.filter(isMessage) };
};

const unjudged = (message: string): Fault<GatewayFault> => new Fault<GatewayFault>({ kind: 'unjudged-text', message });

/** The form in which an alias answers. Throws `bad-input` where it has none. */
export const guardFormOf = ({ guard }: ModelAlias): GuardForm => {
  if (guard !== undefined) return guard;
  throw new Fault({
    kind: 'bad-input',
    code: 'no_guard_face',
    param: 'model',
    message: 'This model does not answer as a guard: give its alias "guard": "text" or "json" in MODERATION_MODELS',
  });
};

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

const TEXT_TYPES: readonly unknown[] = ['text', 'input_text', 'output_text'];

/** Whether a part is a text: of a type that says so, or without a type and with a text alone. */
const isTextPart = (part: Readonly<Record<string, unknown>>): boolean =>
  isNothing(part.type)
    ? Object.keys(part).every((name) => name === 'text' || name === 'type')
    : TEXT_TYPES.includes(part.type);

const partText = (part: unknown): string | undefined =>
  isRecord(part) && isTextPart(part) && typeof part.text === 'string' ? part.text : undefined;

/** The text of a message's content, empty where it holds none; undefined where some of it is no text. */
const contentText = (content: unknown): string | undefined => {
  if (typeof content === 'string') return content;
  if (isNothing(content)) return '';
  const texts = Array.isArray(content) ? content.map(partText) : [undefined];
  return texts.includes(undefined) ? undefined : texts.filter((text) => text !== '').join('\n');
};

/** What says nothing to a model beside the content. */
const SILENT_MEMBERS: readonly string[] = ['role', 'content', 'tool_call_id'];

/** Whether a message holds what a model may read and nobody would judge: calls of tools, a refusal, reasoning, a name. */
const holdsMore = (message: Message): boolean =>
  Object.keys(message).some((name) => !SILENT_MEMBERS.includes(name) && !isNothing(message[name]));

const textOf = (message: Message, index: number, limits: TextLimits): string => {
  const param = `messages[${index}]`;
  if (holdsMore(message))
    throw unjudged(`Expected nothing but ${SILENT_MEMBERS.join(', ')} at ${param}: only a content is judged`);
  const text = contentText(message.content);
  if (text === undefined) throw unjudged(`Expected a text, or parts of text alone, at ${param}.content`);
  if (text.length > limits.chars)
    throw unjudged(`Expected at most ${limits.chars} characters at ${param}.content, as MAX_INPUT_CHARS allows`);
  return text;
};

/** The instructions that platforms which ask for JSON send along: one system message, the first of all. */
const isInstruction = ({ role }: Message, index: number): boolean =>
  index === 0 && (role === 'system' || role === 'developer');

/**
 * The texts to judge, one for each message that holds one: not even a blank, and there is nothing to judge in it. Who asks for JSON
 * sends the guard's instructions along, as the first message: that is not judged. Everything else is, whatever its role. Throws
 * `unjudged-text` where something is no text, or too much, and where no text is left.
 */
export const guardTexts = ({ messages }: AskedGuard, form: GuardForm, limits: TextLimits): readonly string[] => {
  const texts: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (form === 'json' && isInstruction(message, index)) continue;
    const text = textOf(message, index, limits);
    if (text !== '') texts.push(text);
    if (texts.length > limits.inputs)
      throw unjudged(`Expected at most ${limits.inputs} messages with a text, as MAX_INPUTS allows`);
  }
  if (texts.length === 0) throw unjudged('Expected a text to judge in at least one message that is no instruction');
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
