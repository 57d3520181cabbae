import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';
import { type BridgeRequest, badInput, type ConversationReference, textOfParts } from '../../request.ts';
import { parseApprovalHeader } from '../../turn/approval-parser.ts';
import { isTask } from '../background-tasks.ts';
import { type IsNeutral, is, isEmpty, never, readAs, refuseTooMany } from '../body.ts';
import { placeOf } from '../conversation-id.ts';
import { type SaidInItems, saidInItems } from './input.ts';
import type { ResponseEcho } from './response.ts';

type Given = Readonly<Record<string, unknown>>;

/** Members that change a response elsewhere and not here, and the values that ask for nothing. */
const WITHOUT_EFFECT: Readonly<Record<string, IsNeutral>> = {
  access_programs: isEmpty,
  context_management: isEmpty,
  image: isEmpty,
  include: isEmpty,
  max_output_tokens: never,
  max_tool_calls: never,
  moderation: isEmpty,
  parallel_tool_calls: is(true),
  service_tier: is('auto', 'default'),
  temperature: is(1),
  'text.format': (value) => isRecord(value) && value.type === 'text',
  'text.verbosity': is('medium'),
  tool_choice: is('none', 'auto'),
  tools: isEmpty,
  top_logprobs: is(0),
  top_p: is(1),
  truncation: is('disabled'),
};

const valueAt = (body: Given, path: string): unknown => {
  const [name = '', inner] = path.split('.');
  const value = body[name];
  if (inner === undefined) return value;
  return isRecord(value) ? value[inner] : undefined;
};

/** Names of the members that were given and have no effect here, in the order of the alphabet. */
export const ignoredInResponses = (body: Given): readonly string[] =>
  Object.entries(WITHOUT_EFFECT).flatMap(([path, isNeutral]) => {
    const value = valueAt(body, path);
    return value === undefined || value === null || isNeutral(value) ? [] : [path];
  });

/** The members of the body that are read; `input` is read item by item. */
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

/** A request for a response. `echo`: what the response says again. */
export type ParsedResponsesRequest = BridgeRequest & { readonly echo: ResponseEcho };

/** Whether a choice leaves it open that no tool of the client is called. */
const isFree = (choice: unknown): boolean => {
  if (choice === undefined || choice === null || choice === 'none' || choice === 'auto') return true;
  return isRecord(choice) && choice.type === 'allowed_tools' && choice.mode === 'auto';
};

const unsupported = (name: string, why: string) =>
  badInput('unsupported_value', name, `Unsupported value at '${name}': ${why}`);

const refuseWhatIsNotDone = (body: Body, { background }: Request): void => {
  if (background === true) throw unsupported('background', 'answers are given at once or as a stream');
  if (!isFree(body.tool_choice))
    throw unsupported('tool_choice', "a client's tools are not called here, the agent has its own");
  if (body.prompt !== undefined && body.prompt !== null)
    throw unsupported('prompt', 'no templates are kept here; send instructions and input');
};

/** No name, and no id, is the same as none given. */
const nonEmpty = (value: string | null | undefined): string | undefined => {
  const trimmed = value?.trim() ?? '';
  return trimmed === '' ? undefined : trimmed;
};

type Named = { readonly conversationID: string | undefined; readonly previousID: string | undefined };

const namedIn = ({ conversation, previous_response_id }: Request): Named => {
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

const FIT_AS_NAME = /^[^\p{C}]{1,200}$/u;

/** What the client names outright, in the members that are made for it. */
const placeNamed = ({ conversationID, previousID }: Named): ConversationReference => {
  if (previousID !== undefined) return { kind: 'after', responseID: previousID };
  if (conversationID === undefined) return { kind: 'unnamed' };
  if (!FIT_AS_NAME.test(conversationID))
    throw badInput(
      'invalid_value',
      'conversation',
      "Invalid value at 'conversation': expected 1 to 200 printable characters",
    );
  return placeOf(new Headers(), { conversation_id: conversationID }, { isStreamed: false, isTask: false });
};

/** Where the client names nothing outright, what it left out of its input tells more than a name by the way. */
const placeOtherwise = (place: ConversationReference, { after, lostAt }: SaidInItems): ConversationReference => {
  if (place.kind === 'named' && place.isIncremental) return place;
  if (lostAt !== undefined)
    throw badInput('item_not_found', lostAt, `No message with the id at '${lostAt}' is known here: send it in words`);
  return after === undefined ? place : { kind: 'after', responseID: after };
};

const echoOf = (request: Request, place: ConversationReference): ResponseEcho => ({
  instructions: request.instructions ?? null,
  metadata: Object.fromEntries(Object.entries(request.metadata ?? {}).map(([name, value]) => [name, String(value)])),
  previousResponseID: place.kind === 'after' ? place.responseID : null,
  conversationID: place.kind === 'named' ? place.id : null,
  effort: nonEmpty(request.reasoning?.effort) ?? null,
  isKept: request.store !== false,
});

/** What the body of `POST /v1/responses` asks. Faults with `bad-input`, naming the place. */
export const parseResponsesRequest = (body: unknown, headers: Headers): ParsedResponsesRequest => {
  if (!isRecord(body)) throw badInput('invalid_type', null, 'Expected a JSON object as the body');
  refuseTooMany(body.input, 'input');
  const request = readAs(ResponsesRequestBody, body);
  refuseWhatIsNotDone(body, request);
  const outright = placeNamed(namedIn(request));
  const said = saidInItems(body.input);
  const { history, prompt } = said;
  const system = [request.instructions ?? '', said.system].filter((words) => words.trim() !== '').join('\n\n');
  const isStreamed = request.stream === true;
  const isNamed = outright.kind !== 'unnamed';
  const signs = { system, words: textOfParts(prompt), hasHistory: history.length > 0, isStreamed };
  const isOwnTask = !isNamed && said.after === undefined && isTask(signs);
  const echo = echoOf(request, outright);
  return {
    model: nonEmpty(request.model),
    system,
    history,
    prompt,
    isStreamed,
    effort: echo.effort === null || echo.effort === 'none' ? undefined : echo.effort,
    isStored: echo.isKept,
    conversation: isNamed ? outright : placeOtherwise(placeOf(headers, body, { isStreamed, isTask: isOwnTask }), said),
    isBackgroundTask: isOwnTask,
    approval: parseApprovalHeader(headers),
    ignored: ignoredInResponses(body),
    echo,
  };
};
