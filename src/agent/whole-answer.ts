import { isRecord } from '../core/record.ts';

const callIn = (call: unknown, index: number): unknown => {
  if (!isRecord(call)) return call;
  const called = isRecord(call.function) ? call.function : {};
  const { arguments: given } = called;
  return {
    ...call,
    index,
    function: { ...called, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
  };
};

/**
 * The event stream that a whole chat completion would have been; nothing when the value is no chat completion. Backends
 * that cannot stream answer so whatever they are asked for.
 */
export const streamOfCompletion = (completion: unknown): string | undefined => {
  if (!isRecord(completion) || !Array.isArray(completion.choices)) return undefined;
  const [choice]: readonly unknown[] = completion.choices;
  if (!isRecord(choice) || !isRecord(choice.message)) return undefined;
  const { message } = choice;
  const calls: readonly unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const delta = { ...message, ...(calls.length === 0 ? {} : { tool_calls: calls.map(callIn) }) };
  // It came to its end as a whole, so it was not cut off.
  const chunk = { ...completion, choices: [{ index: 0, delta, finish_reason: choice.finish_reason ?? 'stop' }] };
  return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
};
