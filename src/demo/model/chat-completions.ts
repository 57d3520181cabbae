import { eventText, interleaved, type Voice, type VoiceNeeds } from './dialect.ts';
import { argumentPieces, argumentsOf, type ScriptedUsage } from './reply.ts';

const usageOf = ({ prompt, completion, cached, reasoning }: ScriptedUsage) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
});

/** `POST /v1/chat/completions`, with reasoning where most servers put it. */
export const chatVoice = ({ id, model, createdAt, wantsUsage }: VoiceNeeds): Voice => {
  const base = { id, created: createdAt, model };
  const chunk = (delta: unknown, finish: string | null = null): string =>
    eventText({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] });
  let callCount = 0;
  return {
    begin: () => [chunk({ role: 'assistant', content: '' })],
    text: (delta) => [chunk({ content: delta })],
    reasoning: (delta) => [chunk({ reasoning_content: delta })],
    calls(calls) {
      const first = callCount;
      callCount += calls.length;
      return interleaved(
        calls.map((call, place) => {
          const index = first + place;
          const begun = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } };
          const pieces = argumentPieces(call).map((piece) => ({ index, function: { arguments: piece } }));
          return [begun, ...pieces].map((delta) => chunk({ tool_calls: [delta] }));
        }),
      );
    },
    error: (code, message) => [eventText({ error: { message, type: code, param: null, code } })],
    end: (finish, usage) => [
      chunk({}, finish),
      ...(usage === undefined || !wantsUsage
        ? []
        : [eventText({ ...base, object: 'chat.completion.chunk', choices: [], usage: usageOf(usage) })]),
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
                    function: { name: call.name, arguments: argumentsOf(call) },
                  })),
                }),
          },
          finish_reason: finish,
        },
      ],
      ...(usage === undefined ? {} : { usage: usageOf(usage) }),
    }),
  };
};
