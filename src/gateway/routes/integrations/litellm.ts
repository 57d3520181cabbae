import { jsonResponse, NEVER_RETRY, serverError } from '../../../core/http/response.ts';
import { isRecord } from '../../../core/json.ts';
import type { GatewayFault } from '../../errors.ts';
import { foundTexts, isNothing } from '../chat-texts/members.ts';
import { definitionsText, toolCallTexts } from '../chat-texts/message-text.ts';
import type { VerdictRoute } from '../observer.ts';
import { readChatMessages, unreadable } from './chat-input.ts';
import type { AskGuardrail, GuardrailInput, GuardrailVerdict } from './guardrail.ts';

/** Where LiteLLM's generic guardrail sends what it has judged. */
export const LITELLM_PATH = '/beta/litellm_basic_guardrail_api';

const stringsOf = (value: unknown, param: string): readonly string[] => {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw unreadable(param, 'a list of texts');
};

/**
 * All that a request or an answer of LiteLLM's holds. `texts` leaves out what is neither text nor image, so that the messages are read
 * as well: most of their texts are the same, and are judged once.
 */
export const readLitellm = (body: unknown): GuardrailInput => {
  if (!isRecord(body)) throw unreadable('texts', 'an object with texts');
  const { structured_messages: messages } = body;
  const chat =
    messages === undefined || messages === null
      ? { texts: [], images: [] }
      : readChatMessages(messages, 'structured_messages');
  const calls = foundTexts();
  if (!isNothing(body.tool_calls) && !toolCallTexts(body.tool_calls, calls))
    throw unreadable('tool_calls', 'calls with a name and arguments');
  const tools = definitionsText(body.tools);
  if (tools === undefined) throw unreadable('tools', 'fewer levels');
  const inMessages = new Set(chat.texts.flatMap(({ written }) => written));
  const others = stringsOf(body.texts, 'texts').filter((text) => !inMessages.has(text));
  // What stays comes first and what is new last, so that the groups of a growing conversation stay the same.
  return {
    texts: [foundTexts(tools), ...chat.texts, ...others.map((text) => foundTexts(text)), calls],
    images: [...chat.images, ...stringsOf(body.images, 'images')],
  };
};

/** `BLOCKED` with the names of the categories, which reach the user, or `NONE`. */
const respond = ({ categories, headers }: GuardrailVerdict): Response =>
  jsonResponse(
    200,
    categories.length === 0
      ? { action: 'NONE' }
      : { action: 'BLOCKED', blocked_reason: `Blocked by content moderation: ${categories.join(', ')}` },
    headers,
  );

/** LiteLLM sends its `api_key` in a header of its own; `headers` of its configuration may hold the usual one. */
const showingKey = (request: Request): Request => {
  const key = request.headers.get('x-api-key');
  return key === null || request.headers.has('authorization')
    ? request
    : new Request(request.url, { headers: { authorization: `Bearer ${key}` } });
};

/**
 * `POST /beta/litellm_basic_guardrail_api`: LiteLLM's generic guardrail.
 * Source: BerriAI/litellm 1.106.2, proxy/guardrails/guardrail_hooks/generic_guardrail_api.
 */
export const createLitellmRoute =
  (ask: AskGuardrail): VerdictRoute =>
  (request, observer) =>
    ask(request, { read: readLitellm, respond, observer, shownBy: showingKey(request) });

/**
 * The error of a reply that is no verdict, and of a call that the judge's server refused. LiteLLM takes 502, 503 and 504 for an outage,
 * which `unreachable_fallback: fail_open` lets pass: a text that leads the judge astray, or that its server filters, must not
 * look like one.
 */
export const litellmFailure = (detail: GatewayFault | undefined): Response | undefined => {
  if (detail?.kind === 'backend-unusable')
    return serverError(
      500,
      'backend_unusable_reply',
      `The backend gave no usable verdict: ${detail.reason}`,
      NEVER_RETRY,
    );
  return detail?.kind === 'backend-error' && detail.isRejected === true
    ? serverError(500, 'backend_error', `The backend refused the call: ${detail.reason}`, NEVER_RETRY)
    : undefined;
};
