import * as v from 'valibot';
import { badInput } from '../../request.ts';
import type { SentCall } from '../../turns/port.ts';
import { customArguments } from '../client-tools.ts';
import { parseContent, textPart } from '../content.ts';
import { type Dialogue, type DialogueEntry, readDialogue } from '../dialogue.ts';

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

/** The id of a call without one, of a form of the API from before calls had ids. */
const oldCallID = (name: string): string => `call_${name}`;

const callsOf = ({ tool_calls, function_call }: Message): readonly SentCall[] => [
  ...(tool_calls ?? []).flatMap((call, index) => {
    const name = call.function?.name ?? call.custom?.name;
    if (name === undefined) return [];
    const input = call.custom ? customArguments(call.custom.input ?? '') : (call.function?.arguments ?? '');
    return [{ id: call.id ?? `${oldCallID(name)}_${index}`, name, arguments: input }];
  }),
  ...(function_call
    ? [{ id: oldCallID(function_call.name), name: function_call.name, arguments: function_call.arguments ?? '' }]
    : []),
];

const toEntry = (message: Message, index: number): DialogueEntry => {
  const { role, content, refusal, name, tool_call_id } = message;
  const at = `messages[${index}]`;
  const parts = parseContent(content, `${at}.content`);
  switch (role) {
    case 'system':
    case 'developer':
      return { at, faultAt: `${at}.content`, kind: 'instruction', parts };
    case 'user':
      return { at, faultAt: `${at}.content`, kind: 'user', parts };
    case 'assistant': {
      const calls = callsOf(message);
      const said = refusal ? [...parts, textPart(refusal)] : parts;
      return { at, faultAt: `${at}.role`, kind: calls.length > 0 ? 'other' : 'answer', parts: said, calls };
    }
    default:
      return { at, kind: 'result', parts, callID: tool_call_id ?? (name ? oldCallID(name) : undefined) };
  }
};

/** Instructions, history, and what has come since the last answer. Faults with `bad-input` where there is nothing to answer. */
export const parseMessages = (messages: readonly Message[]): Dialogue => {
  if (messages.length === 0) throw badInput('empty_array', 'messages', "Expected at least one message at 'messages'");
  return readDialogue(messages.map(toEntry), 'messages');
};
