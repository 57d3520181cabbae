import { type DialectWriter, type DialectWriterNeeds, formatEvent } from './dialect.ts';
import { formatArguments, type ScriptedFinish, type ScriptedUsage, splitArguments } from './reply.ts';

const REASONS: Partial<Record<ScriptedFinish, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

const toUsage = ({ prompt, completion, cached = 0, reasoning = 0 }: ScriptedUsage) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: prompt + completion,
});

/** `POST /v1/responses`, as much of it as a turn of a conversation needs. */
export const createResponsesWriter = ({ id, model, createdAt }: DialectWriterNeeds): DialectWriter => {
  const base = { id, object: 'response', created_at: createdAt, model };
  let sequence = 0;
  let outputs = 0;
  let open: { readonly type: 'message' | 'reasoning'; readonly index: number; readonly id: string } | undefined;
  const event = (type: string, more: Readonly<Record<string, unknown>>): string => {
    sequence += 1;
    return formatEvent({ type, sequence_number: sequence, ...more }, type);
  };
  const itemOf = (type: 'message' | 'reasoning', itemId: string) =>
    type === 'message' ? { type, id: itemId, role: 'assistant', content: [] } : { type, id: itemId, summary: [] };
  const close = (): readonly string[] => {
    if (open === undefined) return [];
    const { type, index, id: itemId } = open;
    open = undefined;
    const part = { item_id: itemId, output_index: index, summary_index: 0, part: { type: 'summary_text', text: '' } };
    return [
      ...(type === 'reasoning' ? [event('response.reasoning_summary_part.done', part)] : []),
      event('response.output_item.done', { output_index: index, item: itemOf(type, itemId) }),
    ];
  };
  const next = (kind: string): { readonly index: number; readonly id: string } => {
    const index = outputs;
    outputs += 1;
    return { index, id: `${kind}_${id}_${index}` };
  };
  const inside = (type: 'message' | 'reasoning'): { readonly opening: readonly string[]; readonly at: object } => {
    const opening: string[] = [];
    if (open?.type !== type) {
      opening.push(...close());
      open = { type, ...next(type) };
      opening.push(event('response.output_item.added', { output_index: open.index, item: itemOf(type, open.id) }));
      if (type === 'reasoning') {
        const part = { type: 'summary_text', text: '' };
        const at = { item_id: open.id, output_index: open.index, summary_index: 0, part };
        opening.push(event('response.reasoning_summary_part.added', at));
      }
    }
    return { opening, at: { item_id: open.id, output_index: open.index } };
  };
  const ended = (finish: ScriptedFinish, usage: ScriptedUsage | undefined) => {
    const reason = REASONS[finish];
    return {
      ...base,
      status: reason === undefined ? 'completed' : 'incomplete',
      incomplete_details: reason === undefined ? null : { reason },
      ...(usage === undefined ? {} : { usage: toUsage(usage) }),
    };
  };
  return {
    begin: () => [event('response.created', { response: { ...base, status: 'in_progress', output: [] } })],
    text(delta) {
      const { opening, at } = inside('message');
      return [...opening, event('response.output_text.delta', { ...at, content_index: 0, delta })];
    },
    reasoning(delta) {
      const { opening, at } = inside('reasoning');
      return [...opening, event('response.reasoning_summary_text.delta', { ...at, summary_index: 0, delta })];
    },
    calls(calls) {
      const closing = close();
      const lists = calls.map((call) => {
        const { index, id: itemId } = next('fc');
        const at = { item_id: itemId, output_index: index };
        const item = { type: 'function_call', id: itemId, call_id: call.id, name: call.name };
        const done = { ...item, arguments: formatArguments(call), status: 'completed' };
        return [
          event('response.output_item.added', { output_index: index, item: { ...item, arguments: '' } }),
          ...splitArguments(call).map((delta) => event('response.function_call_arguments.delta', { ...at, delta })),
          event('response.output_item.done', { output_index: index, item: done }),
        ];
      });
      return [...closing, ...lists.flat()];
    },
    error: (code, message) => [event('error', { code, message, param: null })],
    end(finish, usage) {
      const response = { ...ended(finish, usage), output: [] };
      return [...close(), event(`response.${response.status}`, { response })];
    },
    whole: ({ text, reasoning, calls, finish, usage }) => ({
      ...ended(finish, usage),
      output: [
        ...(reasoning === ''
          ? []
          : [{ ...itemOf('reasoning', `rs_${id}`), summary: [{ type: 'summary_text', text: reasoning }] }]),
        ...(text === ''
          ? []
          : [{ ...itemOf('message', `msg_${id}`), content: [{ type: 'output_text', text, annotations: [] }] }]),
        ...calls.map((call) => ({
          type: 'function_call',
          id: `fc_${call.id}`,
          call_id: call.id,
          name: call.name,
          arguments: formatArguments(call),
          status: 'completed',
        })),
      ],
    }),
  };
};
