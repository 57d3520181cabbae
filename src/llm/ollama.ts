import * as v from 'valibot';
import { createJsonMemo, parseJson } from '../core/json.ts';
import { Logprobs, logprobsOf } from './logprobs.ts';
import { isSameModel } from './model-name.ts';
import type { ChatCall, ChatReply, Dialect, ModelTraits } from './types.ts';

const Answer = v.object({
  error: v.optional(v.unknown()),
  model: v.optional(v.string()),
  message: v.object({ content: v.nullish(v.string(), ''), tool_calls: v.nullish(v.array(v.unknown())) }),
  done: v.boolean(),
  done_reason: v.optional(v.string()),
  prompt_eval_count: v.optional(v.number(), 0),
  eval_count: v.optional(v.number(), 0),
  logprobs: Logprobs,
});
const ErrorAnswer = v.object({ error: v.unknown() });
const Tags = v.object({ models: v.array(v.object({ name: v.string() })) });

const Shown = v.object({
  capabilities: v.nullish(v.array(v.string())),
  template: v.nullish(v.string(), ''),
  modelfile: v.nullish(v.string(), ''),
  renderer: v.nullish(v.string(), ''),
  remote_host: v.nullish(v.string(), ''),
});
/** What a Go template of Ollama writes a system message with, and a Jinja template of a GGUF file. */
const SYSTEM_PLACES = /\.System\b|\.Messages\b|\bmessages\b/;
/** A model with a renderer of Ollama's own has a template that nothing reads. */
const RENDERER = /^RENDERER\s+\S/m;

const parseTraits = (text: string): ModelTraits => {
  const shown = parseJson(Shown, text);
  if (shown === undefined) return {};
  const { capabilities, template, modelfile, renderer, remote_host: remoteHost } = shown;
  const isTemplateUsed = template !== '' && renderer === '' && remoteHost === '' && !RENDERER.test(modelfile);
  return {
    // Absent before Ollama 0.6.4.
    ...(capabilities == null
      ? {}
      : { vision: capabilities.includes('vision'), thinking: capabilities.includes('thinking') }),
    ...(isTemplateUsed ? { dropsSystem: !SYSTEM_PLACES.test(template) } : {}),
  };
};

const systemJson = createJsonMemo<string>();
const schemaJson = createJsonMemo<object>();

const createBody = ({
  model,
  system,
  user,
  afterUser,
  image,
  schema,
  think,
  topLogprobs,
  contextTokens,
  outputTokens,
}: ChatCall): string => {
  const userMessage = JSON.stringify({
    role: 'user',
    content: user,
    ...(image === undefined ? {} : { images: [image.base64] }),
  });
  const settings = JSON.stringify({
    model,
    stream: false,
    // Both default to true and would silently truncate the policy or the text.
    truncate: false,
    shift: false,
    ...(think === undefined ? {} : { think }),
    // Since Ollama 0.12.11. Earlier ones ignore both.
    ...(topLogprobs === undefined ? {} : { logprobs: true, top_logprobs: topLogprobs }),
    options: { temperature: 0, num_ctx: contextTokens, num_predict: outputTokens },
  });
  const systemMessage = system === undefined ? '' : `{"role":"system","content":${systemJson(system)}},`;
  const lastMessage = afterUser === undefined ? '' : `,${JSON.stringify({ role: 'user', content: afterUser })}`;
  const messages = `[${systemMessage}${userMessage}${lastMessage}]`;
  return `${settings.slice(0, -1)},"messages":${messages}${schema === undefined ? '' : `,"format":${schemaJson(schema)}`}}`;
};

const parseReply = (text: string, model: string): ChatReply => {
  const answer = parseJson(Answer, text);
  if (answer === undefined) {
    return parseJson(ErrorAnswer, text) === undefined
      ? { kind: 'unusable', reason: 'not an answer of an Ollama server' }
      : { kind: 'error', text };
  }
  if (answer.error != null) return { kind: 'error', text };
  // An empty history is answered with `done_reason: load`: a loaded model, not a verdict.
  if (!answer.done || answer.done_reason !== 'stop') return { kind: 'unusable', reason: 'the answer was cut off' };
  if (answer.message.tool_calls?.length) return { kind: 'unusable', reason: 'the model called a tool' };
  if (answer.model !== undefined && !isSameModel(model, answer.model)) {
    return { kind: 'unusable', reason: 'another model answered', isFinal: true };
  }
  return {
    kind: 'answered',
    content: answer.message.content ?? '',
    promptTokens: answer.prompt_eval_count,
    outputTokens: answer.eval_count,
    ...logprobsOf(answer.logprobs),
  };
};

/** Ollama's native chat. Source: https://github.com/ollama/ollama/blob/main/docs/api.md */
export const ollama: Dialect = {
  name: 'ollama',
  chatPath: '/api/chat',
  modelsPath: '/api/tags',
  createBody,
  takesTemplateSettings: false,
  parseReply,
  askTraits: (model) => ({ method: 'POST', path: '/api/show', body: JSON.stringify({ model }) }),
  parseTraits,
  parseModels: (text) => parseJson(Tags, text)?.models.map(({ name }) => name),
};
