import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';
import { badInput } from '../../request.ts';
import type { SentMessage } from '../../turns/port.ts';
import { parseMember, refuseTooMany } from '../body.ts';
import { textPart } from '../content.ts';

/** As many as OpenAI takes at a time. */
const ITEMS_LIMIT = 20;

const maybeText = v.nullish(v.string());
const Summary = v.object({ text: v.string() });
const Message = v.object({
  role: v.picklist(['user', 'assistant', 'system', 'developer']),
  content: v.union([v.string(), v.array(v.looseObject({ type: v.string() }))]),
});
const FunctionCall = v.object({ call_id: v.string(), name: v.string(), arguments: v.string() });
const FunctionCallOutput = v.object({
  call_id: v.string(),
  output: v.union([v.string(), v.array(v.looseObject({ type: v.string() }))]),
});
const Reasoning = v.object({ summary: v.nullish(v.array(Summary)) });
const McpCall = v.object({
  name: v.string(),
  arguments: v.string(),
  server_label: v.string(),
  output: maybeText,
  error: v.nullish(v.unknown()),
});

type Part = { readonly type: string };

const KEPT = 'message, function_call, function_call_output, reasoning and mcp_call';

/** The text of a part of a content. What is no text is refused: the agent takes files with a request alone. */
const parsePart = (part: Part, at: string): string => {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return parseMember(v.object({ text: v.string() }), part, at).text;
    case 'refusal':
      return parseMember(v.object({ refusal: v.string() }), part, at).refusal;
    default:
      throw badInput(
        'unsupported_value',
        `${at}.type`,
        `Unsupported value at '${at}.type': an item holds texts. Send images and files with a request for a response in this conversation`,
      );
  }
};

const parseContent = (content: string | readonly Part[], at: string): string =>
  typeof content === 'string' ? content : content.map((part, index) => parsePart(part, `${at}[${index}]`)).join('\n\n');

/** An item as the messages that it is. Instructions count as the user's: only those of a request are instructions. */
const parseItem = (
  item: Readonly<Record<string, unknown>>,
  at: string,
  newID: () => string,
): readonly SentMessage[] => {
  const type = item.type ?? (item.role === undefined ? undefined : 'message');
  switch (type) {
    case 'message': {
      const { role, content } = parseMember(Message, item, at);
      const text = parseContent(content, `${at}.content`);
      return [role === 'assistant' ? { role, text } : { role: 'user', parts: [textPart(text)] }];
    }
    case 'function_call': {
      const { call_id: id, name, arguments: given } = parseMember(FunctionCall, item, at);
      return [{ role: 'assistant', calls: [{ id, name, arguments: given }] }];
    }
    case 'function_call_output': {
      const { call_id: callID, output } = parseMember(FunctionCallOutput, item, at);
      return [{ role: 'tool', callID, output: parseContent(output, `${at}.output`) }];
    }
    case 'reasoning': {
      const { summary } = parseMember(Reasoning, item, at);
      return [{ role: 'assistant', reasoning: (summary ?? []).map(({ text }) => text).join('\n\n') }];
    }
    case 'mcp_call': {
      const { name, arguments: given, output, error } = parseMember(McpCall, item, at);
      const id = newID();
      const isError = error !== undefined && error !== null;
      const result = output ?? (isError ? JSON.stringify(error) : '');
      return [
        { role: 'assistant', calls: [{ id, name, arguments: given }] },
        { role: 'tool', callID: id, output: result, ...(isError ? { isError } : {}) },
      ];
    }
    default:
      throw badInput(
        'unsupported_value',
        `${at}.type`,
        `Unsupported value at '${at}.type': items that are kept here are ${KEPT}`,
      );
  }
};

/** The items that a client puts into a conversation, as messages. `newID`: of a call without one. Faults with `bad-input`. */
export const parseNewItems = (items: unknown, newID: () => string): readonly SentMessage[] => {
  if (!Array.isArray(items)) throw badInput('invalid_type', 'items', "Invalid type at 'items': expected an array");
  if (items.length > ITEMS_LIMIT)
    throw badInput('invalid_value', 'items', `Invalid value at 'items': expected at most ${ITEMS_LIMIT} of them`);
  refuseTooMany(items, 'items', ['content', 'output', 'summary']);
  return items.flatMap((item: unknown, index) => {
    const at = `items[${index}]`;
    if (!isRecord(item)) throw badInput('invalid_type', at, `Invalid type at '${at}': expected Object`);
    return parseItem(item, at, newID);
  });
};
