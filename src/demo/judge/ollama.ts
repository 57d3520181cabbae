import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { estimateTokens, JUDGE_MODEL, judgePrompt } from './judge.ts';

/** What is read of an Ollama chat call. `images`, `format`, `think` and `options` are accepted and ignored. */
export const OllamaChat = v.object({
  model: v.string(),
  messages: v.array(v.object({ role: v.string(), content: v.nullish(v.string(), '') })),
  stream: v.nullish(v.boolean(), true),
});
export type OllamaChat = v.InferOutput<typeof OllamaChat>;

/** `GET /api/tags`. */
export const OLLAMA_MODELS = {
  models: [
    {
      name: JUDGE_MODEL,
      model: JUDGE_MODEL,
      modified_at: '2026-01-01T00:00:00Z',
      size: 0,
      digest: '0'.repeat(64),
      details: {
        parent_model: '',
        format: 'table',
        family: 'demo',
        families: ['demo'],
        parameter_size: '0',
        quantization_level: '',
      },
    },
  ],
} as const;

const nanosecondsSince = (startedAtMs: number): number =>
  Math.max(0, Math.round((performance.now() - startedAtMs) * 1e6));

/** `POST /api/chat`, whole: Ollama streams by default, and a call without `stream: false` is refused. */
export const replyAsOllama = ({ model, messages, stream }: OllamaChat): Response => {
  const startedAtMs = performance.now();
  // Ollama's own words and shape, so that a client can be tried against them.
  if (model !== JUDGE_MODEL)
    return Response.json({ error: `model '${model.slice(0, 100)}' not found` }, { status: 404 });
  if (stream) {
    const message = 'The demo judge answers only with "stream": false';
    throw new Fault({ kind: 'bad-input', code: 'stream_unsupported', param: 'stream', message });
  }
  const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  const content = judgePrompt(asked.join('\n'));
  const durationNs = nanosecondsSince(startedAtMs);
  return Response.json({
    model,
    created_at: new Date().toISOString(),
    message: { role: 'assistant', content },
    done: true,
    done_reason: 'stop',
    total_duration: durationNs,
    load_duration: 0,
    prompt_eval_count: estimateTokens(messages.map((message) => message.content).join('')),
    prompt_eval_duration: 0,
    eval_count: estimateTokens(content),
    eval_duration: durationNs,
  });
};
