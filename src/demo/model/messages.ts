import { type DialectWriter, type DialectWriterNeeds, formatEvent } from './dialect.ts';
import { formatArguments, type ScriptedFinish, type ScriptedUsage, splitArguments } from './reply.ts';

const STOP_REASONS: Record<ScriptedFinish, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  content_filter: 'refusal',
  tool_calls: 'tool_use',
};

/** Its input counts leave out what came from the cache. */
const toUsage = ({ prompt, completion, cached = 0, reasoning = 0 }: ScriptedUsage) => ({
  input_tokens: prompt - cached,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: 0,
  output_tokens: completion,
  output_tokens_details: { thinking_tokens: reasoning },
});
const NO_USAGE = toUsage({ prompt: 0, completion: 0 });

const parseInput = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
};

/** `POST /v1/messages`, as much of it as a turn of a conversation needs. Calls follow each other here. */
export const createMessagesWriter = ({ id, model }: DialectWriterNeeds): DialectWriter => {
  const base = { id, type: 'message', role: 'assistant', model };
  let blocks = 0;
  let open: 'text' | 'thinking' | undefined;
  const event = (type: string, more: Readonly<Record<string, unknown>> = {}): string =>
    formatEvent({ type, ...more }, type);
  const delta = (content: Readonly<Record<string, unknown>>): string =>
    event('content_block_delta', { index: blocks - 1, delta: content });
  const begin = (content_block: Readonly<Record<string, unknown>>): string => {
    blocks += 1;
    return event('content_block_start', { index: blocks - 1, content_block });
  };
  const close = (): readonly string[] => {
    if (open === undefined) return [];
    const signature = open === 'thinking' ? [delta({ type: 'signature_delta', signature: 'demo' })] : [];
    open = undefined;
    return [...signature, event('content_block_stop', { index: blocks - 1 })];
  };
  const inside = (type: 'text' | 'thinking'): readonly string[] => {
    if (open === type) return [];
    const closing = close();
    open = type;
    return [...closing, begin({ type, [type]: '' })];
  };
  return {
    begin: () => [
      event('message_start', {
        message: { ...base, content: [], stop_reason: null, stop_sequence: null, usage: NO_USAGE },
      }),
      event('ping'),
    ],
    text: (text) => [...inside('text'), delta({ type: 'text_delta', text })],
    reasoning: (thinking) => [...inside('thinking'), delta({ type: 'thinking_delta', thinking })],
    calls: (calls) => [
      ...close(),
      ...calls.flatMap((call) => [
        begin({ type: 'tool_use', id: call.id, name: call.name, input: {} }),
        ...splitArguments(call).map((piece) => delta({ type: 'input_json_delta', partial_json: piece })),
        event('content_block_stop', { index: blocks - 1 }),
      ]),
    ],
    error: (code, message) => [event('error', { error: { type: code, message } })],
    end: (finish, usage) => [
      ...close(),
      event('message_delta', {
        delta: { stop_reason: STOP_REASONS[finish], stop_sequence: null },
        usage: usage === undefined ? NO_USAGE : toUsage(usage),
      }),
      event('message_stop'),
    ],
    whole: ({ text, reasoning, calls, finish, usage }) => ({
      ...base,
      content: [
        ...(reasoning === '' ? [] : [{ type: 'thinking', thinking: reasoning, signature: 'demo' }]),
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...calls.map((call) => ({
          type: 'tool_use',
          id: call.id,
          name: call.name,
          input: parseInput(formatArguments(call)),
        })),
      ],
      stop_reason: STOP_REASONS[finish],
      stop_sequence: null,
      usage: usage === undefined ? NO_USAGE : toUsage(usage),
    }),
  };
};
