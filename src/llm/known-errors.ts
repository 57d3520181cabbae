import * as v from 'valibot';
import { parseJson } from '../core/json.ts';

/**
 * What a server says about itself or the request in words that we know. `busy`: it is healthy, and has no capacity or no model
 * yet. `final`: no other call of this kind can succeed; `reason` says in our words what the operator can do. `unusable`:
 * the model has answered, and the server could make nothing of it.
 */
export type KnownError = { readonly kind: 'busy' } | { readonly kind: 'final' | 'unusable'; readonly reason: string };

/** More than any of these messages is long. */
const MESSAGE_CHARS = 500;

const Text = v.fallback(v.string(), '');
const ErrorFields = v.object({
  message: v.optional(Text, ''),
  type: v.optional(Text, ''),
  code: v.optional(Text, ''),
});
// vLLM's older form and SGLang's have the fields at the top.
const ErrorBody = v.union([
  v.object({ error: v.union([v.string(), ErrorFields]) }),
  v.pipe(
    v.object({ object: v.literal('error'), ...ErrorFields.entries }),
    v.transform((error) => ({ error })),
  ),
]);

const TOO_LONG =
  'the prompt is longer than the context of the model; give the server a larger context, or lower MODERATION_WINDOW_CHARS';
const NO_THINKING = 'the model does not think as its alias asks; change or remove "think" in MODERATION_MODELS';
const NO_TEMPLATE =
  "the model's chat template fails with a system and a user message; give the server another template";

/**
 * By the beginning of the message, so that a judged text which a server repeats is not taken for its words. Ollama and its
 * runners: `server/sched.go`, `server/routes.go`; llama.cpp: `tools/server`; vLLM and SGLang: their OpenAI front.
 */
const BUSY = /^(?:server busy\b.{0,40}\bmaximum pending requests|loading model$)/i;
const FINAL: readonly (readonly [message: RegExp, reason: string])[] = [
  [
    /^(?:the )?(?:input|prompt|request)(?: length)?(?: \(\d+ tokens\))? (?:exceeds|is longer than) the\b.{0,30}\bcontext/i,
    TOO_LONG,
  ],
  [/^this model's maximum context length is \d+ tokens/i, TOO_LONG],
  [/^"[\w.:/-]{1,200}" does not support thinking/, NO_THINKING],
  [/^think value "\w{1,20}" is not supported/, NO_THINKING],
  [
    /^(?:template: |unable to generate parser for this template\b|[\s-]{0,20}while executing \w+ at line \d+)/i,
    NO_TEMPLATE,
  ],
];
const UNUSABLE = /^the model produced output that does not match the expected\b/i;
const NO_FORMAT = "the model's answer does not have the form that was asked for";
const TOO_LONG_NAMES = ['exceed_context_size_error', 'context_length_exceeded'];

/** Recognises an error by its status and body. Undefined when its words are not known. */
export const detectKnownError = (status: number, text: string): KnownError | undefined => {
  if (status < 400) return undefined;
  const error = parseJson(ErrorBody, text)?.error;
  if (error === undefined) return undefined;
  const { message, type, code } = typeof error === 'string' ? { message: error, type: '', code: '' } : error;
  if (status === 503) return BUSY.test(message) ? { kind: 'busy' } : undefined;
  if (TOO_LONG_NAMES.includes(type) || TOO_LONG_NAMES.includes(code)) return { kind: 'final', reason: TOO_LONG };
  const beginning = message.slice(0, MESSAGE_CHARS);
  if (UNUSABLE.test(beginning)) return { kind: 'unusable', reason: NO_FORMAT };
  const reason = FINAL.find(([pattern]) => pattern.test(beginning))?.[1];
  return reason === undefined ? undefined : { kind: 'final', reason };
};
