import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';
import { isRecord } from '../../core/json.ts';
import type { GatewayFault } from '../errors.ts';
import type { GuardForm, ModelAlias } from '../models.ts';

/** The body of `POST /v1/chat/completions`. Everything else in it is for a chat model, and ignored. */
export const GuardRequest = v.object({
  model: v.string(),
  messages: v.pipe(v.array(v.looseObject({ role: v.string(), content: v.unknown() })), v.minLength(1)),
  stream: v.nullish(v.boolean()),
});
type GuardRequest = v.InferOutput<typeof GuardRequest>;
type Message = GuardRequest['messages'][number];

/** How many texts a request may hold, and how many characters each. */
type TextLimits = { readonly inputs: number; readonly chars: number };

const TextPart = v.object({ type: v.nullish(v.picklist(['text', 'input_text', 'output_text'])), text: v.string() });
const Content = v.union([v.string(), v.pipe(v.array(TextPart), v.minLength(1))]);

/** Parses the body's outer fields. Throws `bad-input` that says where it is no request for a chat. */
export const parseGuardRequest = (body: unknown): GuardRequest => {
  const result = v.safeParse(GuardRequest, Array.isArray(body) ? undefined : body, { abortEarly: true });
  if (result.success) return result.output;
  const { path, expected } = issueOf(result.issues[0]);
  const at = path === '' ? 'the body' : path;
  throw new Fault({
    kind: 'bad-input',
    code: 'invalid_type',
    param: path === '' ? null : path,
    message: `Expected ${expected} at ${at}`,
  });
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

/** Whether a message holds something beside its content that a model would read. */
const hasCalls = ({ tool_calls: calls, function_call: call }: Message): boolean =>
  (Array.isArray(calls) ? calls.length > 0 : isRecord(calls)) || isRecord(call);

const textOf = (message: Message, index: number, limits: TextLimits): string => {
  const param = `messages[${index}].content`;
  const content = v.safeParse(Content, message.content);
  if (!content.success || hasCalls(message)) throw unjudged(`Expected a text, or parts of text alone, at ${param}`);
  const text = typeof content.output === 'string' ? content.output : content.output.map((part) => part.text).join('\n');
  if (text === '') throw unjudged(`Expected a text at ${param}`);
  if (text.length > limits.chars) throw unjudged(`Expected at most ${limits.chars} characters at ${param}`);
  return text;
};

const isInstruction = ({ role }: Message): boolean => role === 'system' || role === 'developer';

/**
 * The texts to judge, one for each message. Who asks for JSON sends the guard's instructions along, in a system message: these are
 * not judged. In the other form everything is, whatever its role. Throws `unjudged-text` where something is no text, or too much.
 */
export const guardTexts = ({ messages }: GuardRequest, form: GuardForm, limits: TextLimits): readonly string[] => {
  const judged = messages
    .map((message, index) => ({ message, index }))
    .filter(({ message }) => form === 'text' || !isInstruction(message));
  if (judged.length === 0) throw unjudged('Expected a message that is no instruction at messages');
  if (judged.length > limits.inputs) throw unjudged(`Expected at most ${limits.inputs} messages`);
  return judged.map(({ message, index }) => textOf(message, index, limits));
};

/** What the limits of this service leave without a verdict, as a fault for which a caller asks another service. */
export const asUnjudged = (error: unknown): unknown => {
  if (!(error instanceof Fault)) return error;
  const { detail } = error;
  if (detail.kind === 'body-too-large') return unjudged(`The request body is over ${detail.limitBytes} bytes`);
  if (detail.kind === 'body-too-slow') return unjudged('The request body did not arrive in time');
  return error;
};
