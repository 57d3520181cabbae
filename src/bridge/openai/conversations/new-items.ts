import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';
import type { StoredItem } from '../../conversation/stored/items.ts';
import { badInput } from '../../request.ts';
import { parseMember, refuseTooMany } from '../body.ts';
import { outputText, refusalText, summaryText } from '../responses/items.ts';

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

const inputText = (text: string) => ({ type: 'input_text' as const, text });

/** A part of a content. What is no text is refused: the agent takes files with a prompt alone. */
const parsePart = (part: Part, at: string, isAnswer: boolean) => {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text': {
      const { text } = parseMember(v.object({ text: v.string() }), part, at);
      return isAnswer ? outputText(text) : inputText(text);
    }
    case 'refusal':
      return refusalText(parseMember(v.object({ refusal: v.string() }), part, at).refusal);
    default:
      throw badInput(
        'unsupported_value',
        `${at}.type`,
        `Unsupported value at '${at}.type': an item holds texts. Send images and files with a request for a response in this conversation`,
      );
  }
};

const parseContent = (content: string | readonly Part[], at: string, isAnswer: boolean) =>
  typeof content === 'string'
    ? [isAnswer ? outputText(content) : inputText(content)]
    : content.map((part, index) => parsePart(part, `${at}[${index}]`, isAnswer));

const DONE = { status: 'completed' as const };

const parseItem = (item: Readonly<Record<string, unknown>>, at: string): StoredItem => {
  const type = item.type ?? (item.role === undefined ? undefined : 'message');
  switch (type) {
    case 'message': {
      const { role, content } = parseMember(Message, item, at);
      return { type: 'message', ...DONE, role, content: parseContent(content, `${at}.content`, role === 'assistant') };
    }
    case 'function_call':
      return { type: 'function_call', ...DONE, ...parseMember(FunctionCall, item, at) };
    case 'function_call_output': {
      const { call_id, output } = parseMember(FunctionCallOutput, item, at);
      const kept = typeof output === 'string' ? output : parseContent(output, `${at}.output`, false);
      return { type: 'function_call_output', ...DONE, call_id, output: kept };
    }
    case 'reasoning': {
      const { summary } = parseMember(Reasoning, item, at);
      return { type: 'reasoning', ...DONE, summary: (summary ?? []).map(({ text }) => summaryText(text)) };
    }
    case 'mcp_call': {
      const { output, error, ...call } = parseMember(McpCall, item, at);
      return {
        type: 'mcp_call',
        ...DONE,
        approval_request_id: null,
        ...call,
        output: output ?? null,
        error: error ?? null,
      };
    }
    default:
      throw badInput(
        'unsupported_value',
        `${at}.type`,
        `Unsupported value at '${at}.type': items that are kept here are ${KEPT}`,
      );
  }
};

/** The items that a client puts into a conversation, in the form in which they are kept. Faults with `bad-input`. */
export const parseNewItems = (items: unknown): readonly StoredItem[] => {
  if (!Array.isArray(items)) throw badInput('invalid_type', 'items', "Invalid type at 'items': expected an array");
  if (items.length > ITEMS_LIMIT)
    throw badInput('invalid_value', 'items', `Invalid value at 'items': expected at most ${ITEMS_LIMIT} of them`);
  refuseTooMany(items, 'items', ['content', 'output', 'summary']);
  return items.map((item: unknown, index) => {
    const at = `items[${index}]`;
    if (!isRecord(item)) throw badInput('invalid_type', at, `Invalid type at '${at}': expected Object`);
    return parseItem(item, at);
  });
};
