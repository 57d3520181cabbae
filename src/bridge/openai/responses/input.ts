import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';
import {
  type ApprovalDecision,
  badInput,
  type ClientToolResults,
  describeToolCall,
  type HistoryMessage,
  type PromptPart,
  type ResponseReference,
  textOfParts,
} from '../../request.ts';
import { parseMember } from '../body.ts';
import { describeToolResult, joinAdjacentTexts, parseContent, textPart, toHistory } from '../content.ts';
import { type EntryKind, findPrompt } from '../prompt-place.ts';
import { type DialogueEntry, parseToolResults, resultOf } from '../tool-results.ts';
import { parseApprovalItem } from './approval-item.ts';
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

/** A parsed item of a request's input. `index` is its position in the body. */
type InputItem = {
  readonly index: number;
  /** What tools did belongs to the answer that called them. */
  readonly speaker: 'user' | 'assistant' | 'instructions';
  readonly parts: readonly PromptPart[];
  /** The id of an item that the client refers to instead of sending it. */
  readonly reference?: string;
  readonly output?: DialogueEntry['output'];
  readonly callID?: string;
  readonly isMessage?: boolean;
  readonly decision?: ApprovalDecision;
};

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

/** A call of a tool that is built into another platform, as its JSON. */
const describeOtherCall = (type: string, { id: _id, type: _type, status: _status, ...rest }: object & JsonObject) =>
  [{ type: 'text', text: `[${type}]\n${JSON.stringify(rest).slice(0, OTHER_CALL_CHARS)}` }] as const;

type JsonObject = Readonly<Record<string, unknown>>;
type ParsedItem = Omit<InputItem, 'index'>;

const byAssistant = (parts: readonly PromptPart[]): ParsedItem => ({ speaker: 'assistant', parts });

const parseMessage = (item: JsonObject, at: string): ParsedItem => {
  const { role, content } = parseMember(Message, item, at);
  const speaker = role === 'system' || role === 'developer' ? 'instructions' : role;
  return { speaker, parts: parseContent(content, `${at}.content`), isMessage: true };
};

const parseRemoteCall = (item: JsonObject, at: string): ParsedItem => {
  const { id, name, arguments: input, output, error } = parseMember(RemoteCall, item, at);
  // The agent knows its own calls, and they are not part of the text that the client received.
  if (responseOfItemID(id ?? '') !== undefined) return byAssistant([]);
  const result = output ?? (error ? JSON.stringify(error) : '');
  return byAssistant([
    describeToolCall(name, input ?? ''),
    ...(result === '' ? [] : describeToolResult(name, [{ type: 'text', text: result }])),
  ]);
};

const parseDecision = (item: JsonObject, at: string): ParsedItem => {
  const given = parseApprovalItem(item, at);
  if (given === undefined) return byAssistant([]);
  return { speaker: 'user', parts: [textPart(given.text)], isMessage: true, decision: given.decision };
};

const createItemParser = () => {
  const names = new Map<string, string>();
  const callIn = (item: JsonObject, at: string): ParsedItem => {
    const { call_id, name, arguments: given, input } = parseMember(Call, item, at);
    if (call_id) names.set(call_id, name);
    return { ...byAssistant([describeToolCall(name, given ?? input ?? '')]), ...(call_id ? { callID: call_id } : {}) };
  };
  const outputIn = (item: JsonObject, at: string): ParsedItem => {
    const { call_id, name, output } = parseMember(CallOutput, item, at);
    const known = names.get(call_id ?? '') ?? name ?? 'a tool';
    const parts = parseContent(output, `${at}.output`);
    return { ...byAssistant(describeToolResult(known, parts)), output: { callID: call_id, parts } };
  };
  return (item: JsonObject, at: string): ParsedItem => {
    const type = item.type ?? (item.role === undefined ? 'item_reference' : 'message');
    switch (type) {
      case 'message':
        return parseMessage(item, at);
      case 'function_call':
      case 'custom_tool_call':
        return callIn(item, at);
      case 'function_call_output':
      case 'custom_tool_call_output':
        return outputIn(item, at);
      case 'mcp_approval_response':
        return parseDecision(item, at);
      case 'mcp_call':
        return parseRemoteCall(item, at);
      case 'item_reference':
        return { ...byAssistant([]), reference: parseMember(Reference, item, at).id };
      default:
        if (typeof type !== 'string' || !(TYPES_WITHOUT_TEXT.includes(type) || OTHER_CALL_TYPE.test(type)))
          throw badInput(
            'invalid_value',
            `${at}.type`,
            `Invalid value at '${at}.type': expected a type of input items`,
          );
        return byAssistant(TYPES_WITHOUT_TEXT.includes(type) ? [] : describeOtherCall(type, item));
    }
  };
};

/** OpenAI takes no request with instructions alone either. */
const NEEDED =
  "it is what is answered, also where 'instructions' are sent. Only a request with 'previous_response_id' or 'conversation' may have none: its answer goes on";

/** The items of a request's input, in order. A string is one message of the user. */
const parseItems = (input: unknown): readonly InputItem[] => {
  if (typeof input === 'string') return [{ index: 0, speaker: 'user', parts: parseContent(input, 'input') }];
  if (input === undefined || input === null)
    throw badInput('missing_required_parameter', 'input', `Missing required parameter: 'input': ${NEEDED}`);
  if (!Array.isArray(input))
    throw badInput('invalid_type', 'input', "Invalid type at 'input': expected a string or an array of items");
  if (input.length === 0) throw badInput('empty_array', 'input', `Expected at least one item at 'input': ${NEEDED}`);
  const read = createItemParser();
  return input.map((item: unknown, index) => {
    const at = `input[${index}]`;
    if (!isRecord(item)) throw badInput('invalid_type', at, `Invalid type at '${at}': expected Object`);
    return { index, ...read(item, at) };
  });
};

export type ParsedInput = {
  readonly system: string;
  /** The messages before the prompt; only those after `previousResponse` if there is one. */
  readonly history: readonly HistoryMessage[];
  readonly prompt: readonly PromptPart[];
  /** The beginning of the answer; empty if the client has not written one. */
  readonly prefill: string;
  readonly toolResults: ClientToolResults | undefined;
  /** What the prompt decides, if it is nothing but decisions; empty if it is not the user's. */
  readonly approvals: readonly ApprovalDecision[] | undefined;
  /** The response that the input continues, where the client sent ids of items in place of the items. */
  readonly previousResponse: ResponseReference | undefined;
  /** The path of the id of a message that was not sent and is not known here. */
  readonly unknownItemAt: string | undefined;
};

const toDialogueEntry = ({ speaker, parts, output, callID }: InputItem): DialogueEntry => ({
  role: speaker === 'user' ? 'user' : 'assistant',
  parts,
  ...(output === undefined ? {} : resultOf(output.callID, output.parts, parts)),
  ...(callID === undefined ? {} : { calls: parts.map((part) => ({ callID, part })) }),
});

const responseOf = ({ reference }: InputItem): ResponseReference | undefined =>
  reference === undefined ? undefined : responseOfItemID(reference);
const isMessageReference = ({ reference }: InputItem): boolean => reference !== undefined && isMessageID(reference);

/** The index of the last item of a response of ours; -1 where the text of every answer was sent. */
const findLastKnownItem = (dialogue: readonly InputItem[]): number => {
  const isNeeded = dialogue.some((item) => isMessageReference(item) && responseOf(item) !== undefined);
  return isNeeded ? dialogue.findLastIndex((item) => responseOf(item) !== undefined) : -1;
};

const parsePrompt = (dialogue: readonly InputItem[], start: number): readonly PromptPart[] => {
  const last = dialogue.at(-1);
  if (last === undefined) throw badInput('invalid_value', 'input', "Expected a message of the user at 'input'");
  const at = `input[${last.index}]`;
  if (start === dialogue.length)
    throw badInput(
      'unsupported_value',
      at,
      `Expected something to answer: there is no message of the user, instruction or result of a call up to '${at}'`,
    );
  const prompt = joinAdjacentTexts(dialogue.slice(start).flatMap(({ parts }) => parts));
  if (prompt.length === 0)
    throw badInput('invalid_value', 'input', "Expected something to answer at 'input': it is empty");
  return prompt;
};

const kindOf = ({ speaker, parts, reference, output, isMessage }: InputItem): EntryKind => {
  if (speaker !== 'assistant') return speaker === 'user' ? 'user' : 'instruction';
  if (output !== undefined) return 'result';
  if (isMessage === true) return 'answer';
  return parts.length === 0 && reference === undefined ? 'silent' : 'other';
};
const toUser = (item: InputItem): InputItem => ({ ...item, speaker: 'user' });

/** Instructions, history, and the user's messages since the last answer. Faults with `bad-input` where there are none of these. */
export const parseInput = (input: unknown): ParsedInput => {
  const { entries: items, prefill, isByInstruction } = findPrompt(parseItems(input), kindOf, toUser);
  const dialogue = items.filter(({ speaker }) => speaker !== 'instructions');
  // An output at the end is what the client wants an answer to. Before a user's message it belongs to the answer that called.
  const isByResult = dialogue.at(-1)?.output !== undefined;
  const isPrompt = ({ speaker, output }: InputItem): boolean =>
    isByResult ? output !== undefined : speaker === 'user';
  const start = dialogue.findLastIndex((item) => !isPrompt(item)) + 1;
  const prompt = parsePrompt(dialogue, start);
  const lastKnown = findLastKnownItem(dialogue);
  const since = dialogue.slice(lastKnown + 1, start);
  // Some clients send the rest of the known answer as text, which is skipped.
  const firstSince = lastKnown === -1 ? 0 : since.findIndex(({ speaker }) => speaker === 'user');
  const lost = since.find((item) => isMessageReference(item) && responseOf(item) === undefined);
  const instructions = items.filter(({ speaker }) => speaker === 'instructions').map(({ parts }) => textOfParts(parts));
  const decisions = dialogue.slice(start).map(({ decision }) => decision);
  const areAllDecisions = decisions.every((decision) => decision !== undefined);
  const knownItem = dialogue[lastKnown];
  const results = parseToolResults(dialogue.slice(lastKnown + 1).map(toDialogueEntry));
  const toolResults = results && knownItem !== undefined ? { ...results, history: [] } : results;
  return {
    system: instructions.filter((text) => text !== '').join('\n\n'),
    history: firstSince === -1 ? [] : toHistory(since.slice(firstSince).map(toDialogueEntry)),
    prompt,
    prefill: textOfParts(prefill.flatMap(({ parts }) => parts)),
    toolResults: prefill.length > 0 ? undefined : toolResults,
    approvals: isByInstruction === true ? [] : areAllDecisions ? decisions : undefined,
    previousResponse: knownItem === undefined ? undefined : responseOf(knownItem),
    unknownItemAt: lost === undefined ? undefined : `input[${lost.index}].id`,
  };
};
