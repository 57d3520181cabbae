import * as v from 'valibot';
import {
  badInput,
  type ClientToolResults,
  describeToolCall,
  type HistoryMessage,
  type PromptPart,
  textOfParts,
} from '../../request.ts';
import { describeToolResult, joinAdjacentTexts, parseContent, textPart, toHistory } from '../content.ts';
import { type EntryKind, findPrompt } from '../prompt-place.ts';
import { type DialogueEntry, parseToolResults, resultOf } from '../tool-results.ts';

const maybeText = v.nullish(v.string());
const FunctionCall = v.object({ name: v.string(), arguments: maybeText });

/** Messages of chat completions. Their content is parsed later, part by part. */
export const Messages = v.array(
  v.object({
    role: v.picklist(['developer', 'system', 'user', 'assistant', 'tool', 'function']),
    content: v.nullish(v.unknown()),
    name: maybeText,
    refusal: maybeText,
    tool_call_id: maybeText,
    tool_calls: v.nullish(
      v.array(
        v.object({
          id: maybeText,
          function: v.nullish(FunctionCall),
          custom: v.nullish(v.object({ name: v.string(), input: maybeText })),
        }),
      ),
    ),
    function_call: v.nullish(FunctionCall),
  }),
);
type Message = v.InferOutput<typeof Messages>[number];

type ParsedMessages = {
  readonly system: string;
  readonly history: readonly HistoryMessage[];
  readonly prompt: readonly PromptPart[];
  /** The beginning of the answer; empty if the client has not written one. */
  readonly prefill: string;
  readonly toolResults: ClientToolResults | undefined;
  /** Empty where the prompt is not the user's and so decides nothing. */
  readonly approvals: readonly [] | undefined;
};

/** A message whose content was read; `index` is its position in the body. */
type ReadMessage = { readonly message: Message; readonly parts: readonly PromptPart[]; readonly index: number };

type Call = { readonly id: string | undefined; readonly name: string; readonly input: string };

const callsOf = ({ tool_calls, function_call }: Message): readonly Call[] => [
  ...(tool_calls ?? []).map((call) => ({
    id: call.id ?? undefined,
    name: call.function?.name ?? call.custom?.name ?? 'a tool',
    input: call.function?.arguments ?? call.custom?.input ?? '',
  })),
  ...(function_call ? [{ id: undefined, name: function_call.name, input: function_call.arguments ?? '' }] : []),
];

/** What a client's own tools did, as text: the agent does not have these tools, so there is no other form. */
const createToolDescriber = () => {
  const names = new Map<string, string>();
  return {
    describeCalls: (message: Message) =>
      callsOf(message).map(({ id: callID, name, input }) => {
        if (callID !== undefined) names.set(callID, name);
        return { callID, part: describeToolCall(name, input) };
      }),
    describeResult: ({ message, parts }: ReadMessage): readonly PromptPart[] =>
      describeToolResult(names.get(message.tool_call_id ?? '') ?? message.name ?? 'a tool', parts),
  };
};

/** What tools did belongs to the answer that called them. */
const toDialogue = (messages: readonly ReadMessage[]): readonly DialogueEntry[] => {
  const tools = createToolDescriber();
  return messages.map((read) => {
    const { message, parts } = read;
    if (message.role === 'user') return { role: 'user', parts };
    if (message.role !== 'assistant') {
      const described = tools.describeResult(read);
      return { role: 'assistant', parts: described, ...resultOf(message.tool_call_id, parts, described) };
    }
    const refusal = message.refusal ? [textPart(message.refusal)] : [];
    const described = tools.describeCalls(message);
    const calls = described.flatMap(({ callID, part }) => (callID === undefined ? [] : [{ callID, part }]));
    return { role: 'assistant', parts: [...parts, ...refusal, ...described.map(({ part }) => part)], calls };
  });
};

const RESULT_ROLES: readonly string[] = ['tool', 'function'];

const kindOf = ({ message }: ReadMessage): EntryKind => {
  switch (message.role) {
    case 'system':
    case 'developer':
      return 'instruction';
    case 'user':
      return 'user';
    case 'assistant':
      return callsOf(message).length > 0 ? 'other' : 'answer';
    default:
      return 'result';
  }
};
const toUser = ({ message, ...read }: ReadMessage): ReadMessage => ({ ...read, message: { ...message, role: 'user' } });

const isInstruction = ({ message }: ReadMessage): boolean => message.role === 'system' || message.role === 'developer';

/** Instructions, history, and the user's messages since the last answer. Faults with `bad-input` where there are none of these. */
export const parseMessages = (messages: readonly Message[]): ParsedMessages => {
  if (messages.length === 0) throw badInput('empty_array', 'messages', "Expected at least one message at 'messages'");
  const all = messages.map((message, index) => ({
    message,
    parts: parseContent(message.content, `messages[${index}].content`),
    index,
  }));
  const { entries: read, prefill, isByInstruction } = findPrompt<ReadMessage>(all, kindOf, toUser);
  const dialogue = read.filter((one) => !isInstruction(one));
  const last = dialogue.at(-1);
  // A result at the end is what the client wants an answer to. Before a user's message it belongs to the answer that called.
  const promptRoles = last !== undefined && RESULT_ROLES.includes(last.message.role) ? RESULT_ROLES : ['user'];
  const start = dialogue.findLastIndex(({ message }) => !promptRoles.includes(message.role)) + 1;
  if (last === undefined) throw badInput('invalid_value', 'messages', "Expected a user message at 'messages'");
  if (start === dialogue.length) {
    const at = `messages[${last.index}].role`;
    throw badInput(
      'unsupported_value',
      at,
      `Expected a message to answer: there is none of the user, nor an instruction, up to '${at}'`,
    );
  }
  const speeches = toDialogue(dialogue);
  const prompt = joinAdjacentTexts(speeches.slice(start).flatMap(({ parts }) => parts));
  if (prompt.length === 0) {
    const at = `messages[${last.index}].content`;
    throw badInput('invalid_value', at, `Expected something to answer at '${at}': it is empty`);
  }
  const instructions = read.filter(isInstruction).map(({ parts }) => textOfParts(parts));
  return {
    system: instructions.filter((text) => text !== '').join('\n\n'),
    history: toHistory(speeches.slice(0, start)),
    prompt,
    prefill: textOfParts(prefill.flatMap(({ parts }) => parts)),
    toolResults: prefill.length === 0 ? parseToolResults(speeches) : undefined,
    approvals: isByInstruction === true ? [] : undefined,
  };
};
