import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';
import { badInput, invalidValue, type PromptPart, type ResponseReference, wrongType } from '../../request.ts';
import type { SentCall } from '../../turns/port.ts';
import { parseApprovalItem } from '../approvals.ts';
import { parseMember } from '../body.ts';
import { customArguments } from '../client-tools.ts';
import { parseContent, textPart } from '../content.ts';
import { type Dialogue, type DialogueEntry, readDialogue } from '../dialogue.ts';
import { isMessageID, responseOfItemID } from './items.ts';

const maybeText = v.nullish(v.string());
const Message = v.object({
  role: v.picklist(['user', 'assistant', 'system', 'developer']),
  content: v.nullish(v.unknown()),
});
const Call = v.object({ call_id: maybeText, name: v.string(), arguments: maybeText, input: maybeText });
const CallOutput = v.object({ call_id: maybeText, name: maybeText, output: v.nullish(v.unknown()) });
const RemoteCall = v.object({
  id: maybeText,
  name: v.string(),
  arguments: maybeText,
  output: maybeText,
  error: v.nullish(v.unknown()),
});
const Reference = v.object({ id: v.string() });

/** A parsed item of a request's input. `reference`: the id of an item that the client refers to instead of sending it. */
type InputItem = DialogueEntry & { readonly reference?: string };

/** Items that only the server that made them can read, or that hold no text of the conversation. */
const TYPES_WITHOUT_TEXT = [
  'additional_tools',
  'compaction',
  'compaction_trigger',
  'computer_call',
  'computer_call_output',
  'configuration_update',
  'image_generation_call',
  'mcp_approval_request',
  'mcp_list_tools',
  'program',
  'reasoning',
];
const OTHER_CALL_TYPE = /^[a-z_]{1,60}_(?:call|output)$/;
const OTHER_CALL_CHARS = 8000;

type JsonObject = Readonly<Record<string, unknown>>;

/** A call of a tool that is built into another platform, as its JSON. */
const describeOtherCall = (type: string, { id: _id, type: _type, status: _status, ...rest }: JsonObject): PromptPart =>
  textPart(`[${type}]\n${JSON.stringify(rest).slice(0, OTHER_CALL_CHARS)}`);

const silent = (at: string): InputItem => ({ at, kind: 'silent', parts: [] });
const calling = (at: string, ...calls: readonly SentCall[]): InputItem => ({ at, kind: 'other', parts: [], calls });

const parseMessage = (item: JsonObject, at: string): InputItem => {
  const { role, content } = parseMember(Message, item, at);
  const parts = parseContent(content, `${at}.content`);
  if (role === 'assistant') return { at, kind: 'answer', parts };
  return { at, kind: role === 'user' ? 'user' : 'instruction', parts };
};

/** A call of a tool of another server, which it has made. The agent knows its own calls. */
const parseRemoteCall = (item: JsonObject, at: string): readonly InputItem[] => {
  const { id, name, arguments: input, output, error } = parseMember(RemoteCall, item, at);
  if (responseOfItemID(id ?? '') !== undefined) return [silent(at)];
  const callID = id ?? `call_${at.replace(/\W+/g, '')}`;
  const result = output ?? (error ? JSON.stringify(error) : '');
  const call = calling(at, { id: callID, name, arguments: input ?? '' });
  // It is part of an answer, and nothing that has to be answered.
  const isError = (output ?? null) === null && Boolean(error);
  return [call, { at, kind: 'result', parts: [textPart(result)], callID, isError }, silent(at)];
};

const parseCall = (item: JsonObject, at: string, isCustom: boolean): InputItem => {
  const { call_id, name, arguments: given, input } = parseMember(Call, item, at);
  const id = call_id ?? `call_${at.replace(/\W+/g, '')}`;
  return calling(at, { id, name, arguments: isCustom ? customArguments(input ?? '') : (given ?? '') });
};

const parseOutput = (item: JsonObject, at: string): InputItem => {
  const { call_id, output } = parseMember(CallOutput, item, at);
  return { at, kind: 'result', parts: parseContent(output, `${at}.output`), callID: call_id ?? undefined };
};

const parseDecision = (item: JsonObject, at: string): InputItem => {
  const given = parseApprovalItem(item, at);
  return given === undefined
    ? silent(at)
    : { at, kind: 'user', parts: [textPart(given.text)], decision: given.decision };
};

/** An item of a request or of a conversation; several for a call that has its result. Faults with `bad-input`. */
export const parseInputItem = (item: JsonObject, at: string): InputItem | readonly InputItem[] => {
  const type = item.type ?? (item.role === undefined ? 'item_reference' : 'message');
  switch (type) {
    case 'message':
      return parseMessage(item, at);
    case 'function_call':
    case 'custom_tool_call':
      return parseCall(item, at, type === 'custom_tool_call');
    case 'function_call_output':
    case 'custom_tool_call_output':
      return parseOutput(item, at);
    case 'mcp_approval_response':
      return parseDecision(item, at);
    case 'mcp_call':
      return parseRemoteCall(item, at);
    case 'item_reference':
      return { ...silent(at), kind: 'other', reference: parseMember(Reference, item, at).id };
    default:
      if (typeof type !== 'string' || !(TYPES_WITHOUT_TEXT.includes(type) || OTHER_CALL_TYPE.test(type)))
        throw invalidValue(`${at}.type`, 'expected a type of input items');
      if (TYPES_WITHOUT_TEXT.includes(type)) return silent(at);
      return { at, kind: 'other', parts: [describeOtherCall(type, item)] };
  }
};

/** OpenAI takes no request with instructions alone either. */
const NEEDED =
  "it is what is answered, also where 'instructions' are sent. Only a request with 'previous_response_id' or 'conversation' may have none: its answer goes on";

/** The items of a request's input, in order. A string is one message of the user. */
const parseItems = (input: unknown): readonly InputItem[] => {
  if (typeof input === 'string') return [{ at: 'input', kind: 'user', parts: parseContent(input, 'input') }];
  if (input === undefined || input === null)
    throw badInput('missing_required_parameter', 'input', `Missing required parameter: 'input': ${NEEDED}`);
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array of items');
  if (input.length === 0) throw badInput('empty_array', 'input', `Expected at least one item at 'input': ${NEEDED}`);
  return input.flatMap((item: unknown, index) => {
    const at = `input[${index}]`;
    if (!isRecord(item)) throw wrongType(at, 'Object');
    return parseInputItem(item, at);
  });
};

/** The messages of an input; of those before a response that it refers to, none. */
export type ParsedInput = {
  readonly dialogue: Dialogue;
  /** The response that the input continues, where the client sent ids of items in place of the items. */
  readonly previousResponse: ResponseReference | undefined;
  /** The path of the id of a message that was not sent and is not known here. */
  readonly unknownItemAt: string | undefined;
};

const responseOf = ({ reference }: InputItem): ResponseReference | undefined =>
  reference === undefined ? undefined : responseOfItemID(reference);
const isMessageReference = ({ reference }: InputItem): boolean => reference !== undefined && isMessageID(reference);

/** The index of the last item of a response of ours; -1 where the text of every answer was sent. */
const findLastKnownItem = (items: readonly InputItem[]): number => {
  const isNeeded = items.some((item) => isMessageReference(item) && responseOf(item) !== undefined);
  return isNeeded ? items.findLastIndex((item) => responseOf(item) !== undefined) : -1;
};

/** Some clients send the rest of the known answer as text, which is left out. */
const afterAnswer = (items: readonly InputItem[]): readonly InputItem[] => {
  const first = items.findIndex(({ kind }) => kind === 'user' || kind === 'result');
  return first === -1 ? [] : items.slice(first);
};

/** Instructions, history, and what has come since the last answer. Faults with `bad-input` where there is nothing to answer. */
export const parseInput = (input: unknown): ParsedInput => {
  const items = parseItems(input);
  const lastKnown = findLastKnownItem(items);
  const since = items.slice(lastKnown + 1);
  const lost = since.find((item) => isMessageReference(item) && responseOf(item) === undefined);
  const knownItem = items[lastKnown];
  const instructions = items.slice(0, lastKnown + 1).filter(({ kind }) => kind === 'instruction');
  return {
    dialogue: readDialogue(knownItem === undefined ? since : [...instructions, ...afterAnswer(since)], 'input'),
    previousResponse: knownItem === undefined ? undefined : responseOf(knownItem),
    unknownItemAt: lost === undefined ? undefined : `${lost.at}.id`,
  };
};
