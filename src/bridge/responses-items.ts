import type { ToolCall } from './turn/output.ts';

export type TextStatus = 'in_progress' | 'completed' | 'incomplete';

export const outputText = (text: string) => ({ type: 'output_text' as const, annotations: [], logprobs: [], text });
export const summaryText = (text: string) => ({ type: 'summary_text' as const, text });

/** A text of an answer. One that has only just begun has no content yet. */
export const messageItem = (id: string, text: string, status: TextStatus) => ({
  id,
  type: 'message' as const,
  status,
  content: status === 'in_progress' && text === '' ? [] : [outputText(text)],
  role: 'assistant' as const,
});

/** Reasoning, told as its summary: that is the one place where every client looks for words that may be shown. */
export const reasoningItem = (id: string, text: string, status: TextStatus) => ({
  id,
  type: 'reasoning' as const,
  status,
  summary: text === '' ? [] : [summaryText(text)],
});

export type CallResult = { readonly output: string; readonly isError: boolean };

const labelOf = (name: string): string => {
  const end = name.indexOf('_');
  return end > 0 ? name.slice(0, end) : 'agent';
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Arguments that were cut off are no JSON any more, and clients parse them. */
const argumentsOf = (input: string): string => (isJson(input) ? input : JSON.stringify({ cut_off: input }));

/**
 * A call of a tool at the agent, told as a call of a tool of a remote server: clients show such calls and run none of them.
 * Without a result it is in progress.
 */
export const callItem = (id: string, { name, input }: ToolCall, result: CallResult | undefined) => ({
  id,
  type: 'mcp_call' as const,
  status:
    result === undefined ? ('in_progress' as const) : result.isError ? ('failed' as const) : ('completed' as const),
  approval_request_id: null,
  arguments: argumentsOf(input),
  error:
    result?.isError === true
      ? { type: 'mcp_tool_execution_error' as const, content: [{ type: 'text' as const, text: result.output }] }
      : null,
  name,
  output: result === undefined || result.isError ? null : result.output,
  server_label: labelOf(name),
});

export type MessageItem = ReturnType<typeof messageItem>;
export type ReasoningItem = ReturnType<typeof reasoningItem>;
export type CallItem = ReturnType<typeof callItem>;
export type OutputItem = MessageItem | ReasoningItem | CallItem;
