import * as v from 'valibot';
import { Fault } from '../../../core/fault.ts';
import { isRecord } from '../../../core/json.ts';
import type { BridgeFault } from '../../errors.ts';
import { conversationInID } from '../../ids.ts';
import { type BridgeRequest, badInput, type ConversationReference, userTextIn } from '../../request.ts';
import { parseTextFormat } from '../answer-format.ts';
import { parseApprovalHeader } from '../approval-header.ts';
import { isBackgroundTask } from '../background-tasks.ts';
import { type HasNoEffect, isEmpty, isNever, isOneOf, parseBodyObject, parseMember, refuseTooMany } from '../body.ts';
import { areAllFunctions, parseClientTools } from '../client-tools.ts';
import { parseConversationReference } from '../conversation-id.ts';
import {
  A_BOOLEAN,
  A_LIST,
  A_TEXT,
  AN_OBJECT,
  type ParameterTable,
  refuseOtherValues,
  SAMPLING_VALUES,
  wholeNumberFrom,
} from '../parameter-values.ts';
import { type ResponseEcho, repeatedMembers } from './echo.ts';
import { type ParsedInput, parseInput } from './input.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Members that change a response elsewhere and not here, and the values that make no difference. */
const UNSUPPORTED_MEMBERS: Readonly<Record<string, HasNoEffect>> = {
  access_programs: isEmpty,
  context_management: isEmpty,
  image: isEmpty,
  include: isEmpty,
  max_output_tokens: isNever,
  max_tool_calls: isNever,
  moderation: isEmpty,
  'reasoning.context': isOneOf('auto'),
  'reasoning.mode': isOneOf('standard'),
  service_tier: isOneOf('auto', 'default'),
  temperature: isOneOf(1),
  'text.verbosity': isOneOf('medium'),
  tools: areAllFunctions,
  top_logprobs: isOneOf(0),
  top_p: isOneOf(1),
  truncation: isOneOf('disabled'),
};

const PARAMETER_VALUES: ParameterTable = {
  ...SAMPLING_VALUES,
  include: A_LIST,
  max_output_tokens: wholeNumberFrom(0),
  max_tool_calls: wholeNumberFrom(0),
  parallel_tool_calls: A_BOOLEAN,
  service_tier: A_TEXT,
  text: AN_OBJECT,
  top_logprobs: wholeNumberFrom(0, 20),
  truncation: A_TEXT,
};

const valueAt = (body: JsonObject, path: string): unknown => {
  const [name = '', inner] = path.split('.');
  const value = body[name];
  if (inner === undefined) return value;
  return isRecord(value) ? value[inner] : undefined;
};

/** Names of the members that were sent and have no effect here, in alphabetical order. */
const ignoredResponseMembers = (body: JsonObject): readonly string[] =>
  Object.entries(UNSUPPORTED_MEMBERS).flatMap(([path, isNeutral]) => {
    const value = valueAt(body, path);
    return value === undefined || value === null || isNeutral(value) ? [] : [path];
  });

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

const unsupported = (name: string, why: string) =>
  badInput('unsupported_value', name, `Unsupported value at '${name}': ${why}`);

const refuseUnsupported = (body: Body, { background, store }: Request): void => {
  if (background === true && store === false)
    throw unsupported(
      'background',
      "a response in the background is stored until its client looks at it; leave out 'store'",
    );
  if (body.prompt !== undefined && body.prompt !== null)
    throw unsupported('prompt', 'no templates are stored here; send instructions and input');
};

/** A blank name or id is the same as none. */
const nonEmpty = (value: string | null | undefined): string | undefined => {
  const trimmed = value?.trim() ?? '';
  return trimmed === '' ? undefined : trimmed;
};

type ReferencedIDs = { readonly conversationID: string | undefined; readonly previousID: string | undefined };

const parseReferencedIDs = ({ conversation, previous_response_id }: Request): ReferencedIDs => {
  const conversationID = nonEmpty(typeof conversation === 'string' ? conversation : conversation?.id);
  const previousID = nonEmpty(previous_response_id);
  if (conversationID !== undefined && previousID !== undefined)
    throw badInput(
      'mutually_exclusive_parameters',
      'previous_response_id',
      "Expected at most one of 'previous_response_id' and 'conversation'",
    );
  return { conversationID, previousID };
};

const CONVERSATION_NOT_FOUND: BridgeFault = { kind: 'turn-refused', code: 'conversation_not_found', ids: [] };
const CONVERSATION_ID = /^[^\p{C}]{1,200}$/u;

/** The conversation that the client names in `previous_response_id` or `conversation`. */
const explicitConversation = ({ conversationID, previousID }: ReferencedIDs): ConversationReference => {
  if (previousID !== undefined) return { kind: 'after', responseID: previousID };
  if (conversationID === undefined) return { kind: 'unnamed' };
  if (!CONVERSATION_ID.test(conversationID))
    throw badInput(
      'invalid_value',
      'conversation',
      "Invalid value at 'conversation': expected 1 to 200 printable characters",
    );
  const named = parseConversationReference(
    new Headers(),
    { conversation_id: conversationID },
    { isStreamed: false, isTask: false },
  );
  const isCreated = named.kind === 'named' && conversationInID(named.id) !== undefined;
  // An id of another platform names nothing here, and its client would not notice that the conversation begins again.
  if (!isCreated && conversationID.startsWith('conv_')) throw new Fault(CONVERSATION_NOT_FOUND);
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
const inputOf = ({ input }: Body, place: ConversationReference): unknown =>
  place.kind !== 'unnamed' && isNothing(input) ? CONTINUE : input;

const echoOf = (request: Request, body: Body, place: ConversationReference): ResponseEcho => ({
  instructions: request.instructions ?? null,
  // As it was sent: the schema leaves out names that every object has.
  metadata: Object.fromEntries(Object.entries(body.metadata ?? {}).map(([name, value]) => [name, String(value)])),
  previousResponseID: place.kind === 'after' ? place.responseID : null,
  conversationID: place.kind === 'named' ? place.id : null,
  isStored: request.store !== false,
  isBackground: request.background === true,
  ...repeatedMembers(body),
});

/** Parses the body of `POST /v1/responses`. Faults with `bad-input`, whose `param` is the path of the member. */
export const parseResponsesRequest = (sent: unknown, headers: Headers): ParsedResponsesRequest => {
  const body = parseBodyObject(sent);
  refuseTooMany(body.input, 'input');
  refuseOtherValues(body, PARAMETER_VALUES);
  const request = parseMember(ResponsesRequestBody, body);
  refuseUnsupported(body, request);
  const clientTools = parseClientTools(body);
  const format = parseTextFormat(valueAt(body, 'text.format'), 'text.format');
  const explicit = explicitConversation(parseReferencedIDs(request));
  const given = parseInput(inputOf(body, explicit));
  const { history, input, files, prefill, approvals } = given;
  const system = [request.instructions ?? '', given.system].filter((text) => text.trim() !== '').join('\n\n');
  const isStreamed = request.stream === true;
  const isNamed = explicit.kind !== 'unnamed';
  const traits = { system, promptText: userTextIn(input), hasHistory: history.length > 0, isStreamed };
  const echo = echoOf(request, body, explicit);
  // A response in the background is looked at later, so it is stored whatever it is about.
  const mayBeTask = !isNamed && !echo.isBackground && given.previousResponse === undefined;
  const isOwnTask = mayBeTask && isBackgroundTask(traits);
  const effort = nonEmpty(request.reasoning?.effort);
  return {
    model: nonEmpty(request.model),
    system,
    history,
    input,
    files,
    ...(prefill === '' ? {} : { prefill }),
    isStreamed,
    ...(echo.isBackground ? { isBackground: true } : {}),
    effort: effort === 'none' ? undefined : effort,
    isStored: echo.isStored,
    conversation: isNamed
      ? explicit
      : impliedConversation(parseConversationReference(headers, body, { isStreamed, isTask: isOwnTask }), given),
    isBackgroundTask: isOwnTask,
    approval: parseApprovalHeader(headers),
    ...(approvals === undefined ? {} : { approvals }),
    ...(format === undefined ? {} : { format }),
    ...(clientTools === undefined || isOwnTask ? {} : { clientTools }),
    ignored: ignoredResponseMembers(body),
    echo,
  };
};
