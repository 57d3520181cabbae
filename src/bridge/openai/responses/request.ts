import * as v from 'valibot';
import { Fault } from '../../../core/fault.ts';
import type { BridgeFault } from '../../errors.ts';
import { conversationInID } from '../../ids.ts';
import {
  type BridgeRequest,
  badInput,
  type ConversationReference,
  invalidValue,
  unsupportedValue,
} from '../../request.ts';
import { parseBodyObject, parseMember, refuseTooMany } from '../body.ts';
import { nonEmpty, toBridgeRequest } from '../bridge-request.ts';
import { parseConversationReference } from '../conversation-id.ts';
import { RESPONSE_PARAMETERS, refuseOtherValues } from '../parameters.ts';
import { type ResponseEcho, repeatedMembers } from './echo.ts';
import { type ParsedInput, parseInput } from './input.ts';

/** The members of the body that have an effect; `input` is parsed item by item. */
export const ResponsesRequestBody = v.object({
  background: v.nullish(v.boolean()),
  conversation: v.nullish(v.union([v.string(), v.object({ id: v.string() })])),
  instructions: v.nullish(v.string()),
  metadata: v.nullish(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]))),
  model: v.nullish(v.string()),
  previous_response_id: v.nullish(v.string()),
  reasoning: v.nullish(v.object({ effort: v.nullish(v.string()) })),
  store: v.nullish(v.boolean()),
  stream: v.nullish(v.boolean()),
});
type Request = v.InferOutput<typeof ResponsesRequestBody>;
type Body = Readonly<Record<string, unknown>>;

/** A parsed request for a response. `echo`: what the response repeats of the request. */
export type ParsedResponsesRequest = BridgeRequest & { readonly echo: ResponseEcho };

const refuseUnsupported = (body: Body, { background, store }: Request): void => {
  if (background === true && store === false)
    throw unsupportedValue(
      'background',
      "a response in the background is stored until its client looks at it; leave out 'store'",
    );
  if (body.prompt !== undefined && body.prompt !== null)
    throw unsupportedValue('prompt', 'no templates are stored here; send instructions and input');
};

const CONVERSATION_NOT_FOUND: BridgeFault = { kind: 'turn-refused', code: 'conversation_not_found', ids: [] };
const CONVERSATION_ID = /^[^\p{C}]{1,200}$/u;

/** The conversation that the client names in `previous_response_id` or `conversation`; undefined if in neither. */
const explicitConversation = ({ conversation, previous_response_id }: Request): ConversationReference | undefined => {
  const name = nonEmpty(typeof conversation === 'string' ? conversation : conversation?.id);
  const responseID = nonEmpty(previous_response_id);
  if (name !== undefined && responseID !== undefined)
    throw badInput(
      'mutually_exclusive_parameters',
      'previous_response_id',
      "Expected at most one of 'previous_response_id' and 'conversation'",
    );
  if (responseID !== undefined) return { kind: 'after', responseID };
  if (name === undefined) return undefined;
  if (!CONVERSATION_ID.test(name)) throw invalidValue('conversation', 'expected 1 to 200 printable characters');
  const named = parseConversationReference(new Headers(), { conversation_id: name }, false);
  const isCreated = named.kind === 'named' && conversationInID(named.id) !== undefined;
  // An id of another platform names nothing here, and its client would not notice that the conversation begins again.
  if (!isCreated && name.startsWith('conv_')) throw new Fault(CONVERSATION_NOT_FOUND);
  if (named.kind === 'unnamed') return undefined;
  return isCreated ? { ...named, appends: true } : named;
};

/** Where the client names none explicitly, a response that its input refers to comes before an id in a header. */
const impliedConversation = (
  place: ConversationReference,
  { previousResponse, unknownItemAt: lostAt }: ParsedInput,
): ConversationReference => {
  if (place.kind === 'named' && place.isIncremental) return place;
  if (lostAt !== undefined)
    throw badInput('item_not_found', lostAt, `No message with the id at '${lostAt}' is known here: send its text`);
  return previousResponse ?? place;
};

/** What the agent is asked where a request has nothing but what it goes on with. Agents answer messages alone. */
const CONTINUE = 'Continue.';

const isNothing = (input: unknown): boolean =>
  input === undefined ||
  input === null ||
  (typeof input === 'string' && input.trim() === '') ||
  (Array.isArray(input) && input.length === 0);

/** OpenAI's models go on where a request with `previous_response_id` or `conversation` has no input. */
const inputOf = ({ input }: Body, place: ConversationReference | undefined): unknown =>
  place !== undefined && isNothing(input) ? CONTINUE : input;

const echoOf = (body: Body, place: ConversationReference | undefined): ResponseEcho => ({
  ...repeatedMembers(body),
  conversation: place?.kind === 'named' ? { id: place.id } : null,
  // As it was sent: the schema leaves out names that every object has.
  metadata: Object.fromEntries(Object.entries(body.metadata ?? {}).map(([name, value]) => [name, String(value)])),
  previous_response_id: place?.kind === 'after' ? place.responseID : null,
});

/** Parses the body of `POST /v1/responses`. Faults with `bad-input`, whose `param` is the path of the member. */
export const parseResponsesRequest = (sent: unknown, headers: Headers): ParsedResponsesRequest => {
  const body = parseBodyObject(sent);
  refuseTooMany(body.input, 'input');
  refuseOtherValues(body, RESPONSE_PARAMETERS);
  const request = parseMember(ResponsesRequestBody, body);
  refuseUnsupported(body, request);
  const { model, stream, store } = request;
  const explicit = explicitConversation(request);
  const given = parseInput(inputOf(body, explicit));
  const system = [request.instructions ?? '', given.dialogue.system].filter((text) => text.trim() !== '').join('\n\n');
  const echo = echoOf(body, explicit);
  const asked = toBridgeRequest({
    ...{ body, headers, parameters: RESPONSE_PARAMETERS, formatAt: 'text.format', model, stream, store },
    dialogue: { ...given.dialogue, system },
    effort: request.reasoning?.effort,
    isBackground: echo.background,
    conversation: explicit,
    // A response in the background is looked at later, so it is stored whatever it is about.
    mayBeTask: explicit === undefined && !echo.background && given.previousResponse === undefined,
  });
  const conversation = explicit ?? impliedConversation(asked.conversation, given);
  return { ...asked, conversation, echo };
};
