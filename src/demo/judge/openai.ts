import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { estimateTokens, JUDGE_MODEL, judgePrompt } from './judge.ts';

const Part = v.object({ type: v.string(), text: v.nullish(v.string(), '') });

/** One text from either form of content. Parts that are no text, such as images, are left out. */
const Content = v.pipe(
  v.nullish(v.union([v.string(), v.array(Part)]), ''),
  v.transform((content) =>
    typeof content === 'string'
      ? content
      : content
          .filter(({ type }) => type === 'text')
          .map(({ text }) => text)
          .join('\n'),
  ),
);

/** What is read of a chat completions call. `response_format`, `reasoning_effort` and the like are accepted and ignored. */
export const OpenAiChat = v.object({
  model: v.string(),
  messages: v.array(v.object({ role: v.string(), content: Content })),
  stream: v.nullish(v.boolean(), false),
});
export type OpenAiChat = v.InferOutput<typeof OpenAiChat>;

/** `GET /v1/models`. */
export const OPENAI_MODELS = {
  object: 'list',
  data: [{ id: JUDGE_MODEL, object: 'model', created: 1767225600, owned_by: 'gatehouse' }],
} as const;

/** `POST /v1/chat/completions`, whole: a call that asks for a stream is refused. */
export const replyAsOpenAi = ({ model, messages, stream }: OpenAiChat): Response => {
  if (model !== JUDGE_MODEL) throw new Fault({ kind: 'model-not-found', valid: [JUDGE_MODEL] });
  if (stream) {
    const message = 'The demo judge does not stream: leave "stream" out or send false';
    throw new Fault({ kind: 'bad-input', code: 'stream_unsupported', param: 'stream', message });
  }
  const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  const content = judgePrompt(asked.join('\n'));
  const promptTokens = estimateTokens(messages.map((message) => message.content).join(''));
  const completionTokens = estimateTokens(content);
  return Response.json({
    id: `chatcmpl-${crypto.randomUUID()}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [
      { index: 0, message: { role: 'assistant', content, refusal: null }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  });
};
