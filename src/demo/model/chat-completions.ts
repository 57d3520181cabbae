import { type DialectWriter, type DialectWriterNeeds, formatEvent, interleave } from './dialect.ts';
import { formatArguments, type ScriptedUsage, splitArguments } from './reply.ts';

const toUsage = ({ prompt, completion, cached, reasoning }: ScriptedUsage) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
});

/** `POST /v1/chat/completions`, with reasoning where most servers put it. */
export const createChatWriter = ({ id, model, createdAt, wantsUsage }: DialectWriterNeeds): DialectWriter => {
  const base = { id, created: createdAt, model };
  const chunk = (delta: unknown, finish: string | null = null): string =>
    formatEvent({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] });
  let callCount = 0;
  return {
    begin: () => [chunk({ role: 'assistant', content: '' })],
    text: (delta) => [chunk({ content: delta })],
    reasoning: (delta) => [chunk({ reasoning_content: delta })],
    calls(calls) {
      const first = callCount;
      callCount += calls.length;
      return interleave(
        calls.map((call, place) => {
          const index = first + place;
          const begun = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } };
          const pieces = splitArguments(call).map((piece) => ({ index, function: { arguments: piece } }));
          return [begun, ...pieces].map((delta) => chunk({ tool_calls: [delta] }));
        }),
      );
    },
    error: (code, message) => [formatEvent({ error: { message, type: code, param: null, code } })],
    end: (finish, usage) => [
      chunk({}, finish),
      ...(usage === undefined || !wantsUsage
        ? []
        : [formatEvent({ ...base, object: 'chat.completion.chunk', choices: [], usage: toUsage(usage) })]),
      'data: [DONE]\n\n',
    ],
    whole: ({ text, reasoning, calls, finish, usage }) => ({
      ...base,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: text === '' ? null : text,
            ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
            ...(calls.length === 0
              ? {}
              : {
                  tool_calls: calls.map((call) => ({
                    id: call.id,
                    type: 'function',
                    function: { name: call.name, arguments: formatArguments(call) },
                  })),
                }),
          },
          finish_reason: finish,
        },
      ],
      ...(usage === undefined ? {} : { usage: toUsage(usage) }),
    }),
  };
};
